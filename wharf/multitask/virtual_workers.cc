#include "wharf/multitask/virtual_workers.h"

namespace wharf::multitask {

absl::Status VirtualOffloader::Send(const FramePointer& frame, std::span<const int> tasks) {
  reply_ = Reply{.frame = frame->index, .answers = {}};
  due_ = clock_.Now();
  for (const int task : tasks) {
    reply_->answers.push_back(servers_[task]->Serve(frame));
    due_ = due_ + latencies_[task];
  }
  return absl::OkStatus();
}

std::optional<absl::StatusOr<Reply>> VirtualOffloader::Poll() {
  if (!reply_.has_value() || clock_.Now() < due_) return std::nullopt;
  return std::exchange(reply_, std::nullopt);
}

void VirtualBackground::Start(int task, AccuracyModel model) {
  found_[task] = Found{model(), clock_.Now() + latencies_[task]};
}

std::optional<absl::StatusOr<double>> VirtualBackground::Poll(int task) {
  std::optional<Found>& found = found_[task];
  if (!found.has_value() || clock_.Now() < found->due) return std::nullopt;
  absl::StatusOr<double> drop_rate = std::move(found->drop_rate);
  found.reset();
  return drop_rate;
}

}  // namespace wharf::multitask
