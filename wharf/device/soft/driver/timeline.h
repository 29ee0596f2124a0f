// Progress along a sequence of work: a stream, an event's records, or everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf::device::soft {

// Counts items issued and items completed, which happens in the order of issue. Thread-safe; without a lock while
// nobody waits, because every launch is an item of two timelines.
class Timeline {
 public:
  using Callback = std::function<void()>;

  void Issue() { issued_.fetch_add(1); }
  // The callbacks that are due now, in the order they were added; the caller runs them.
  [[nodiscard]] std::vector<Callback> Complete() {
    const uint64_t completed = completed_.fetch_add(1) + 1;
    // Whoever begins to wait after this was read sees in completed_ what has been counted here.
    if (!has_waiting_.load()) return {};
    absl::MutexLock lock(&mutex_);
    std::vector<Callback> due;
    while (!waiting_.empty() && waiting_.front().first <= completed) {
      due.push_back(std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    has_waiting_.store(!waiting_.empty());
    return due;
  }
  bool Done() const { return completed_.load() == issued_.load(); }
  bool EverIssued() const { return issued_.load() != 0; }
  // Has Complete return `callback` when everything issued so far is completed. False, and `callback` untouched, if that
  // is so already.
  [[nodiscard]] bool WhenDone(Callback& callback) {
    absl::MutexLock lock(&mutex_);
    has_waiting_.store(true);
    const uint64_t issued = issued_.load();
    const bool done = completed_.load() == issued;
    if (!done) waiting_.emplace_back(issued, std::move(callback));
    has_waiting_.store(!waiting_.empty());
    return !done;
  }

 private:
  std::atomic<uint64_t> issued_{0}, completed_{0};
  std::atomic<bool> has_waiting_{false};  // waiting_ may not be empty
  absl::Mutex mutex_;
  std::deque<std::pair<uint64_t, Callback>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
