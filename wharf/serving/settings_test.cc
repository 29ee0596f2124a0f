#include "wharf/serving/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

// The mean over the strides one by one, as the thesis writes it.
double DropBySum(const ClientModel& client, const InferenceProfile& profile, const OffloadSettings& settings) {
  const auto mean = [&](const track::OffloadSchedule& schedule) {
    double sum = 0;
    for (int s = schedule.latency; s < schedule.latency + schedule.interval; ++s) sum += client.drop_rate * s;
    return sum / schedule.interval;
  };
  return mean(ScheduleOf(client, profile, settings)) - mean(ReferenceOf(client, profile));
}

// The mean over batches that begin at any time: a wait from none to a frame.
double DropByPhase(const ClientModel& client, const InferenceProfile& profile, const OffloadSettings& settings) {
  constexpr int kPhases = 1000;
  const double frames = (client.network_s + profile.Seconds(settings.batch)) * client.fps;
  double latency = 0;
  for (int i = 0; i < kPhases; ++i) latency += (frames + (i + 0.5) / kPhases) / kPhases;
  const double stride = latency + (settings.interval - 1) / 2.0;
  return client.drop_rate * (stride - track::MeanStride(ReferenceOf(client, profile)));
}

double Clients(const ClientModel& client, const InferenceProfile& profile, const OffloadSettings& settings) {
  return profile.Throughput(settings.batch) * settings.interval / client.fps;
}

TEST(SettingsTest, TradesIntervalForBatch) {
  // 60 ms of network and 8 ms: 5 frames; a batch of 2 takes 6 frames, of 3 takes 7.
  const ClientModel client{60, 0.02, 0.005, 0.060};
  const InferenceProfile profile = ProfileOf({8, 25, 50});
  EXPECT_EQ(ReferenceOf(client, profile).interval, 1);
  EXPECT_EQ(ReferenceOf(client, profile).latency, 5);
  // 4 frames more than the reference's stride: 9 frames at batch 1 (9 * 125/s), 7 at batch 2 (7 * 80/s), 5 at batch 3.
  EXPECT_EQ(BestSettings(client, profile), (OffloadSettings{9, 1}));
  EXPECT_EQ(BestSettings(client, ProfileOf({8, 10, 50})), (OffloadSettings{9, 2}));
}

TEST(SettingsTest, FindsNoneForWhatCannotBeMet) {
  // The smallest batch there is takes more frames than the reference, and each costs more than the SLA.
  SettingsLimits limits;
  limits.min_batch = 2;
  EXPECT_EQ(BestSettings({60, 0.001, 0.01, 0.060}, ProfileOf({8, 50}), limits), std::nullopt);
}

TEST(SettingsTest, KeepsToAShareOfTheEngine) {
  const ClientModel client{60, 0, 0.1, 0.010};  // every frame, alone: 60/s of 125/s
  SettingsLimits limits;
  EXPECT_EQ(BestSettings(client, ProfileOf({8}), limits), (OffloadSettings{1, 1}));
  limits.max_share = 0.4;
  EXPECT_EQ(BestSettings(client, ProfileOf({8}), limits), std::nullopt);
}

RC_GTEST_PROP(SettingsTest, CoordinatedOnesAreAsLongAsPhasesAllow, ()) {
  const InferenceProfile profile = ProfileOf({*rc::gen::inRange(2, 40) * 1.0});
  const ClientModel client{60, *rc::gen::inRange(1, 80) * 1e-3, *rc::gen::inRange(1, 200) * 1e-4,
                           *rc::gen::inRange(1, 100) * 1e-3};
  const SettingsLimits limits{.max_interval = 1000, .coordinated = true, .max_share = 1e9};
  const auto best = BestSettings(client, profile, limits);
  const double hair = 1e-3 * client.drop_rate;  // the sum's steps
  if (!best) {
    RC_ASSERT(DropByPhase(client, profile, {1, 1}) >= client.sla - hair);
    return;
  }
  RC_ASSERT(DropByPhase(client, profile, *best) <= client.sla + hair);
  if (best->interval == limits.max_interval) return;
  RC_ASSERT(DropByPhase(client, profile, {best->interval + 1, 1}) >= client.sla - hair);
}

RC_GTEST_PROP(SettingsTest, AreTheBestOfAll, ()) {
  std::vector<double> batch_ms;
  double ms = *rc::gen::inRange(2, 40);
  for (int b = *rc::gen::inRange(1, 8); b > 0; --b) batch_ms.push_back(ms += *rc::gen::inRange(0, 20));
  const InferenceProfile profile = ProfileOf(batch_ms);
  const ClientModel client{static_cast<double>(*rc::gen::element(30, 60, 90)), *rc::gen::inRange(0, 80) * 1e-3,
                           *rc::gen::inRange(0, 200) * 1e-4, *rc::gen::inRange(1, 100) * 1e-3};
  SettingsLimits limits;
  limits.max_interval = *rc::gen::inRange(1, 40);
  limits.min_interval = *rc::gen::inRange(1, limits.max_interval + 1);
  limits.min_batch = *rc::gen::inRange(1, 4);
  limits.max_batch = *rc::gen::inRange(limits.min_batch, 9);
  limits.max_share = *rc::gen::element(0.1, 0.5, 1.0, 10.0);
  double most = 0;
  for (int batch = limits.min_batch; batch <= std::min(limits.max_batch, profile.MaxBatch()); ++batch) {
    for (int interval = limits.min_interval; interval <= limits.max_interval; ++interval) {
      const OffloadSettings settings{interval, batch};
      const double clients = Clients(client, profile, settings);
      if (DropBySum(client, profile, settings) > client.sla + 1e-9 || clients * limits.max_share < 1) continue;
      most = std::max(most, clients);
    }
  }
  const auto best = BestSettings(client, profile, limits);
  RC_ASSERT(best.has_value() == (most > 0));
  if (!best) return;
  RC_ASSERT(Clients(client, profile, *best) == most);
  RC_ASSERT(DropBySum(client, profile, *best) <= client.sla + 1e-9);
  RC_ASSERT(best->interval >= limits.min_interval && best->interval <= limits.max_interval);
  RC_ASSERT(best->batch >= limits.min_batch && best->batch <= limits.max_batch);
}

}  // namespace
}  // namespace wharf::serving
