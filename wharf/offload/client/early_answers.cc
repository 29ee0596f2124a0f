#include "wharf/offload/client/early_answers.h"

#include <utility>

namespace wharf::offload {

absl::Status EarlyAnswers::Add(uint64_t position, EarlyAnswer answer) {
  if (answer.push.deviations != deviations_) {
    ++void_;
    return absl::OkStatus();
  }
  if (answers_.size() >= kMaxAnswers) return InvalidArgument("the server pushes too much");
  ++kept_;
  EarlyAnswer& kept = answers_[position];
  bytes_ += answer.bulk.size() - kept.bulk.size();
  kept = std::move(answer);
  return absl::OkStatus();
}

std::optional<EarlyAnswer> EarlyAnswers::Take(uint64_t position, uint64_t deviations) {
  const auto found = answers_.find(position);
  if (found == answers_.end()) return std::nullopt;
  std::optional<EarlyAnswer> answer = std::move(found->second);
  answers_.erase(found);
  bytes_ -= answer->bulk.size();
  if (answer->push.deviations != deviations) return std::nullopt;
  return answer;
}

void EarlyAnswers::Deviate(uint64_t deviations) {
  deviations_ = deviations;
  void_ += answers_.size();
  Clear();
}

void EarlyAnswers::Clear() {
  answers_.clear();
  bytes_ = 0;
}

}  // namespace wharf::offload
