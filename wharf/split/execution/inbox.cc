#include "wharf/split/execution/inbox.h"

#include <algorithm>
#include <utility>

#include "wharf/base/clock_wait.h"

namespace wharf::split {

absl::StatusOr<RowsMessage> Inbox::Next() const {
  absl::MutexLock lock(&mutex_);
  if (arrived_.size() == expected_.size()) return FailedPrecondition("rows that the plan does not have");
  return expected_[arrived_.size()];
}

void Inbox::Put(exec::TensorPtr tensor) {
  absl::MutexLock lock(&mutex_);
  arrived_.push_back(std::move(tensor));
}

void Inbox::Close(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (closed_.ok()) closed_ = why;
}

bool Inbox::AllThere(const std::vector<RowsMessage>& messages) const {
  return std::all_of(messages.begin(), messages.end(), [&](const RowsMessage& message) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto place = std::find(expected_.begin(), expected_.begin() + static_cast<int64_t>(arrived_.size()), message);
    return place != expected_.begin() + static_cast<int64_t>(arrived_.size());
  });
}

// Whether they came before the deadline.
bool Inbox::Await(const std::vector<RowsMessage>& messages, std::optional<TimePoint> deadline) {
  const auto done = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !closed_.ok() || AllThere(messages); };
  if (!deadline) {
    mutex_.Await(absl::Condition(&done));
    return true;
  }
  return AwaitUntil(&mutex_, absl::Condition(&done), clock_, *deadline);
}

absl::StatusOr<std::vector<exec::Part>> Inbox::Take(const std::vector<RowsMessage>& messages,
                                                    std::optional<TimePoint> deadline) {
  absl::MutexLock lock(&mutex_);
  const bool in_time = Await(messages, deadline);
  if (!AllThere(messages)) {
    if (!in_time) return DeadlineExceeded("rows did not come in time");
    return closed_;
  }
  std::vector<exec::Part> parts;
  for (const RowsMessage& message : messages) {
    const auto place = std::find(expected_.begin(), expected_.end(), message) - expected_.begin();
    parts.push_back({message.rows, std::exchange(arrived_[place], nullptr)});
  }
  return parts;
}

}  // namespace wharf::split
