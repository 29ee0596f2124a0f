#include "wharf/server/acceptor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "absl/time/time.h"
#include "wharf/base/log.h"

namespace wharf::server {

Acceptor::Acceptor(std::unique_ptr<link::Listener> listener)
    : listener_(std::move(listener)),
      address_(listener_->Address()),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() {
  Stop();
  close(event_);
}

int Acceptor::Take() {
  absl::MutexLock lock(&mutex_);
  if (waiting_.empty()) return -1;
  uint64_t count = 0;
  if (read(event_, &count, sizeof(count)) < 0) return -1;
  const int fd = waiting_.front();
  waiting_.pop_front();
  return fd;
}

void Acceptor::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    for (const int fd : waiting_) close(fd);
    waiting_.clear();
  }
  if (!thread_.joinable()) return;
  listener_->Shutdown();
  thread_.join();
  listener_.reset();
}

void Acceptor::Run() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Acceptor::HasRoom));
      if (stopped_) return;
    }
    absl::StatusOr<int> accepted = listener_->Accept();
    if (accepted.status().code() == absl::StatusCode::kAborted) return;
    absl::MutexLock lock(&mutex_);
    if (!accepted.ok()) {
      Log(LogLevel::kError, "cannot accept", {{"why", Message(accepted.status())}});
      // Out of descriptors, most likely: some are freed as sessions end.
      mutex_.AwaitWithTimeout(absl::Condition(&stopped_), absl::Milliseconds(200));
      continue;
    }
    const uint64_t one = 1;
    if (stopped_ || write(event_, &one, sizeof(one)) < 0) {
      close(*accepted);
      continue;
    }
    waiting_.push_back(*accepted);
  }
}

}  // namespace wharf::server
