#include "wharf/offload/client/early_answers.h"

#include <utility>

namespace wharf::offload {

void EarlyAnswers::NoteTakenBack(uint64_t times) {
  if (times <= taken_back_) return;
  taken_back_ = times;
  void_ += answers_.size();
  Clear();
}

absl::Status EarlyAnswers::Add(uint64_t position, EarlyAnswer answer) {
  NoteTakenBack(answer.push.taken_back);
  if (position <= passed_ || answer.push.taken_back < taken_back_) {
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

std::optional<EarlyAnswer> EarlyAnswers::Take(uint64_t position, uint64_t path) {
  passed_ = position;
  while (!answers_.empty() && answers_.begin()->first <= position) {
    const auto oldest = answers_.begin();
    const bool is_it = oldest->first == position && oldest->second.push.path == path;
    EarlyAnswer answer = std::move(oldest->second);
    bytes_ -= answer.bulk.size();
    answers_.erase(oldest);
    if (is_it) return answer;
    ++void_;
  }
  return std::nullopt;
}

void EarlyAnswers::Clear() {
  answers_.clear();
  bytes_ = 0;
}

}  // namespace wharf::offload
