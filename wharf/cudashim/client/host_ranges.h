// Page-locked host memory as the program sees it. There is no DMA from here, so it is plain memory; what counts is
// which ranges the program declared, because copies to them may complete later and queries must recognise them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/synchronization/mutex.h"

namespace wharf::client {

// Thread-safe.
class HostRanges {
 public:
  struct Range {
    uint64_t base = 0, size = 0;
    uint32_t flags = 0;
    bool owned = false;  // made by AllocateHost
  };
  static HostRanges& Get();
  // False if it overlaps a range that is there.
  bool Add(void* pointer, uint64_t size, uint32_t flags, bool owned);
  bool Remove(void* pointer, bool owned);
  std::optional<Range> Find(uint64_t address) const;
  // All of [address, address + size) lies in one range.
  bool Contains(uint64_t address, uint64_t size) const;
  // False for most addresses that are in no range that AllocateHost made. Takes no lock: for every word of a launch.
  bool MayBeOwned(uint64_t address) const {
    return address >= owned_begin_.load(std::memory_order_relaxed) &&
           address < owned_end_.load(std::memory_order_relaxed);
  }
  // Around fork: the child must not find the lock held by a thread it does not have.
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }

 private:
  mutable absl::Mutex mutex_;
  std::map<uint64_t, Range> ranges_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> owned_begin_{UINT64_MAX}, owned_end_{0};  // around all owned ranges there ever were
};

}  // namespace wharf::client
