#include "wharf/offload/bulk/codec_choice.h"

#include <algorithm>

namespace wharf::offload {
namespace {

constexpr double kDecompressing = 0.5;  // of the time to compress
// What is gained must be more than a measurement's error.
constexpr double kWorthwhile = 0.9;
// New measurements count for a quarter, and at most for this many times what was known: a stall is no measurement.
constexpr double kNew = 0.25, kMostTimes = 4;
// Trials come rarer and rarer, at least once in so many payloads of a kind that shrinks, or does not.
constexpr uint32_t kTrialEvery = 32, kLongestPause = 512;

double BytesPerSecond(double bits_per_second) { return bits_per_second / 8; }

}  // namespace

double CodecCosts::SecondsPerByte(const Way& way) const { return compressing_[IndexOf(way)] * (1 + kDecompressing); }

// A way that was never gone costs what its codec's other ways do: theirs is the same number still.
void CodecCosts::Note(const Way& way, size_t bytes, double seconds) {
  if (bytes == 0 || seconds <= 0) return;
  const double before = compressing_[IndexOf(way)];
  const double now = std::min(seconds / static_cast<double>(bytes), before * kMostTimes);
  const double known = before + kNew * (now - before);
  compressing_[IndexOf(way)] = known;
  for (const Way& other : kWays) {
    if (other.codec == way.codec && compressing_[IndexOf(other)] == before) compressing_[IndexOf(other)] = known;
  }
}

bool CodecCosts::CouldPay(double bits_per_second) const {
  if (bits_per_second <= 0) return false;
  double cheapest = SecondsPerByte(kWays[0]);
  for (const Way& way : kWays) cheapest = std::min(cheapest, SecondsPerByte(way));
  return cheapest < kWorthwhile / BytesPerSecond(bits_per_second);
}

bool PayloadKind::WantsTrial(const Bases& bases) {
  if (bases.Any() && !tried_difference_) return true;
  if (until_trial_ == 0) return true;
  --until_trial_;
  return false;
}

void PayloadKind::NoteTrial(const Ratios& ratios, const Bases& bases, double bits_per_second, const CodecCosts& costs) {
  const bool paid = Best(bases, bits_per_second, costs).has_value();
  for (const Way& way : kWays) {
    if (bases.Permit(way)) ratios_[IndexOf(way)] = ratios[IndexOf(way)];
  }
  tried_difference_ |= bases.Any();
  const bool pays = Best(bases, bits_per_second, costs).has_value();
  // What has begun to shrink is another kind of data: the next ones will show more.
  pause_ = pays && !paid ? 1 : std::clamp(pause_ * 2, 1u, pays ? kTrialEvery : kLongestPause);
  until_trial_ = pause_;
}

void PayloadKind::NoteResult(const Way& way, double ratio) { ratios_[IndexOf(way)] = ratio; }

std::optional<Way> PayloadKind::Best(const Bases& bases, double bits_per_second, const CodecCosts& costs) const {
  const double sending = 1 / BytesPerSecond(bits_per_second);
  double least = kWorthwhile * sending;
  std::optional<Way> best;
  for (const Way& way : kWays) {
    if (!bases.Permit(way)) continue;
    const double cost = costs.SecondsPerByte(way) + ratios_[IndexOf(way)] * sending;
    if (cost >= least) continue;
    least = cost;
    best = way;
  }
  return best;
}

bool PayloadKind::WantsBase(double bits_per_second, const CodecCosts& costs) const {
  if (!tried_difference_ || until_trial_ == 0) return true;
  const std::optional<Way> best = Best({true, true}, bits_per_second, costs);
  return best && best->difference;
}

}  // namespace wharf::offload
