#include "wharf/split/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "wharf/split/costs/coding_costs.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

using absl::StatusCode;
using nlohmann::json;
using testing::HasSubstr;

// Input of 8 rows, a convolution, an activation, the result.
Profile SmallModel() {
  ProfileBuilder builder(8, 8000);
  builder.Add({0}, kConv3, 8, 8000, 8, 1);
  builder.Add({1}, kElementwise, 8, 8000, 1, 1);
  return builder.End({2});
}

StoredPlan Stored() {
  StoredPlan stored;
  stored.model = "small";
  stored.model_hash = std::string(64, 'a');
  stored.operators = PlannedOperatorsOf(SmallModel());
  stored.source = {"small.csv", "small.onnx", "device.json", "server.json", "x=1,3,8,8", 25};
  stored.planner = "intra-dp";
  stored.slice_cost = {{0.5, 0.25}, 1.5};
  stored.encoding = "u8";
  stored.link.bytes_per_ms = 1000;
  stored.link.round_trip_ms = 7;
  stored.link.message_overhead_ms = 0.125;
  stored.objective = Objective::Energy(500);
  stored.lower_bound_ms = 3.5;
  stored.plan.rows[kDevice] = {{0, 8}, {0, 5}, {0, 5}, {0, 1}};
  stored.plan.rows[kServer] = {{}, {5, 8}, {5, 8}, {}};
  return stored;
}

void ExpectSame(const StoredPlan& read, const StoredPlan& written) {
  EXPECT_EQ(read.model, written.model);
  EXPECT_EQ(read.model_hash, written.model_hash);
  EXPECT_EQ(read.operators, written.operators);
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.planner, written.planner);
  EXPECT_EQ(read.slice_cost.fixed_ms, written.slice_cost.fixed_ms);
  EXPECT_EQ(read.slice_cost.inflation, written.slice_cost.inflation);
  EXPECT_EQ(read.encoding, written.encoding);
  EXPECT_DOUBLE_EQ(read.link.bytes_per_ms, written.link.bytes_per_ms);  // written a second
  EXPECT_EQ(read.link.round_trip_ms, written.link.round_trip_ms);
  EXPECT_EQ(read.link.message_overhead_ms, written.link.message_overhead_ms);
  EXPECT_EQ(read.objective.energy, written.objective.energy);
  EXPECT_EQ(read.objective.deadline_ms, written.objective.deadline_ms);
  EXPECT_EQ(read.lower_bound_ms, written.lower_bound_ms);
  EXPECT_EQ(read.plan, written.plan);
}

TEST(PlanJson, ComesBack) {
  StoredPlan plain = Stored();
  plain.source = {};
  plain.model_hash = "";
  plain.objective = Objective::Latency();
  const auto plans = ParsePlans(PlansAsJson({Stored(), plain}));
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 2u);
  ExpectSame((*plans)[0], Stored());
  ExpectSame((*plans)[1], plain);
}

RC_GTEST_PROP(PlanJson, AnyPlanComesBackAndFitsItsModel, ()) {
  const Profile profile = ArbitraryProfile(12, 12);
  const RowGraph graph(profile);
  StoredPlan stored;
  stored.model = profile.model;
  stored.planner = *rc::gen::container<std::string>(rc::gen::inRange(' ', '~'));
  stored.operators = PlannedOperatorsOf(profile);
  stored.encoding = *rc::gen::elementOf(NamedEncodings());
  stored.link.bytes_per_ms = *rc::gen::inRange(0, 1 << 20) / 7.0;
  stored.link.round_trip_ms = *rc::gen::inRange(0, 1 << 20) / 7.0;
  if (*rc::gen::arbitrary<bool>()) stored.objective = Objective::Energy(*rc::gen::inRange(1, 1 << 20) / 7.0);
  stored.plan = ArbitraryLaidOutPlan(graph);
  const auto plans = ParsePlans(PlansAsJson({stored}));
  RC_ASSERT(plans.ok());
  ExpectSame(plans->front(), stored);
  RC_ASSERT(!testing::Test::HasFailure());
  RC_ASSERT(CheckFits(plans->front(), PlannedOperatorsOf(profile), "").ok());
  RC_ASSERT(CheckPlan(graph, plans->front().plan).ok());
}

// The code for the plan with `name` replaced.
StatusCode CodeWith(const char* name, json value) {
  json plans = json::parse(PlansAsJson({Stored()}));
  plans[0][name] = std::move(value);
  return ParsePlans(plans.dump()).status().code();
}

TEST(PlanJson, RefusesWhatItDoesNotWrite) {
  for (const char* wrong : {"", "{}", "[]", "[1]", "[{}]", "[{\"format\":\"other\"}]", "[{\"format\":7}]"}) {
    EXPECT_EQ(ParsePlans(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  const json written = json::parse(PlansAsJson({Stored()}))[0];
  EXPECT_EQ(CodeWith("planner", "dsccs"), StatusCode::kOk);
  for (const auto& [name, value] : written.items()) {
    EXPECT_EQ(CodeWith(name.c_str(), json::object()), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(CodeWith(name.c_str(), -1), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(CodeWith(name.c_str(), "\n"), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(CodeWith("another", 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("encoding", "f64"), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("model_sha256", "abc"), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("objective", "beauty"), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("round_trip_ms", 1e300), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("slice_fixed_ms", {1, 2, 3}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("split_attention", 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("operators", {{"conv", 0}}), StatusCode::kInvalidArgument);
}

TEST(PlanJson, RefusesRowsThatAreNone) {
  for (const json& rows : {json({{1}}), json({{1, 2, 3}}), json({{3, 1}}), json({{4, 4}}), json({{-1, 1}}),
                           json({{0, 1 << 21}}), json({{0, 1.5}}), json({{0, uint64_t{1} << 63}}), json({{0, "1"}})}) {
    EXPECT_EQ(CodeWith("device", rows), StatusCode::kInvalidArgument) << rows;
  }
  const auto with_layout = [](const char* layout) { return CodeWith("layout", json::parse(layout)); };
  EXPECT_EQ(with_layout(R"({"gathered": true, "bands": [[0, 0, 8], [3, 0, 1]]})"), StatusCode::kOk);
  for (const char* layout :
       {R"({"gathered": 1, "bands": []})", R"({"gathered": true})", R"({"gathered": true, "bands": [[0, 8]]})",
        R"({"gathered": true, "bands": [[-1, 0, 8]]})", R"({"gathered": true, "bands": [[0, 0, 8]], "more": 1})"}) {
    EXPECT_EQ(with_layout(layout), StatusCode::kInvalidArgument) << layout;
  }
}

TEST(PlanJson, RefusesWhatIsTooLargeOrTooDeep) {
  EXPECT_EQ(ParsePlans(std::string(1 << 20, '[')).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsePlans(std::string((16 << 20) + 1, ' ')).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeWith("model", std::string(5000, 'a')), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsePlans(PlansAsJson(std::vector<StoredPlan>(1001, Stored()))).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(PlanJson, FitsOneModelOnly) {
  const StoredPlan stored = Stored();
  std::vector<PlannedOperator> operators = stored.operators;
  EXPECT_TRUE(CheckFits(stored, operators, stored.model_hash).ok());
  EXPECT_TRUE(CheckFits(stored, operators, "").ok());
  const absl::Status version = CheckFits(stored, operators, std::string(64, 'b'));
  EXPECT_EQ(version.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(version), HasSubstr("aaaaaaaaaaaa, not bbbbbbbbbbbb"));
  operators[1].rows = 9;
  const absl::Status rows = CheckFits(stored, operators, "");
  EXPECT_EQ(rows.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(rows), HasSubstr("its operator 1 is op1 with 8 rows, not op1 with 9"));
  operators.pop_back();
  EXPECT_EQ(CheckFits(stored, operators, "").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::split
