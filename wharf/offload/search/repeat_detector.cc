#include "wharf/offload/search/repeat_detector.h"

#include <algorithm>

namespace wharf::offload {

RepeatDetector::RepeatDetector() : prefixes_(2 * kCapacity), powers_(kCapacity + 1), occurrences_(kLevels * kBuckets) {
  powers_[0] = {1, 1};
  for (size_t i = 1; i < powers_.size(); ++i) powers_[i] = NextPower(powers_[i - 1]);
}

// Letters in reach, the one that may come next included.
uint64_t RepeatDetector::Held() const { return std::min(size_ + 1 - origin_, kCapacity); }

RepeatDetector::Occurrence& RepeatDetector::Place(const Fingerprint& context, uint64_t level) {
  Bucket& bucket = occurrences_[level * kBuckets + Mix(context.first) % kBuckets];
  if (bucket[0].context == context) return bucket[0];
  if (bucket[1].context == context) return bucket[1];
  return bucket[0].end < bucket[1].end ? bucket[0] : bucket[1];
}

RepeatDetector::Periods RepeatDetector::Candidates(uint64_t letter) {
  prefixes_[(size_ + 1) % prefixes_.size()] = wharf::offload::Append(Prefix(size_), letter);
  Periods periods;
  for (uint64_t level = 0; level < kLevels && (uint64_t{1} << level) <= Held(); ++level) {
    const uint64_t end = size_ + 1;
    const Fingerprint context = Between(end - (uint64_t{1} << level), end);
    const Occurrence& last = Place(context, level);
    if (last.context != context || last.end <= origin_) continue;
    const uint64_t p = end - last.end;
    if (periods.count == 0 || periods.values[static_cast<size_t>(periods.count - 1)] < p) {
      periods.values[static_cast<size_t>(periods.count++)] = p;
    }
  }
  return periods;
}

bool RepeatDetector::EndsWithRepeats(uint64_t p, uint64_t repeats) const {
  if (p * repeats > Held()) return false;
  const uint64_t end = size_ + 1;
  return Between(end - p * (repeats - 1), end) == Between(end - p * repeats, end - p);
}

void RepeatDetector::Append(uint64_t letter) {
  prefixes_[(size_ + 1) % prefixes_.size()] = wharf::offload::Append(Prefix(size_), letter);
  for (uint64_t level = 0; level < kLevels && (uint64_t{1} << level) <= Held(); ++level) {
    const Fingerprint context = Between(size_ + 1 - (uint64_t{1} << level), size_ + 1);
    Place(context, level) = {context, size_ + 1};
  }
  ++size_;
}

void RepeatDetector::Clear() { origin_ = size_; }

}  // namespace wharf::offload
