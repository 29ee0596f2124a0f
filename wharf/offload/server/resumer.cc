#include "wharf/offload/server/resumer.h"

#include <utility>

#include "wharf/link/threads.h"

namespace wharf::offload {

Resumer::Resumer(std::function<void()> resume)
    : resume_(std::move(resume)), thread_(link::StartThread("wharf-resume", [this] { Run(); })) {}

void Resumer::Ask() {
  absl::MutexLock lock(&mutex_);
  asked_ = true;
}

void Resumer::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Resumer::Run() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Resumer::HasWork));
      if (stopped_) return;
      asked_ = false;
    }
    resume_();
  }
}

}  // namespace wharf::offload
