#include "wharf/multitask/thread_workers.h"

#include <utility>

#include "wharf/base/status.h"

namespace wharf::multitask {

ThreadOffloader::ThreadOffloader(std::vector<TaskServer*> servers)
    : servers_(std::move(servers)), thread_([this] { ThreadMain(); }) {}

ThreadOffloader::~ThreadOffloader() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

absl::Status ThreadOffloader::Send(const FramePointer& frame, std::span<const int> tasks) {
  const absl::MutexLock lock(&mutex_);
  if (work_.has_value()) return Unavailable("the server is still busy with frame {}", work_->frame->index);
  work_ = Work{frame, {tasks.begin(), tasks.end()}};
  return absl::OkStatus();
}

std::optional<absl::StatusOr<Reply>> ThreadOffloader::Poll() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(reply_, std::nullopt);
}

void ThreadOffloader::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = work_.has_value();
  reply_.reset();
}

void ThreadOffloader::ThreadMain() {
  const absl::MutexLock lock(&mutex_);
  for (;;) {
    mutex_.Await(absl::Condition(
        +[](ThreadOffloader* self)
             ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) { return self->ending_ || self->work_.has_value(); },
        this));
    if (ending_) return;
    const Work work = *work_;
    mutex_.Unlock();
    Reply reply = Serve(work);
    mutex_.Lock();
    work_.reset();
    if (!std::exchange(cancelled_, false)) reply_ = std::move(reply);
  }
}

Reply ThreadOffloader::Serve(const Work& work) {
  Reply reply{.frame = work.frame->index, .answers = {}};
  for (const int task : work.tasks) reply.answers.push_back(servers_[task]->Serve(work.frame));
  return reply;
}

void ThreadBackground::Start(int task, AccuracyModel model) {
  worker_.Push([this, task, model = std::move(model)] {
    absl::StatusOr<double> drop_rate = model();
    const absl::MutexLock lock(&mutex_);
    found_[task] = std::move(drop_rate);
  });
}

std::optional<absl::StatusOr<double>> ThreadBackground::Poll(int task) {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(found_[task], std::nullopt);
}

}  // namespace wharf::multitask
