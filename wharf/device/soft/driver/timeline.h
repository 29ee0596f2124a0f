// Progress along a sequence of work: a stream, an event's records, or everything.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf::device::soft {

// Counts items issued and items completed, which happens in the order of issue. Thread-safe.
class Timeline {
 public:
  using Callback = std::function<void()>;

  void Issue() {
    absl::MutexLock lock(&mutex_);
    ++issued_;
  }
  // The callbacks that are due now, in the order they were added; the caller runs them.
  [[nodiscard]] std::vector<Callback> Complete() {
    absl::MutexLock lock(&mutex_);
    ++completed_;
    std::vector<Callback> due;
    while (!waiting_.empty() && waiting_.front().first <= completed_) {
      due.push_back(std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    return due;
  }
  bool Done() const {
    absl::MutexLock lock(&mutex_);
    return completed_ == issued_;
  }
  bool EverIssued() const {
    absl::MutexLock lock(&mutex_);
    return issued_ != 0;
  }
  // Has Complete return `callback` when everything issued so far is completed. False, and `callback` untouched, if that
  // is so already.
  [[nodiscard]] bool WhenDone(Callback& callback) {
    absl::MutexLock lock(&mutex_);
    if (completed_ == issued_) return false;
    waiting_.emplace_back(issued_, std::move(callback));
    return true;
  }

 private:
  mutable absl::Mutex mutex_;
  uint64_t issued_ ABSL_GUARDED_BY(mutex_) = 0, completed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::pair<uint64_t, Callback>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
