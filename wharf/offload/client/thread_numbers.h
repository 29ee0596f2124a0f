// ThreadNumbers: numbers the program's threads, densely: the number of a thread that ended goes to the next one that
// starts, and with it what was learnt of the operations such a thread makes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace wharf::offload {

// Thread-safe.
class ThreadNumbers {
 public:
  // The calling thread's number in `numbers`.
  static uint64_t Mine(const std::shared_ptr<ThreadNumbers>& numbers);

 private:
  class Holder;
  uint64_t Take();
  void GiveBack(uint64_t number);

  absl::Mutex mutex_;
  std::vector<uint64_t> free_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::offload
