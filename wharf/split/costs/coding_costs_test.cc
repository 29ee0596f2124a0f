#include "wharf/split/costs/coding_costs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/simulation/encoded_plans.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

constexpr RowCodec kPlain{}, kPacked{RowCoding::kPacked, 0}, kHalf{RowCoding::kHalf, 0}, kJpeg{RowCoding::kJpeg, 90};

// 8 rows of 100 bytes, 4 of 50, the output.
Profile Small() {
  ProfileBuilder builder(8, 800);
  builder.Add({0}, kElementwise, 8, 200, 8, 1);
  return builder.End({1});
}

TEST(CodingCosts, ChangeWhatTravelsAndNothingElse) {
  const CodingCosts costs = {{RowCoding::kHalf, {{0.5, 0.5, 1}, 0.001}}, {RowCoding::kJpeg, {{0.1, 1, 1}, 0.01}}};
  const Profile coded = Encoded(Small(), {kJpeg, kHalf}, costs);
  EXPECT_EQ(coded.operators[0].op.output_bytes, 80);
  EXPECT_DOUBLE_EQ(coded.operators[0].coding_ms, 8);
  EXPECT_EQ(coded.operators[1].op.output_bytes, 100);
  EXPECT_DOUBLE_EQ(coded.operators[1].coding_ms, 0.2);
  EXPECT_EQ(coded.operators[1].full_ms, Small().operators[1].full_ms);
  EXPECT_TRUE(Validate(coded).ok());
  const Profile plain = Encoded(Small(), {}, costs);
  EXPECT_EQ(plain.operators[0].op.output_bytes, 800);
  EXPECT_EQ(plain.operators[0].coding_ms, 0);
}

TEST(CodingCosts, NamedEncodingsAreThePapersBytesAndHalves) {
  EXPECT_EQ(NamedEncodings().size(), 3u);
  const auto bytes = [](std::string_view name, int op) {
    return InNamedEncoding(Small(), name).operators[op].op.output_bytes;
  };
  EXPECT_EQ(bytes("f32", 0), 800);
  EXPECT_EQ(bytes("u8", 0), 200);
  EXPECT_EQ(bytes("f16", 0), 200);
  EXPECT_EQ(bytes("u8", 1), 200);
  EXPECT_EQ(bytes("f16", 1), 100);
}

TEST(CodingCosts, HoldUpTheLinkNotTheProcessors) {
  const CodingCosts costs = {{RowCoding::kPacked, {{0.5, 0.5, 1}, 0.001}}};
  const RowGraph graph(Encoded(Small(), {kPacked, kPacked}, costs));
  Link link;
  link.bytes_per_ms = 100;
  link.round_trip_ms = 0;
  link.message_overhead_ms = 0;
  const Outcome outcome = Evaluator(graph).Evaluate(ServerOnlyPlan(graph), link);
  // 0.8 ms of coding and 4 ms for 400 bytes, 1 ms of computing, 0.2 ms and 1 ms for 100 bytes.
  EXPECT_DOUBLE_EQ(outcome.latency_ms, 0.8 + 4 + 1 + 0.2 + 1);
  EXPECT_DOUBLE_EQ(outcome.busy_ms[kDevice], 0);
  EXPECT_DOUBLE_EQ(outcome.up_bytes, 400);
}

CodingCost ArbitraryCost(int operators) {
  CodingCost cost;
  for (int op = 0; op < operators; ++op) cost.size.push_back(*rc::gen::inRange(1, 11) / 10.0);
  cost.ms_per_byte = *rc::gen::inRange(0, 50) / 1e4;
  return cost;
}

// Whatever the rate and whatever encoding costs, the plan chosen is no slower than the device alone and than the server
// alone with its input in any encoding that is allowed.
RC_GTEST_PROP(EncodedPlans, AreNeverWorseThanEitherAloneInAnyEncoding, ()) {
  Profile profile = ArbitraryProfile(6, 6);
  profile.slice_cost = {{0.05, 0.02}, 1.05};
  PlanningOptions options;
  options.planner_options.budget = 300;
  options.encodings = {{kPlain, kPlain}, {kPacked, kPacked}, {kHalf, kHalf}, {kJpeg, kPacked}};
  for (const RowCodec codec : {kPacked, kHalf, kJpeg}) options.costs[codec.coding] = ArbitraryCost(profile.Size());
  const auto plans = *EncodedPlans::Make(profile, options);
  for (int i = 0; i < 5; ++i) {
    Link link;
    link.bytes_per_ms = *rc::gen::inRange(0, 100) * 50;  // what rates are rounded to
    const double ours = plans->Evaluate(plans->Choose(link.bytes_per_ms, 0), link).latency_ms;
    for (const Encoding& encoding : options.encodings) {
      const RowGraph graph(Encoded(profile, encoding, options.costs));
      Evaluator evaluator(graph);
      for (const Plan& other : {DeviceOnlyPlan(graph), ServerOnlyPlan(graph)}) {
        RC_ASSERT(ours <= evaluator.Evaluate(other, link).latency_ms + 1e-4);
      }
    }
  }
}

TEST(EncodedPlans, LearnHowFastTheDeviceIsNow) {
  PlanningOptions options;
  options.planner = "dsccs";
  const auto plans = *EncodedPlans::Make(Small(), options);
  const auto alone = static_cast<uint32_t>(plans->Plans().size() - 1);
  Link link;
  const double profiled = plans->Evaluate(alone, link).latency_ms;
  plans->LearnDevice(3);
  EXPECT_NEAR(plans->DeviceSlowness(), 1.5, 1e-9) << "one inference counts for a quarter";
  for (int i = 0; i < 50; ++i) plans->LearnDevice(3);
  EXPECT_NEAR(plans->DeviceSlowness(), 3, 0.2);
  EXPECT_NEAR(plans->Evaluate(alone, link).latency_ms, plans->DeviceSlowness() * profiled, 1e-9);
  const std::vector<int> all = {8, 8, 1};
  EXPECT_NEAR(plans->ProfiledMs(all), profiled, 1e-9) << "whatever was learnt";
  for (int i = 0; i < 50; ++i) plans->LearnDevice(1e9);
  EXPECT_NEAR(plans->DeviceSlowness(), 16, 1);
  for (int i = 0; i < 50; ++i) plans->LearnDevice(0);
  EXPECT_NEAR(plans->DeviceSlowness(), 0.5, 0.05);
}

TEST(EncodedPlans, LearnWhatRowsReallyBecome) {
  PlanningOptions options;
  options.planner = "server-only";
  options.encodings = {{kPlain, kPlain}, {kPacked, kPacked}};
  options.costs[RowCoding::kPacked] = {{0.1, 0.1, 1}, 1e-4};
  const auto plans = *EncodedPlans::Make(Small(), options);
  ASSERT_EQ(plans->Plans().size(), 3u);  // the server by either, the device
  const auto encoding = [&] { return plans->Plans()[plans->Choose(1000, 0)].encoding; };
  EXPECT_EQ(encoding(), options.encodings[1]);
  plans->Learn(1, {{0, 0.1}, {1, 0.1}});
  EXPECT_EQ(encoding(), options.encodings[1]);
  for (int i = 0; i < 20; ++i) plans->Learn(1, {{0, 1.0}, {1, 1.0}});
  EXPECT_EQ(encoding(), options.encodings[0]);
  Link link;
  link.bytes_per_ms = 1000;
  EXPECT_NEAR(plans->Evaluate(1, link).up_bytes, 800, 10);
  plans->Learn(0, {{0, 0.1}, {1, 0.1}});  // what travels plain says nothing of packing
  EXPECT_EQ(encoding(), options.encodings[0]);
}

TEST(PlanTable, TakesNewSizesOver) {
  const std::vector<Encoding> encodings = {{kPlain, kPlain}, {kPacked, kPacked}};
  CodingCosts costs = {{RowCoding::kPacked, {{0.1, 0.1, 1}, 0}}};
  const RowGraph plain(Encoded(Small(), encodings[0], costs)), packed(Encoded(Small(), encodings[1], costs));
  const auto planner = *MakePlanner("server-only", plain, {});
  PlanTable table(plain, *planner, Link(), Objective::Latency(), encodings[0]);
  table.Add(packed, *planner, encodings[1]);
  EXPECT_EQ(table.Choose(1000, 0).encoding, encodings[1]);
  costs[RowCoding::kPacked].ms_per_byte = 1;
  const RowGraph dear(Encoded(Small(), encodings[1], costs));
  table.Update(dear, encodings[1]);
  EXPECT_EQ(table.Plans().size(), 2u);
  EXPECT_EQ(table.Choose(1000, 0).encoding, encodings[0]);
}

}  // namespace
}  // namespace wharf::split
