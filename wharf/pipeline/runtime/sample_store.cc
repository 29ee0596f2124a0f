#include "wharf/pipeline/runtime/sample_store.h"

#include <utility>

namespace wharf::pipeline {

void SampleStore::Erase(uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) return;
  bytes_ -= found->second.sample.size();
  held_.erase(found);
}

void SampleStore::Put(std::span<const uint64_t> numbers, std::vector<Sample> samples) {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < numbers.size(); ++i) {
    Erase(numbers[i]);
    bytes_ += samples[i].size();
    order_.emplace_back(next_order_, numbers[i]);
    held_[numbers[i]] = {std::move(samples[i]), next_order_++};
  }
  const auto gone = [this](const auto& entry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto found = held_.find(entry.second);
    return found == held_.end() || found->second.order != entry.first;
  };
  while (!order_.empty() && (bytes_ > limit_bytes_ || gone(order_.front()))) {
    if (!gone(order_.front())) Erase(order_.front().second);
    order_.pop_front();
  }
}

absl::StatusOr<std::vector<Sample>> SampleStore::Take(std::span<const uint64_t> numbers) {
  std::vector<Sample> samples;
  absl::MutexLock lock(&mutex_);
  for (const uint64_t number : numbers) {
    const auto found = held_.find(number);
    if (found == held_.end()) continue;
    samples.push_back(std::move(found->second.sample));
    bytes_ -= samples.back().size();
    held_.erase(found);
  }
  if (samples.size() != numbers.size()) return NotFound("{} of {} samples are here", samples.size(), numbers.size());
  return samples;
}

void SampleStore::Clear() {
  absl::MutexLock lock(&mutex_);
  held_.clear();
  order_.clear();
  bytes_ = 0;
}

size_t SampleStore::Bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace wharf::pipeline
