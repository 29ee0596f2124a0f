#include "wharf/device/soft/driver/work_queue.h"

#include <utility>

namespace wharf::device::soft {

WorkQueue::WorkQueue(Task at_idle, Task at_end)
    : at_idle_(std::move(at_idle)), at_end_(std::move(at_end)), thread_([this] { ThreadMain(); }) {}

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
  has_urgent_.store(true, std::memory_order_release);
}

bool WorkQueue::Idle() const {
  absl::MutexLock lock(&mutex_);
  return !running_ && tasks_.empty() && urgent_.empty();
}

bool WorkQueue::TakeBatch(std::deque<Task>& batch) {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !tasks_.empty() || !urgent_.empty() || ending_;
  };
  absl::MutexLock lock(&mutex_);
  if (running_ && tasks_.empty() && urgent_.empty()) at_idle_();
  running_ = false;
  mutex_.Await(absl::Condition(&ready));
  running_ = !tasks_.empty() || !urgent_.empty();
  batch.swap(tasks_);
  return running_;
}

void WorkQueue::RunUrgent() {
  while (has_urgent_.load(std::memory_order_acquire)) {
    std::deque<Task> urgent;
    {
      absl::MutexLock lock(&mutex_);
      urgent.swap(urgent_);
      has_urgent_.store(false, std::memory_order_relaxed);
    }
    for (const Task& task : urgent) task();
  }
}

void WorkQueue::ThreadMain() {
  std::deque<Task> batch;
  while (TakeBatch(batch)) {
    RunUrgent();
    for (; !batch.empty(); RunUrgent()) {
      const Task task = std::move(batch.front());
      batch.pop_front();
      task();
    }
  }
  at_end_();
}

}  // namespace wharf::device::soft
