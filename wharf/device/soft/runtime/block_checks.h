// What is looked for in a block of a checked kernel while it runs: knows where the block's memory lies, and tells
// device/soft/check of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "wharf/device/soft/check/findings.h"
#include "wharf/device/soft/check/shared_races.h"
#include "wharf/device/soft/check/written_memory.h"
#include "wharf/device/soft/runtime/kernel_abi.h"
#include "wharf/device/soft/runtime/kernel_run.h"
#include "wharf/device/soft/runtime/kernel_services.h"

namespace wharf::device::soft {

// Of a thread of the operating system.
class BlockChecks {
 public:
  // REQUIRES: services.findings is not null.
  explicit BlockChecks(KernelServices& services) : services_(services), checks_(services.findings->checks()) {}

  // Before blocks of a run. `block` is what they are described by, one after the other.
  void Prepare(KernelRun& run, const BlockContext& block);
  void Start(uint32_t threads);
  // Who is told when threads meet; null if nobody asks.
  check::BlockClocks* clocks() { return (checks_ & check::kRace) != 0 ? &races_.clocks() : nullptr; }
  // wharf_check_access (kernel_abi.h).
  void Access(const ThreadContext& thread, uint64_t address, const check::Access& access, uint32_t site, uint64_t low,
              uint64_t high);

 private:
  // One access, while it is looked at.
  struct Seen {
    const check::Access& access;
    uint32_t site = 0, thread = 0;
  };
  void AccessShared(const Seen& seen, uint64_t offset, uint64_t low, uint64_t high);
  void AccessGlobal(const Seen& seen, uint64_t address);
  // Of shared memory, or of device memory: what is read that nobody has written is told, and counts as written then.
  template <typename Written>
  void NoteWritten(const Seen& seen, Written& written, uint64_t address, bool shared);
  void Add(check::Finding finding, const Seen& seen);

  KernelServices& services_;
  const check::Checks checks_;
  KernelRun* run_ = nullptr;
  const BlockContext* block_ = nullptr;
  check::SharedRaces races_;
  check::WrittenBytes written_;  // of shared memory
  MemoryRange last_;             // that was accessed, in this run
};

}  // namespace wharf::device::soft
