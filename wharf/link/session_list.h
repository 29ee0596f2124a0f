// SessionList: the sessions of a server that serves them all in one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf::link {

// Session: has Over(), whether its connection has ended, and Late(now), whether it has not said who it is for too long.
// Thread-safe.
template <typename Session>
class SessionList {
 public:
  explicit SessionList(size_t most) : most_(most) {}

  // Forgets those that are over or late, then adds what `make` returns; false if there are too many.
  template <typename Make>
  bool Add(const Make& make) {
    absl::MutexLock lock(&mutex_);
    const TimePoint now = Clock::Real().Now();
    sessions_.remove_if([&](const std::unique_ptr<Session>& one) { return one->Over() || one->Late(now); });
    if (sessions_.size() >= most_) return false;
    sessions_.push_back(make());
    return true;
  }
  // Those that have not ended.
  void ForEach(const std::function<void(Session&)>& what) {
    absl::MutexLock lock(&mutex_);
    for (const auto& one : sessions_) {
      if (!one->Over()) what(*one);
    }
  }
  // That have not ended.
  size_t Count() const {
    absl::MutexLock lock(&mutex_);
    return static_cast<size_t>(std::ranges::count_if(sessions_, [](const auto& one) { return !one->Over(); }));
  }

 private:
  const size_t most_;
  mutable absl::Mutex mutex_;
  std::list<std::unique_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::link
