#include "wharf/serving/settings.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {
namespace {

// Strides run over e2e .. e2e + oi - 1, so their mean is e2e + (oi - 1) / 2: the longest interval by that.
int LongestInterval(const ClientModel& client, const InferenceProfile& profile, int batch,
                    const SettingsLimits& limits) {
  const double reference = track::MeanStride(ReferenceOf(client, profile));
  if (client.drop_rate <= 0) return limits.max_interval;
  const double latency = limits.coordinated ? (client.network_s + profile.Seconds(batch)) * client.fps + 0.5
                                            : ScheduleOf(client, profile, {1, batch}).latency;
  const double longest = 2 * (client.sla / client.drop_rate + reference - latency) + 1;
  // A hair for sums that are exact on paper.
  return static_cast<int>(std::clamp(std::floor(longest + 1e-9), 0.0, static_cast<double>(limits.max_interval)));
}

}  // namespace

track::OffloadSchedule ScheduleOf(const ClientModel& client, const InferenceProfile& profile,
                                  const OffloadSettings& settings) {
  const double frames = (client.network_s + profile.Seconds(settings.batch)) * client.fps;
  return {.interval = settings.interval, .latency = std::max(1, static_cast<int>(std::ceil(frames - 1e-9)))};
}

track::OffloadSchedule ReferenceOf(const ClientModel& client, const InferenceProfile& profile) {
  return track::ReferenceSchedule(profile.SecondsAlone(), client.network_s + profile.SecondsAlone(), 1 / client.fps);
}

double EngineShare(const OffloadSettings& settings, const ClientModel& client, const InferenceProfile& profile) {
  return client.fps / settings.interval / profile.Throughput(settings.batch);
}

bool Allowed(const OffloadSettings& settings, const ClientModel& client, const InferenceProfile& profile,
             const SettingsLimits& limits) {
  const auto& [interval, batch] = settings;
  return interval >= limits.min_interval && interval <= limits.max_interval && batch >= limits.min_batch &&
         batch <= std::min(limits.max_batch, profile.MaxBatch()) &&
         EngineShare(settings, client, profile) <= limits.max_share;
}

std::optional<OffloadSettings> BestSettings(const ClientModel& client, const InferenceProfile& profile,
                                            const SettingsLimits& limits) {
  std::optional<OffloadSettings> best;
  for (int batch = limits.min_batch; batch <= std::min(limits.max_batch, profile.MaxBatch()); ++batch) {
    const OffloadSettings settings{LongestInterval(client, profile, batch, limits), batch};
    if (!Allowed(settings, client, profile, limits)) continue;
    if (!best || EngineShare(settings, client, profile) < EngineShare(*best, client, profile)) best = settings;
  }
  return best;
}

}  // namespace wharf::serving
