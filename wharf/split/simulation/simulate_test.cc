#include "wharf/split/simulation/simulate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

// 100 bytes; the device takes 100 ms, the server 10.
Profile Slow() {
  ProfileBuilder builder(10, 100);
  builder.Add({0}, kGlobalRule, 1, 0, 100, 10);
  return builder.End({1});
}

Link PlainLink() {
  Link link;
  link.round_trip_ms = 2;
  link.message_overhead_ms = 0;
  return link;
}

class SimulateTest : public testing::Test {
 protected:
  SimulatedRow Run(const char* system, const Scenario& scenario, KnownRates known = KnownRates::kPast) {
    const auto planner = *MakePlanner(system, graph_, {});
    PlanTable table(graph_, *planner, PlainLink(), Objective::Latency());
    return Simulation(graph_, PlainLink()).Run(table, scenario, known);
  }
  const RowGraph graph_{Slow()};
};

TEST_F(SimulateTest, AFixedRateIsOneInference) {
  const SimulatedRow row = Run("dsccs", {"fixed", 1000, {}});
  EXPECT_EQ(row.inferences, 1);
  EXPECT_NEAR(row.latency_ms_mean, 0.1 + 1 + 10 + 1, 1e-9);
  EXPECT_EQ(row.latency_ms_p99, row.latency_ms_mean);
  EXPECT_EQ(row.latency_ms_std, 0);
  EXPECT_LE(row.lower_bound_ms, row.latency_ms_mean);
  EXPECT_NEAR(row.energy_j, (4.04 * row.latency_ms_mean + 0.21 * 0.1) / 1e3, 1e-9);
  EXPECT_EQ(row.lost_inferences, 0);
  EXPECT_EQ(Run("server-only", {"fixed", 0, {}}).lost_inferences, 1);
}

TEST_F(SimulateTest, TakesThePlanOfTheRatesSeenLast) {
  // 1 s of a fast link, 1 s of one on which the server is not worth asking (the input takes 10 s).
  RateTrace trace{100, std::vector<double>(20, 0.01)};
  std::fill(trace.bytes_per_ms.begin(), trace.bytes_per_ms.begin() + 10, 1000.0);
  const SimulatedRow device = Run("device-only", {"trace", 0, {trace}});
  EXPECT_EQ(device.inferences, 20);
  EXPECT_DOUBLE_EQ(device.latency_ms_mean, 100);
  const SimulatedRow dsccs = Run("dsccs", {"trace", 0, {trace}});
  // The first three bins do not show the fast link in full yet, but enough of it. When the rate falls, one inference is
  // caught with its input on the way: it ends when the trace, repeating, is fast again.
  EXPECT_GT(dsccs.latency_ms_p99, 900);
  EXPECT_LT(dsccs.latency_ms_mean, 100);
  EXPECT_LE(dsccs.lower_bound_ms, dsccs.latency_ms_mean);
}

TEST_F(SimulateTest, WhoKnowsTheRatesIsNotCaughtByThem) {
  RateTrace trace{100, std::vector<double>(20, 0.01)};
  std::fill(trace.bytes_per_ms.begin(), trace.bytes_per_ms.begin() + 10, 1000.0);
  const Scenario scenario{"trace", 0, {trace}};
  const SimulatedRow known = Run("dsccs", scenario, KnownRates::kFuture);
  // 82 inferences of 12.1 ms by the server; from 992.2 ms on the input would have come before the rate falls, too.
  EXPECT_LE(known.latency_ms_p99, 100);
  EXPECT_LT(known.latency_ms_mean, Run("dsccs", scenario).latency_ms_mean);
  EXPECT_LE(known.lower_bound_ms, known.latency_ms_mean);
  // Where there is one plan, there is nothing to know.
  EXPECT_EQ(Run("device-only", scenario, KnownRates::kFuture).latency_ms_mean, 100);
  // A fixed rate is known anyway.
  const Scenario fixed{"fixed", 1000, {}};
  EXPECT_EQ(Run("dsccs", fixed, KnownRates::kFuture).latency_ms_mean, Run("dsccs", fixed).latency_ms_mean);
}

TEST_F(SimulateTest, ABoundDoesNotDependOnWhatWasRunBefore) {
  const RateTrace slow{100, {40, 20}}, fast{100, {9000, 7000}};
  const auto planner = *MakePlanner("dsccs", graph_, {});
  PlanTable table(graph_, *planner, PlainLink(), Objective::Latency());
  Simulation simulation(graph_, PlainLink());
  for (const Scenario& scenario : {Scenario{"fast", 0, {fast}}, Scenario{"slow", 0, {slow}}, Scenario{"fixed", 500, {}},
                                   Scenario{"slower", 50, {}}, Scenario{"fast", 0, {fast}}}) {
    const double bound = simulation.Run(table, scenario).lower_bound_ms;
    EXPECT_GT(bound, 0) << scenario.name;
    EXPECT_EQ(bound, Run("dsccs", scenario).lower_bound_ms) << scenario.name;
  }
}

TEST(RowOf, EnergyIsPowerTimesTimeAndBothHaveTheirSpread) {
  // 100 ms of computing; 300 ms of which the link is busy for 200.
  const std::vector<Outcome> inferences = {{.latency_ms = 100, .busy_ms = {100, 0}},
                                           {.latency_ms = 300, .busy_ms = {0, 50}, .link_ms = 200}};
  const SimulatedRow row = RowOf(inferences);
  const double computing = 13.35 * 0.1, waiting = 4.04 * 0.3 + 0.21 * 0.2;
  EXPECT_EQ(row.inferences, 2);
  EXPECT_DOUBLE_EQ(row.latency_ms_mean, 200);
  EXPECT_DOUBLE_EQ(row.latency_ms_std, 100);
  EXPECT_DOUBLE_EQ(row.device_ms_mean, 50);
  EXPECT_DOUBLE_EQ(row.server_ms_mean, 25);
  EXPECT_DOUBLE_EQ(row.link_ms_mean, 100);
  EXPECT_DOUBLE_EQ(row.link_ms_std, 100);
  EXPECT_DOUBLE_EQ(row.transmission_share, 0.5);
  EXPECT_NEAR(row.energy_j, (computing + waiting) / 2, 1e-12);
  EXPECT_NEAR(row.energy_j_std, std::abs(computing - waiting) / 2, 1e-12);
  EXPECT_NEAR(row.power_w, (computing + waiting) / 0.4, 1e-12);
  // A quarter of the time at one power, three quarters at the other.
  EXPECT_NEAR(row.power_w_std, std::sqrt(0.25 * 0.75) * (13.35 - waiting / 0.3), 1e-9);
}

TEST(RowOf, CountsWhatIsLost) {
  const std::vector<Outcome> inferences = {{.latency_ms = 100}, {.latency_ms = INFINITY}};
  EXPECT_EQ(RowOf(inferences).lost_inferences, 1);
}

TEST_F(SimulateTest, TracesFollowEachOther) {
  const RateTrace trace{100, {0.01, 0.01}};
  EXPECT_EQ(Run("device-only", {"both", 0, {trace, trace}}).inferences, 4);
}

TEST_F(SimulateTest, PlansAreChosenForRatesBetweenThePlannedOnes) {
  const auto planner = *MakePlanner("dsccs", graph_, {});
  PlanTable table(graph_, *planner, PlainLink(), Objective::Latency());
  EXPECT_EQ(table.Plans().size(), 2u);  // the device, the server
  Evaluator evaluator(graph_);
  Link link = PlainLink();
  for (const double rate : {0.0, 40.0, 60.0, 1500.0, 80000.0}) {
    link.bytes_per_ms = rate;
    const double chosen = evaluator.Evaluate(table.Choose(rate, 0), link).latency_ms;
    for (const Plan& plan : table.Plans()) EXPECT_LE(chosen, evaluator.Evaluate(plan, link).latency_ms + 0.2);
  }
}

}  // namespace
}  // namespace wharf::split
