// SessionList: the sessions of a server that serves them all in one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/base/clock.h"

namespace wharf::link {

// Session: has Over(), whether its connection has ended, and Late(now), whether it has not said who it is for too long;
// both thread-safe. A thread ends those that are either within a moment, so that what they hold, descriptors, threads
// and processes, does not wait for the next to come. Thread-safe.
template <typename Session>
class SessionList {
 public:
  explicit SessionList(size_t most) : most_(most), reaper_([this] { Reap(); }) {}
  // Ends all.
  ~SessionList() {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    reaper_.join();
  }
  SessionList(const SessionList&) = delete;
  SessionList& operator=(const SessionList&) = delete;

  // Ends those that are over or late, then adds what `make` returns; false if there are too many.
  template <typename Make>
  bool Add(const Make& make) {
    TakeEnded();
    absl::MutexLock lock(&mutex_);
    if (sessions_.size() >= most_) return false;
    sessions_.push_back(make());
    return true;
  }
  // Calls `what` with the one for which `since` is earliest, if it is earlier than `before` and has not ended; whether
  // there is one.
  bool ForEarliest(const std::function<TimePoint(const Session&)>& since, TimePoint before,
                   const std::function<void(Session&)>& what) {
    absl::MutexLock lock(&mutex_);
    Session* earliest = nullptr;
    for (const auto& one : sessions_) {
      if (one->Over() || since(*one) >= before) continue;
      earliest = one.get();
      before = since(*one);
    }
    if (earliest != nullptr) what(*earliest);
    return earliest != nullptr;
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
  using Sessions = std::list<std::unique_ptr<Session>>;

  // Those that are over or late. They end with what is returned: outside the lock, because that waits for their
  // threads.
  Sessions TakeEnded() {
    Sessions ended;
    absl::MutexLock lock(&mutex_);
    const TimePoint now = Clock::Real().Now();
    for (auto one = sessions_.begin(); one != sessions_.end();) {
      const auto next = std::next(one);
      if ((*one)->Over() || (*one)->Late(now)) ended.splice(ended.end(), sessions_, one);
      one = next;
    }
    return ended;
  }

  void Reap() {
    const auto ending = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_; };
    for (;;) {
      TakeEnded();
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&ending), absl::Milliseconds(250))) return;
    }
  }

  const size_t most_;
  mutable absl::Mutex mutex_;
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread reaper_;
};

}  // namespace wharf::link
