// The one thread that executes a session's work, in the order it was issued, whatever the stream: a legal schedule of
// CUDA's streams (nothing promises that two streams overlap), and the kernels fill all cores anyway.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf::device::soft {

class WorkQueue {
 public:
  using Task = std::function<void()>;

  // On the queue's thread, `at_idle` runs when there is nothing more to do, before Idle says so, and must not call the
  // queue; `at_end` runs last.
  WorkQueue(Task at_idle, Task at_end);
  // Runs what is queued, then joins the thread.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Thread-safe; tasks run in order.
  void Push(Task task);
  // Thread-safe; runs before the tasks that are waiting, in order among its like.
  void PushUrgent(Task task);
  // Whether everything that was pushed has run. Stays so until somebody pushes.
  bool Idle() const;

 private:
  void ThreadMain();
  // Takes all that waits, so that many small tasks cost the lock once. False when it is time to end.
  bool TakeBatch(std::deque<Task>& batch);
  void RunUrgent();

  Task at_idle_, at_end_;
  mutable absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_), urgent_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false, ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_urgent_{false};  // urgent_ may not be empty
  std::thread thread_;                   // last: it uses the others
};

}  // namespace wharf::device::soft
