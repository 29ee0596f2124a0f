// Step 1 of ARISE (thesis 3.4.4): how often a client should offload and how large batches it can stand, as if all
// clients were like it and no request ever waited.
#pragma once

#include <optional>

#include "wharf/serving/inference_profile.h"
#include "wharf/serving/types.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::serving {

// What may be chosen from. A baseline that does not adapt one of the two has its value as both bounds.
struct SettingsLimits {
  int min_interval = 1, max_interval = 30;
  int min_batch = 1, max_batch = kMaxBatch;
  // A batch begins anywhere between a client's frames, and the last one that is there in time is half a frame old on
  // average. That results are used by whole frames is left to what checks the plan. Otherwise a batch begins when its
  // frame arrives, as the thesis has it.
  bool coordinated = false;
  // Most of the engine's time that one client may ask for: what a client that exaggerates can get at most.
  double max_share = 1;
};

// Both in frames: from the camera's frame to the first one that can use its result, without waiting in between.
track::OffloadSchedule ScheduleOf(const ClientModel& client, const InferenceProfile& profile,
                                  const OffloadSettings& settings);
// A server of the client's own, batches of one, frames as fast as that takes them.
track::OffloadSchedule ReferenceOf(const ClientModel& client, const InferenceProfile& profile);

// Of the engine's time, in full batches of that size.
double EngineShare(const OffloadSettings& settings, const ClientModel& client, const InferenceProfile& profile);
// Within the limits.
bool Allowed(const OffloadSettings& settings, const ClientModel& client, const InferenceProfile& profile,
             const SettingsLimits& limits);

// The settings that let the engine serve the most such clients, (bs / lat_bs) / (fps / oi), of those whose mean drop
// from the reference is within the SLA and whose share of the engine is allowed; nullopt if none is. Exact: all batch
// sizes are tried, and of the intervals, which only raise the drop, the longest that will do. O(batch sizes).
// REQUIRES: a positive fps, 1 <= min_interval <= max_interval, 1 <= min_batch.
std::optional<OffloadSettings> BestSettings(const ClientModel& client, const InferenceProfile& profile,
                                            const SettingsLimits& limits = {});

}  // namespace wharf::serving
