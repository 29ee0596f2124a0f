// IdleWorker: a thread for work that nobody waits for, at low priority, so that it takes little from those that do.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf {

class IdleWorker {
 public:
  IdleWorker() = default;
  // Waits for the task that runs; those that have not begun are dropped.
  ~IdleWorker();
  IdleWorker(const IdleWorker&) = delete;
  IdleWorker& operator=(const IdleWorker&) = delete;

  // Thread-safe. Tasks run in order, one at a time; the thread begins with the first.
  void Push(std::function<void()> task);

 private:
  void ThreadMain();

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf
