// EventLoop: runs what other threads post, one after the other, and a step of its own whenever something ran or a time
// came: what is driven by it needs no locks.
#pragma once

#include <functional>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf {

class EventLoop {
 public:
  // Thread-safe. Ignored once the loop was stopped.
  void Post(std::function<void()> event);
  // Until Stop: runs events, then `step`, which says when it wants to be called at the latest.
  void Run(const Clock& clock, const std::function<TimePoint()>& step);
  // Run returns when the events that were posted before have run. Thread-safe.
  void Stop();

 private:
  absl::Mutex mutex_;
  std::vector<std::function<void()>> events_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace wharf
