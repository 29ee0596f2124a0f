#include "wharf/offload/server/frame_worker.h"

#include <utility>

#include "wharf/link/threads.h"

namespace wharf::offload {
namespace {
uint64_t BytesOf(const FrameWorker::Frame& frame) { return sizeof(frame) + frame.head.size() + frame.bulk.size(); }
}  // namespace

FrameWorker::FrameWorker(uint64_t most_bytes, std::function<absl::Status(Frame)> take)
    : most_bytes_(most_bytes), take_(std::move(take)) {}

bool FrameWorker::IsIdle() const {
  absl::MutexLock lock(&mutex_);
  return bytes_ == 0;
}

bool FrameWorker::Add(Frame frame) {
  absl::MutexLock lock(&mutex_);
  const uint64_t bytes = BytesOf(frame);
  if (bytes_ + bytes > most_bytes_) return false;
  if (stopped_) return true;
  bytes_ += bytes;
  waiting_.push_back(std::move(frame));
  if (!thread_.joinable()) thread_ = link::StartThread("wharf-frames", [this] { Run(); });
  return true;
}

void FrameWorker::Stop() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void FrameWorker::Run() {
  uint64_t taken = 0;
  while (true) {
    Frame frame;
    {
      absl::MutexLock lock(&mutex_);
      bytes_ -= taken;
      mutex_.Await(absl::Condition(this, &FrameWorker::HasWork));
      if (stopped_) return;
      frame = std::move(waiting_.front());
      waiting_.pop_front();
    }
    taken = BytesOf(frame);
    clock_.Begin();
    const absl::Status status = take_(std::move(frame));
    clock_.End();
    if (status.ok()) continue;
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    return;
  }
}

}  // namespace wharf::offload
