#include "wharf/device/soft/driver/work_queue.h"

#include <utility>

namespace wharf::device::soft {

WorkQueue::WorkQueue(Task at_end) : at_end_(std::move(at_end)), thread_([this] { ThreadMain(); }) {}

WorkQueue::~WorkQueue() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void WorkQueue::Push(Task task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void WorkQueue::PushUrgent(Task task) {
  absl::MutexLock lock(&mutex_);
  urgent_.push_back(std::move(task));
}

bool WorkQueue::Idle() const {
  absl::MutexLock lock(&mutex_);
  return !running_ && tasks_.empty() && urgent_.empty();
}

void WorkQueue::ThreadMain() {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !tasks_.empty() || !urgent_.empty() || ending_;
  };
  for (;;) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      running_ = false;
      mutex_.Await(absl::Condition(&ready));
      std::deque<Task>& from = urgent_.empty() ? tasks_ : urgent_;
      if (from.empty()) break;
      task = std::move(from.front());
      from.pop_front();
      running_ = true;
    }
    task();
  }
  at_end_();
}

}  // namespace wharf::device::soft
