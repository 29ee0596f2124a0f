#include <algorithm>
#include <cmath>
#include <utility>

#include "wharf/base/mersenne_random.h"
#include "wharf/link/emulation/emulator.h"

namespace wharf::link {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

// Sorted, without overlap, without empty ones.
std::vector<Outage> Merge(std::vector<Outage> outages) {
  std::erase_if(outages, [](const Outage& o) { return o.length <= Nanoseconds{0}; });
  std::sort(outages.begin(), outages.end(), [](const Outage& a, const Outage& b) { return a.start < b.start; });
  std::vector<Outage> merged;
  for (const Outage& outage : outages) {
    if (!merged.empty() && outage.start <= merged.back().start + merged.back().length) {
      const Nanoseconds end = std::max(merged.back().start + merged.back().length, outage.start + outage.length);
      merged.back().length = end - merged.back().start;
    } else {
      merged.push_back(outage);
    }
  }
  return merged;
}

}  // namespace

absl::Status Validate(const LinkProfile& profile) {
  const Nanoseconds longest = std::chrono::hours(24);
  for (const Nanoseconds time : {profile.round_trip, profile.jitter}) {
    if (time < Nanoseconds{0} || time > longest) return InvalidArgument("link times must be between 0 and 24 h");
  }
  for (const Outage& outage : profile.outages) {
    if (outage.start < Nanoseconds{0} || outage.length < Nanoseconds{0} || outage.start > 365 * longest ||
        outage.length > 365 * longest) {
      return InvalidArgument("an outage must start and end between 0 and 365 days");
    }
  }
  if (!profile.trace.bits_per_second.empty() && profile.trace.step <= Nanoseconds{0}) {
    return InvalidArgument("a bandwidth trace needs a step");
  }
  if (profile.trace.step > longest) return InvalidArgument("a bandwidth trace's step may be 24 h at most");
  for (const double rate : profile.trace.bits_per_second) {
    if (!std::isfinite(rate) || rate < 0) return InvalidArgument("{} bit/s is not a bandwidth", rate);
  }
  return absl::OkStatus();
}

std::vector<Outage> RandomOutages(Nanoseconds between, Nanoseconds length, Nanoseconds until, uint64_t seed) {
  MersenneRandom random(seed);
  const auto exponential = [&random](Nanoseconds mean) { return FromSeconds(random.Exponential(Seconds(mean))); };
  std::vector<Outage> outages;
  for (Nanoseconds start = exponential(between); start < until; start += exponential(between)) {
    outages.push_back({start, exponential(length)});
    start += outages.back().length;
  }
  return outages;
}

LinkModel::LinkModel(LinkProfile profile, TimePoint start)
    : profile_(std::move(profile)), busy_until_(start), last_delivery_(start), random_(profile_.seed) {
  profile_.outages = Merge(std::move(profile_.outages));
  const double step = Seconds(profile_.trace.step);
  for (const double rate : profile_.trace.bits_per_second) bits_per_period_ += rate * step;
  Restart(start);
}

void LinkModel::Restart(TimePoint start) {
  start_ = start;
  random_ = Random(profile_.seed);
}

LinkModel::Times LinkModel::Send(TimePoint now, size_t bytes) {
  const TimePoint begin = std::max({now, busy_until_, start_});
  if (begin != busy_until_) spare_bits_ = 0;  // the link was idle in between
  busy_until_ = Finish(begin, static_cast<double>(bytes) * 8);
  if (busy_until_ >= kNever) return {kNever, kNever};
  const TimePoint arrival = AfterOutage(busy_until_ + profile_.round_trip / 2 + Jitter());
  last_delivery_ = std::max(last_delivery_, arrival);
  return {busy_until_, last_delivery_};
}

// Integrates the trace from `begin` until `bits` have left. Rounded up to a nanosecond; what that leaves over is kept
// for a packet that follows at once, so the error does not add up.
TimePoint LinkModel::Finish(TimePoint begin, double bits) {
  if (begin >= kNever) return kNever;
  if (profile_.trace.bits_per_second.empty()) return AfterOutage(begin);
  if (bits <= spare_bits_) {
    spare_bits_ -= bits;
    return begin;
  }
  if (bits_per_period_ <= 0) return kNever;
  bits -= std::exchange(spare_bits_, 0);
  const int64_t step = profile_.trace.step.count();
  const auto samples = static_cast<int64_t>(profile_.trace.bits_per_second.size());
  TimePoint t = begin;
  while (true) {
    t = AfterOutage(t);
    const TimePoint outage = NextOutage(t);
    if (outage == kNever && bits > bits_per_period_) {  // whole periods at once
      const double periods = std::floor(bits / bits_per_period_);
      if (periods * Seconds(profile_.trace.step) * static_cast<double>(samples) > Seconds(kNever.since_epoch)) {
        return kNever;
      }
      t = t + profile_.trace.step * (samples * static_cast<int64_t>(periods));
      bits -= periods * bits_per_period_;
    }
    if (t >= kNever) return kNever;
    const int64_t index = (t - start_).count() / step;
    const double rate = profile_.trace.bits_per_second[index % samples];
    const TimePoint boundary = std::min(start_ + Nanoseconds((index + 1) * step), outage);
    const double capacity = rate * Seconds(boundary - t);
    if (bits <= capacity) {
      const auto needed = Nanoseconds(static_cast<int64_t>(std::ceil(bits / rate * kNanosecondsPerSecond)));
      const Nanoseconds used = std::min(needed, boundary - t);
      spare_bits_ = std::max(0.0, rate * Seconds(used) - bits);
      return t + used;
    }
    bits -= capacity;
    t = boundary;
  }
}

// `t`, or the end of the outage it falls into.
TimePoint LinkModel::AfterOutage(TimePoint t) const {
  for (const Outage& outage : profile_.outages) {
    if (t < start_ + outage.start) break;
    if (t < start_ + outage.start + outage.length) return start_ + outage.start + outage.length;
  }
  return t;
}

TimePoint LinkModel::NextOutage(TimePoint t) const {
  for (const Outage& outage : profile_.outages) {
    if (start_ + outage.start > t) return start_ + outage.start;
  }
  return kNever;
}

// Uniform in [0, jitter).
Nanoseconds LinkModel::Jitter() {
  if (profile_.jitter <= Nanoseconds{0}) return Nanoseconds{0};
  return Nanoseconds(static_cast<int64_t>(random_.Uniform() * static_cast<double>(profile_.jitter.count())));
}

}  // namespace wharf::link
