#include "wharf/serving/emulation/emulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "wharf/serving/emulation/pilot_search.h"
#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

// Some 20 s of a server that some 8 clients of made-up videos saturate.
class EmulationTest : public testing::Test {
 protected:
  EmulationTest() {
    options_.seconds = 25;
    options_.warm_up_s = 5;
    options_.sla_from = options_.sla_to = 0.03;
    options_.curve = options_.cautious_curve = track::kPublishedCurve;  // made-up drops are in proportion to strides
  }

  EmulationResult Run(System system) {
    options_.system.system = system;
    return Emulate(tables_, profile_, options_);
  }
  // With half of the sessions behaving so.
  EmulationResult RunWith(Behaviour behaviour) {
    options_.behaviour = behaviour;
    options_.misbehaving = 0.5;
    return Run(System::kArise);
  }

  // Of honest clients that were served for 5 s or more: how many lost more than their SLAs allow.
  static int Wronged(const EmulationResult& result) {
    return static_cast<int>(
        std::count_if(result.clients.begin(), result.clients.end(), [](const ClientOutcome& client) {
          return client.honest && client.account.frames >= 300 && client.account.MeanDrop() > client.sla;
        }));
  }
  // Whether every client of at least so many frames lost no more than its SLA allows.
  static bool AllWithinSla(const EmulationResult& result, int64_t least_frames) {
    return std::all_of(result.clients.begin(), result.clients.end(), [least_frames](const ClientOutcome& client) {
      return client.account.frames < least_frames || client.account.MeanDrop() <= client.sla;
    });
  }
  static double LateShare(const EmulationResult& result) {
    const auto late = std::count_if(result.late_ms.begin(), result.late_ms.end(), [](float ms) { return ms > 1e-3F; });
    return static_cast<double>(late) / static_cast<double>(std::max<size_t>(1, result.late_ms.size()));
  }

  const std::vector<DropTable> tables_ = MadeUpTables(6);
  const InferenceProfile profile_ = ProfileOf({15, 20, 26, 31, 36, 42});
  EmulationOptions options_;
};

TEST_F(EmulationTest, IsTheSameEveryTime) {
  const EmulationResult a = Run(System::kArise), b = Run(System::kArise);
  EXPECT_EQ(a.MeanClients(), b.MeanClients());
  EXPECT_EQ(a.late_ms, b.late_ms);
  EXPECT_EQ(a.stats.requests, b.stats.requests);
  options_.seed = 2;
  EXPECT_NE(Run(System::kArise).stats.requests, a.stats.requests);
}

TEST_F(EmulationTest, AriseServesMoreThanTheReactiveSystems) {
  const double arise = Run(System::kArise).MeanClients();
  EXPECT_GT(arise, 1.5 * Run(System::kAlpha).MeanClients());
  EXPECT_GT(arise, 1.5 * Run(System::kChameleon).MeanClients());
  EXPECT_GT(arise, 1.2 * Run(System::kTolerantAlpha).MeanClients());
}

TEST_F(EmulationTest, AlphaServesNobodyThatItFindsAboveItsSla) { EXPECT_EQ(Wronged(Run(System::kAlpha)), 0); }

TEST_F(EmulationTest, AriseKeepsSlasAndBeginsBatchesOnTime) {
  const EmulationResult result = Run(System::kArise);
  EXPECT_GT(result.clients.size(), 10);
  EXPECT_EQ(Wronged(result), 0);
  EXPECT_LE(LateShare(result), 0.02);
  EXPECT_LT(result.IdleShare(), 0.25);
  EXPECT_GT(result.MeanBatch(), 1.5);
}

TEST_F(EmulationTest, DropsAreByTheMeasureAskedFor) {
  const EmulationResult by_network = Run(System::kArise);
  options_.measure = Measure::kTruth;
  const EmulationResult by_truth = Run(System::kArise);
  ASSERT_EQ(by_network.clients.size(), by_truth.clients.size());  // what clients report is the same
  double differences = 0;
  for (size_t i = 0; i < by_truth.clients.size(); ++i) {
    const Account &network = by_network.clients[i].account, &truth = by_truth.clients[i].account;
    EXPECT_NEAR(truth.drop - truth.reference, truth.true_drop, 1e-6);
    EXPECT_EQ(network.true_drop, truth.true_drop);
    differences += std::abs(network.drop - truth.drop);
  }
  EXPECT_GT(differences, 0);
}

TEST_F(EmulationTest, StaticServesAsManyAsItWasTold) {
  options_.system.fixed = {4, {6, 2}};
  const EmulationResult result = Run(System::kStatic);
  EXPECT_NEAR(result.MeanClients(), 4, 0.2);
  EXPECT_NEAR(result.MeanInterval(60), 6, 0.3);
  EXPECT_LE(result.MeanBatch(), 2);
  EXPECT_EQ(result.stats.evicted, 0);
}

TEST_F(EmulationTest, WhoSendsEveryFrameGetsNoMoreInferred) {
  const EmulationResult result = RunWith(Behaviour::kFlooding);
  EXPECT_GT(result.stats.unscheduled, result.stats.requests);
  EXPECT_EQ(Wronged(result), 0);
  EXPECT_LE(LateShare(result), 0.02);
}

TEST_F(EmulationTest, WhoVanishesLeavesThePlan) {
  const EmulationResult result = RunWith(Behaviour::kVanishing);
  EXPECT_GT(result.stats.vanished, 3);
  EXPECT_EQ(Wronged(result), 0);
  EXPECT_LE(LateShare(result), 0.02);
}

TEST_F(EmulationTest, WhoBabblesIsServedNothing) {
  const EmulationResult result = RunWith(Behaviour::kBabbling);
  EXPECT_GT(result.stats.vanished, 3);
  EXPECT_EQ(Wronged(result), 0);
}

TEST_F(EmulationTest, WhoExaggeratesTakesNothingFromTheOthersAccuracy) {
  const EmulationResult result = RunWith(Behaviour::kExaggerating);
  EXPECT_EQ(Wronged(result), 0);
  EXPECT_LE(LateShare(result), 0.02);
}

TEST_F(EmulationTest, RealTimeRunsTheSameCode) {
  options_.seconds = 1;
  options_.warm_up_s = 0.5;
  options_.system.system = System::kArise;
  const EmulationResult result = EmulateInRealTime(tables_, profile_, options_, Clock::Real());
  EXPECT_GT(result.stats.rounds, 0);
  EXPECT_GT(result.stats.admitted, 0);
}

// Takes `slowness` times the profile's times on a virtual clock, which it moves.
class VirtualEngine final : public BatchEngine {
 public:
  VirtualEngine(const InferenceProfile& profile, double slowness, VirtualClock& clock)
      : profile_(profile), slowness_(slowness), clock_(clock) {}

  void Start(std::vector<VideoFrame> batch) override {
    EXPECT_FALSE(done_) << "two batches at once";
    ++batches;
    for (const VideoFrame& frame : batch) videos.insert(std::string(frame.video));
    took_ = FromSeconds(slowness_ * profile_.Seconds(static_cast<int>(batch.size())));
    done_ = clock_.Now() + took_;
  }
  absl::StatusOr<std::optional<Nanoseconds>> Wait(TimePoint deadline) override {
    if (batches > fails_after) return Internal("tired");
    const bool done = done_ && *done_ <= std::max(deadline, clock_.Now());
    const TimePoint until = done ? *done_ : deadline;
    if (until > clock_.Now()) clock_.Advance(until - clock_.Now());
    if (!done) return std::optional<Nanoseconds>();
    done_.reset();
    return std::optional(took_);
  }

  int batches = 0, fails_after = 1 << 30;
  std::set<std::string> videos;

 private:
  const InferenceProfile& profile_;
  const double slowness_;
  VirtualClock& clock_;
  Nanoseconds took_{};
  std::optional<TimePoint> done_;
};

class EmulationOnEngineTest : public EmulationTest {
 protected:
  absl::StatusOr<EmulationResult> RunOn(double slowness, int fails_after = 1 << 30) {
    VirtualClock clock;
    engine_ = std::make_unique<VirtualEngine>(profile_, slowness, clock);
    engine_->fails_after = fails_after;
    return EmulateOnEngine(tables_, profile_, options_, clock, *engine_);
  }
  std::unique_ptr<VirtualEngine> engine_;
};

TEST_F(EmulationOnEngineTest, AnEngineAsTheProfileSaysIsTheEmulatedOne) {
  options_.inference_cv = 0;
  const EmulationResult emulated = Run(System::kArise);
  const auto computed = RunOn(1);
  ASSERT_TRUE(computed.ok()) << ToString(computed.status());
  EXPECT_EQ(computed->stats.requests, emulated.stats.requests);
  EXPECT_EQ(computed->late_ms, emulated.late_ms);
  EXPECT_DOUBLE_EQ(computed->busy_s, emulated.busy_s);
  EXPECT_GE(engine_->batches, static_cast<int>(computed->stretch.size()));
  EXPECT_GT(engine_->videos.size(), 1);
  for (const float stretch : computed->stretch) EXPECT_NEAR(stretch, 1, 1e-4);
}

TEST_F(EmulationOnEngineTest, ASlowerEngineIsSeenToBeSo) {
  const auto result = RunOn(1.3);
  ASSERT_TRUE(result.ok()) << ToString(result.status());
  ASSERT_FALSE(result->stretch.empty());
  for (const float stretch : result->stretch) EXPECT_NEAR(stretch, 1.3, 1e-4);
}

TEST_F(EmulationOnEngineTest, PlansForAnEngineAsItIs) {
  const auto as_measured = RunOn(1), slower = RunOn(1.5);
  ASSERT_TRUE(as_measured.ok() && slower.ok());
  EXPECT_LT(slower->MeanClients(), as_measured->MeanClients());
  EXPECT_LE(LateShare(*slower), 0.02);
  EXPECT_TRUE(AllWithinSla(*slower, 300));
}

TEST_F(EmulationOnEngineTest, FailsAsTheEngineDoes) {
  EXPECT_EQ(RunOn(1, 3).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(engine_->batches, 4);
}

TEST_F(EmulationTest, PilotsFindWhatKeepsEverySla) {
  PilotOptions pilot;
  pilot.seconds = 15;
  pilot.most_interval = 6;
  options_.system.system = System::kStatic;
  options_.system = Tuned(tables_, profile_, options_, pilot);
  ASSERT_GT(options_.system.fixed.clients, 0);
  options_.seconds = pilot.seconds;
  EXPECT_TRUE(AllWithinSla(Run(System::kStatic), 300));
  ++options_.system.fixed.clients;
  EXPECT_FALSE(AllWithinSla(Run(System::kStatic), 300));
  options_.system.system = System::kClipper;
  const SystemOptions clipper = Tuned(tables_, profile_, options_, pilot);
  EXPECT_GE(clipper.fixed.settings.interval, 1);
  EXPECT_LE(clipper.fixed.settings.interval, pilot.most_interval);
  // No other interval would have been better.
  options_.system = clipper;
  const double best = Run(System::kClipper).MeanClientsWithin();
  options_.system.step = 1;
  for (int interval = 1; interval <= pilot.most_interval; ++interval) {
    options_.system.fixed.settings.interval = interval;
    EXPECT_LE(Run(System::kClipper).MeanClientsWithin(), best) << interval;
  }
}

TEST_F(EmulationTest, NobodyServesMoreThanTheBound) {
  for (const System system : {System::kArise, System::kPlainArise, System::kAlpha, System::kChameleon}) {
    const EmulationResult result = Run(system);
    EXPECT_GT(result.MeanClients(), 0);
    EXPECT_LT(result.MeanClients(), result.Bound()) << SystemName(system);
  }
}

}  // namespace
}  // namespace wharf::serving
