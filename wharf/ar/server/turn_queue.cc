#include "wharf/ar/server/turn_queue.h"

#include <utility>

namespace wharf::ar {

TurnQueue::TurnQueue() : thread_([this] { Loop(); }) {}

TurnQueue::~TurnQueue() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

bool TurnQueue::Push(uint64_t client, size_t most, std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  const auto found = waiting_.find(client);
  if ((found == waiting_.end() ? 0 : found->second.size()) >= most) return false;
  waiting_[client].push_back(std::move(work));
  return true;
}

void TurnQueue::Drop(uint64_t client) {
  const auto over = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !running_ || turn_ != client; };
  absl::MutexLock lock(&mutex_);
  waiting_.erase(client);
  mutex_.Await(absl::Condition(&over));
}

std::function<void()> TurnQueue::TakeNext() {
  auto next = waiting_.upper_bound(turn_);
  if (next == waiting_.end()) next = waiting_.begin();
  turn_ = next->first;
  std::function<void()> work = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty()) waiting_.erase(next);
  return work;
}

void TurnQueue::Loop() {
  const auto work_or_end = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || !waiting_.empty(); };
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&work_or_end));
      if (ending_) return;
      work = TakeNext();
      running_ = true;
    }
    work();
    work = nullptr;  // what it holds goes before Drop returns
    absl::MutexLock lock(&mutex_);
    running_ = false;
  }
}

}  // namespace wharf::ar
