#include "wharf/serving/settings.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {
namespace {

// Strides run over e2e .. e2e + oi - 1, so their mean is e2e + (oi - 1) / 2: the longest interval by that.
int LongestInterval(const ClientModel& client, const InferenceProfile& profile, int batch, int limit) {
  const double reference = track::MeanStride(ReferenceOf(client, profile));
  if (client.drop_rate <= 0) return limit;
  const double latency = ScheduleOf(client, profile, {1, batch}).latency;
  const double longest = 2 * (client.sla / client.drop_rate + reference - latency) + 1;
  // A hair for sums that are exact on paper.
  return static_cast<int>(std::clamp(std::floor(longest + 1e-9), 0.0, static_cast<double>(limit)));
}

}  // namespace

track::OffloadSchedule ScheduleOf(const ClientModel& client, const InferenceProfile& profile,
                                  const OffloadSettings& settings) {
  const double frames = (client.network_s + profile.Seconds(settings.batch)) * client.fps;
  return {.interval = settings.interval, .latency = std::max(1, static_cast<int>(std::ceil(frames - 1e-9)))};
}

track::OffloadSchedule ReferenceOf(const ClientModel& client, const InferenceProfile& profile) {
  return track::ReferenceSchedule(profile.Seconds(1), client.network_s + profile.Seconds(1), 1 / client.fps);
}

std::optional<OffloadSettings> BestSettings(const ClientModel& client, const InferenceProfile& profile,
                                            const SettingsLimits& limits) {
  std::optional<OffloadSettings> best;
  double most = 0;
  for (int batch = limits.min_batch; batch <= std::min(limits.max_batch, profile.MaxBatch()); ++batch) {
    const int interval = LongestInterval(client, profile, batch, limits.max_interval);
    const double clients = profile.Throughput(batch) * interval / client.fps;
    if (interval < limits.min_interval || clients * limits.max_share < 1 || clients <= most) continue;
    most = clients;
    best = OffloadSettings{interval, batch};
  }
  return best;
}

}  // namespace wharf::serving
