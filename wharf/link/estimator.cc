#include "wharf/link/estimator.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wharf::link {
namespace {

constexpr size_t kMinTransfer = 16 << 10;
// Transfers older than this against the newest say nothing about the link now.
constexpr Nanoseconds kWindow = std::chrono::seconds(2);
// An estimate this old begins to rise, with this time constant.
constexpr Nanoseconds kFresh = std::chrono::seconds(1);
constexpr double kHopeSeconds = 5;
// How fast the best rate is forgotten while transfers show less. Silence is no reason to forget it.
constexpr double kForgetSeconds = 60;
constexpr Nanoseconds kLongestGap = std::chrono::seconds(1);

}  // namespace

void LinkEstimator::Rate::Add(size_t bytes, Nanoseconds duration, TimePoint now) {
  if (bytes < kMinTransfer || duration <= Nanoseconds{0}) return;
  const double rate = static_cast<double>(bytes) * 8 / Seconds(duration);
  if (count_ > 0) {
    const Nanoseconds gap = std::min(now - samples_[(count_ - 1) % samples_.size()].time, kLongestGap);
    best_ *= std::exp(-Seconds(gap) / kForgetSeconds);
  }
  best_ = std::max(best_, rate);
  samples_[count_++ % samples_.size()] = {rate, now};
}

// Second best of the newest sample and those shortly before it; of one or two, the best.
double LinkEstimator::Rate::Recent() const {
  const TimePoint newest = samples_[(count_ - 1) % samples_.size()].time;
  std::vector<double> rates;
  for (size_t i = 0; i < std::min(count_, samples_.size()); ++i) {
    if (newest - samples_[i].time <= kWindow) rates.push_back(samples_[i].bits_per_second);
  }
  std::sort(rates.begin(), rates.end());
  return rates.size() < 3 ? rates.back() : rates[rates.size() - 2];
}

double LinkEstimator::Rate::At(TimePoint now) const {
  const double recent = Recent();
  const Nanoseconds age = now - samples_[(count_ - 1) % samples_.size()].time;
  if (age <= kFresh || best_ <= recent) return recent;
  return best_ + (recent - best_) * std::exp(-Seconds(age - kFresh) / kHopeSeconds);
}

void LinkEstimator::OnUpload(size_t bytes, Nanoseconds duration) {
  std::lock_guard lock(mutex_);
  up_.Add(bytes, duration, clock_.Now());
}

void LinkEstimator::OnDownload(size_t bytes, Nanoseconds duration) {
  std::lock_guard lock(mutex_);
  down_.Add(bytes, duration, clock_.Now());
}

void LinkEstimator::OnRoundTrip(Nanoseconds elapsed, Nanoseconds server_time) {
  const Nanoseconds sample = elapsed - server_time;
  if (server_time < Nanoseconds{0} || sample <= Nanoseconds{0}) return;  // the peer's word is not to be trusted blindly
  std::lock_guard lock(mutex_);
  round_trip_ = round_trip_measured_ ? round_trip_ + (sample - round_trip_) / 8 : sample;
  round_trip_measured_ = true;
}

LinkEstimate LinkEstimator::Estimate() const {
  std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  LinkEstimate estimate;
  if (up_.Known()) estimate.up_bits_per_second = up_.At(now);
  if (down_.Known()) estimate.down_bits_per_second = down_.At(now);
  estimate.round_trip = round_trip_;
  return estimate;
}

}  // namespace wharf::link
