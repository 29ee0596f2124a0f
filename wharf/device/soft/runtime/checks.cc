// Checks of kernels while they run: the scheduler's part, which tells device/soft/check of threads and memory.
#include <algorithm>
#include <array>
#include <bit>

#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {

void BlockScheduler::PrepareChecks() {
  const check::Findings* findings = block_->owner->services.findings.get();
  const bool checked = findings != nullptr && run_->launch.kernel->sites != nullptr;
  if (!checked || (findings->checks() & check::kRace) == 0) {
    races_ = nullptr;
  } else if (races_ == nullptr) {
    races_ = std::make_unique<check::SharedRaces>();
  }
}

// Of threads that have ended nobody asks more than of those that meet.
void BlockScheduler::CheckBarrier(const BarrierState& barrier) {
  std::array<uint32_t, kMaxWarps> meeting{};
  uint32_t waiting = 0;
  for (uint32_t w = 0; w < warp_count_; ++w) {
    waiting += static_cast<uint32_t>(std::popcount(barrier.waiting[w]));
    if (barrier.waiting[w] != 0) meeting[w] = barrier.waiting[w] | exited_[w];
  }
  if (waiting == alive_) return races_->clocks().MeetAll();
  const auto id = static_cast<uint32_t>(&barrier - barriers_.data());
  races_->clocks().MeetAt(id, std::span(meeting).first(warp_count_));
}

// Shuffles, votes and the like exchange values, but order no accesses.
void BlockScheduler::CheckMeeting(uint32_t warp, const Meeting& meeting) {
  if (meeting.key != MeetingKey(WarpOperation::kSync)) return;
  races_->clocks().MeetInWarp(warp, meeting.arrived | (meeting.mask & exited_[warp]));
}

void BlockScheduler::CheckAccess(const ThreadState& thread, uint64_t address, const check::Access& access,
                                 uint32_t site, uint64_t low, uint64_t high) {
  const auto shared = reinterpret_cast<uintptr_t>(block_->shared);
  const uint64_t offset = address - shared;
  const uint32_t size = block_->total_shared_bytes;
  if (races_ == nullptr || offset >= size || access.bytes > size - offset || access.bytes > check::kMostAccess) return;
  uint32_t unchanged = 0;
  if ((access.flags & check::kKnownValue) != 0) {
    for (uint32_t i = 0; i < access.bytes; ++i) {
      const uint64_t half = i < sizeof(low) ? low : high;
      const auto byte = static_cast<std::byte>(half >> 8 * (i % sizeof(low)));
      unchanged |= (block_->shared[offset + i] == byte ? 1U : 0U) << i;
    }
  }
  const auto hazard = races_->Touch(thread.linear, site, static_cast<uint32_t>(offset), access, unchanged);
  if (!hazard) return;
  const auto three = [](const uint32_t(&from)[3]) { return std::array<uint32_t, 3>{from[0], from[1], from[2]}; };
  block_->owner->services.findings->Add({.sites = run_->launch.kernel->sites,
                                         .kernel = run_->launch.name,
                                         .grid = three(block_->grid),
                                         .block = three(block_->cta),
                                         .shape = three(block_->block)},
                                        {.site = site,
                                         .bytes = access.bytes,
                                         .flags = access.flags,
                                         .address = hazard->offset,
                                         .thread = thread.linear,
                                         .other_site = hazard->site,
                                         .other_thread = hazard->thread,
                                         .other_flags = hazard->flags});
}

extern "C" void wharf_check_access(ThreadContext* thread, uint64_t address, uint32_t access, uint32_t site,
                                   uint64_t low, uint64_t high) {
  const auto& state = *static_cast<ThreadState*>(thread);
  state.scheduler->CheckAccess(state, address, std::bit_cast<check::Access>(access), site, low, high);
}

}  // namespace wharf::device::soft
