#include "wharf/offload/client/host_call_runner.h"

#include <utility>

#include "wharf/base/clock_wait.h"
#include "wharf/link/threads.h"

namespace wharf::offload {

HostCallRunner::~HostCallRunner() {
  Stop();
  Join();
}

void HostCallRunner::Add(uint64_t call, std::function<void()> function) {
  absl::MutexLock lock(&mutex_);
  functions_.emplace(call, std::move(function));
}

void HostCallRunner::Run(uint64_t call) {
  absl::MutexLock lock(&mutex_);
  const auto found = functions_.find(call);
  if (found == functions_.end()) return;
  ready_.emplace_back(call, std::move(found->second));
  functions_.erase(found);
  changed_.Signal();
}

void HostCallRunner::Start() {
  thread_ = link::StartThread("wharf-calls", [this] { Loop(); });
}

void HostCallRunner::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  changed_.Signal();
}

void HostCallRunner::Join() {
  if (thread_.joinable()) thread_.join();
}

bool HostCallRunner::Next(uint64_t& call, std::function<void()>& function) {
  absl::MutexLock lock(&mutex_);
  const TimePoint deadline = clock_->Now() + kIdle;
  while (!stopped_) {
    if (!ready_.empty()) {
      call = ready_.front().first;
      function = std::move(ready_.front().second);
      ready_.pop_front();
      return true;
    }
    if (WaitUntil(changed_, &mutex_, *clock_, deadline) && ready_.empty()) return !stopped_;
  }
  return false;
}

void HostCallRunner::Loop() {
  while (true) {
    uint64_t call = 0;
    std::function<void()> function;
    if (!Next(call, function)) return;
    if (function == nullptr) {
      callbacks_.idle();
    } else {
      function();
      callbacks_.done(call);
    }
  }
}

}  // namespace wharf::offload
