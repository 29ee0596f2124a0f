#include "wharf/pipeline/planner/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "wharf/pipeline/checker.h"

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr double kPrinted = 1e-5;  // published values have three digits behind the point

class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest() : profiles(*LoadModelProfiles(WHARF_PIPELINE_DATA)) { csv = Read("reference_plans.csv"); }
  static std::string Read(const std::string& name) {
    std::ifstream file(std::string(WHARF_PIPELINE_DATA "/") + name);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
  }
  // The cases of both tables.
  std::vector<ReferenceCase> AllCases() const {
    std::vector<ReferenceCase> cases = *ParseReferenceCases(csv, profiles);
    const std::vector<ReferenceCase> extra = *ParseReferenceCases(Read("reference_plans_extra.csv"), profiles);
    cases.insert(cases.end(), extra.begin(), extra.end());
    return cases;
  }
  // The table with one thing changed in every row.
  std::string Complaint(const std::string& from, const std::string& to) const {
    std::string text = csv;
    const size_t at = text.find(from, text.find('\n'));
    EXPECT_NE(at, std::string::npos);
    const auto cases = ParseReferenceCases(text.replace(at, from.size(), to), profiles);
    EXPECT_EQ(cases.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(Message(cases.status()));
  }

  std::vector<ModelProfile> profiles;
  std::string csv;
};

TEST_F(ReferenceTest, NoPlanIsWorseThanThePublishedOne) {
  const std::vector<ReferenceCase> cases = AllCases();
  ASSERT_EQ(cases.size(), 45u);
  for (const ReferenceCase& one : cases) {
    PlannerOptions options;
    options.rules = one.rules;
    const auto plan = MakePlan(one.cluster, one.demands, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->value, one.published * (1 - kPrinted)) << one.algorithm << " on " << one.cluster.name;
    EXPECT_EQ(CheckPlan(*plan, profiles), absl::OkStatus());
    EXPECT_EQ(plan->Gap(), 0) << "planned exactly";
  }
}

// The published solver had the same rules but for sharing, which did not help it in these cases: what it proved optimal
// must come out the same, not better.
TEST_F(ReferenceTest, WithoutSharingTheRulesAreThePublishedOnes) {
  const std::vector<ReferenceCase> cases = *ParseReferenceCases(csv, profiles);
  for (const ReferenceCase& one : cases) {
    if (one.algorithm == "dart-r")
      continue;  // published with the GPUs divided as without partitions; ours as well as can be
    PlannerOptions options;
    options.rules = one.rules;
    options.rules.share_gpus = false;
    EXPECT_NEAR(MakePlan(one.cluster, one.demands, options)->value, one.published, one.published * kPrinted);
  }
}

// What the published DART-r plans do otherwise: each model keeps the fast GPUs that it has uncut.
TEST_F(ReferenceTest, DartRWithTheFastGpusOfUncutPlansIsThePublishedOne) {
  const std::vector<ReferenceCase> cases = *ParseReferenceCases(csv, profiles);
  for (const ReferenceCase& one : cases) {
    if (one.algorithm != "dart-r") continue;
    PlannerOptions options;
    options.rules = one.rules;
    options.sharing = Sharing::kFastestAsUncut;
    const auto plan = MakePlan(one.cluster, one.demands, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(CheckPlan(*plan, profiles), absl::OkStatus());
    EXPECT_NEAR(plan->value, one.published, one.published * kPrinted)
        << one.cluster.name << one.demands[0].profile->model;
  }
}

TEST_F(ReferenceTest, ExpectedRatesAreThePublishedOnes) {
  const std::vector<ReferenceCase> cases = *ParseReferenceCases(csv, profiles);
  for (const ReferenceCase& one : cases) {
    std::vector<Demand> demands = one.demands;
    for (Demand& demand : demands) demand.expected_rate.reset();
    const Plan plan = *MakePlan(one.cluster, demands, {});
    for (size_t i = 0; i < demands.size(); ++i) {
      EXPECT_NEAR(plan.models[i].expected_rate, *one.demands[i].expected_rate, 1e-6) << demands[i].profile->model;
    }
  }
}

TEST_F(ReferenceTest, MistakesGetOneLine) {
  EXPECT_EQ(ParseReferenceCases("a,b\n", profiles).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Complaint("maf19,bl", "maf19,milp"), HasSubstr("the algorithm is \"milp\""));
  EXPECT_THAT(Complaint("atss_r101", "alexnet"), HasSubstr("there is no profile of alexnet"));
  EXPECT_THAT(Complaint("0.3-0.33-0.37", "0.3-0.7"), HasSubstr("2 numbers for 3 models"));
  EXPECT_THAT(Complaint("0.3-0.33-0.37", "0.3-x-0.37"), HasSubstr("\"x\" is no finite number"));
  EXPECT_THAT(Complaint("\"[1, 1]\"", "\"[1]\""), HasSubstr("\"[1]\" is no pair"));
  EXPECT_THAT(Complaint("\"[1, 1]\"", "\"[9, 1]\""), HasSubstr("9 is not a number from 1 to 4"));
  EXPECT_THAT(Complaint(",25,75,", ",0,75,"), HasSubstr("n_high is 0"));
  EXPECT_THAT(Complaint(",6,5,", ",-6,5,"), HasSubstr("link_gbit_per_s"));
  EXPECT_THAT(Complaint(",1.3,", ",1.4,"), HasSubstr("batch_build_factor"));
}

}  // namespace
}  // namespace wharf::pipeline
