#include "wharf/device/soft/runtime/block_checks.h"

#include <array>
#include <optional>

namespace wharf::device::soft {

void BlockChecks::Prepare(KernelRun& run, const BlockContext& block) {
  run_ = &run;
  block_ = &block;
  last_ = {};  // memory comes and goes between kernels only
}

void BlockChecks::Start(uint32_t threads) {
  if ((checks_ & check::kRace) != 0) races_.Start(threads, block_->total_shared_bytes);
  if ((checks_ & check::kInit) != 0) written_.Start(block_->total_shared_bytes);
}

template <typename Written>
void BlockChecks::NoteWritten(const Seen& seen, Written& written, uint64_t address, bool shared) {
  const uint32_t bytes = seen.access.bytes;
  const bool reads = (seen.access.flags & check::kReads) != 0;
  if (const auto first = reads ? written.FirstUnwritten(address, bytes) : std::nullopt; first.has_value()) {
    Add({.kind = check::Finding::Kind::kUnwritten, .address = *first, .shared = shared}, seen);
  } else if (reads) {
    return;
  }
  written.Write(address, bytes);
}

void BlockChecks::Access(const ThreadContext& thread, uint64_t address, const check::Access& access, uint32_t site,
                         uint64_t low, uint64_t high) {
  const Seen seen{access, site, thread.linear};
  const auto shared = reinterpret_cast<uintptr_t>(block_->shared);
  if (address - shared < kSharedWindow) return AccessShared(seen, address - shared, low, high);
  // Parameters and threads' own memory.
  const uintptr_t window = reinterpret_cast<uintptr_t>(block_->parameters) - Memory::kParametersOffset;
  if (address - window < Memory::kSharedOffset) return;
  AccessGlobal(seen, address);
}

void BlockChecks::AccessShared(const Seen& seen, uint64_t offset, uint64_t low, uint64_t high) {
  const check::Access& access = seen.access;
  const uint32_t size = block_->total_shared_bytes;
  const bool inside = offset < size && access.bytes <= size - offset && access.bytes <= check::kMostAccess;
  if ((checks_ & check::kMemory) != 0) {
    if (!inside) Add({.kind = check::Finding::Kind::kOutsideShared, .address = offset, .size = size}, seen);
    if (access.alignment != 0 && offset % access.alignment != 0) {
      Add({.kind = check::Finding::Kind::kMisaligned, .address = offset, .shared = true, .size = access.alignment},
          seen);
    }
  }
  if (inside && (checks_ & check::kInit) != 0) NoteWritten(seen, written_, offset, /*shared=*/true);
  if (!inside || (checks_ & check::kRace) == 0) return;
  uint32_t unchanged = 0;
  if ((access.flags & check::kKnownValue) != 0) {
    for (uint32_t i = 0; i < access.bytes; ++i) {
      const uint64_t half = i < sizeof(low) ? low : high;
      const auto byte = static_cast<std::byte>(half >> 8 * (i % sizeof(low)));
      unchanged |= (block_->shared[offset + i] == byte ? 1U : 0U) << i;
    }
  }
  const auto hazard = races_.Touch(seen.thread, seen.site, static_cast<uint32_t>(offset), access, unchanged);
  if (!hazard) return;
  Add({.kind = check::Finding::Kind::kRace,
       .address = hazard->offset,
       .shared = true,
       .other_site = hazard->site,
       .other_thread = hazard->thread,
       .other_flags = hazard->flags},
      seen);
}

void BlockChecks::AccessGlobal(const Seen& seen, uint64_t address) {
  const check::Access& access = seen.access;
  const bool memory = (checks_ & check::kMemory) != 0;
  if (memory && access.alignment != 0 && address % access.alignment != 0) {
    Add({.kind = check::Finding::Kind::kMisaligned, .address = address, .size = access.alignment}, seen);
  }
  if (!last_.Holds(address, access.bytes)) {
    const MemoryRange near = services_.memory.NearestTo(address);
    if (near.Holds(address, access.bytes)) {
      last_ = near;
    } else if (memory) {
      Add({.kind = check::Finding::Kind::kOutside, .address = address, .begin = near.begin, .size = near.size}, seen);
    }
  }
  check::WrittenMemory* const written = services_.memory.written();
  if (written != nullptr && last_.Holds(address, access.bytes)) NoteWritten(seen, *written, address, /*shared=*/false);
}

void BlockChecks::Add(check::Finding finding, const Seen& seen) {
  if (finding.kind == check::Finding::Kind::kMisaligned) {  // the others need not be faults on a GPU
    run_->FailInTheEnd(CudaStatus(CudaError::kMisalignedAddress, "kernel {}: misaligned address", run_->launch.name));
  }
  finding.site = seen.site;
  finding.bytes = seen.access.bytes;
  finding.flags = seen.access.flags & (check::kReads | check::kWrites | check::kStrong);
  finding.thread = seen.thread;
  const auto three = [](const uint32_t(&from)[3]) { return std::array<uint32_t, 3>{from[0], from[1], from[2]}; };
  services_.findings->Add({.sites = run_->launch.kernel->sites,
                           .kernel = run_->launch.name,
                           .grid = three(block_->grid),
                           .block = three(block_->cta),
                           .shape = three(block_->block)},
                          finding);
}

}  // namespace wharf::device::soft
