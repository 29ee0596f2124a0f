#include "wharf/split/planners/planner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "wharf/split/bands.h"
#include "wharf/split/bounds/bound.h"
#include "wharf/split/plan_evaluator.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

PlannerOptions Budget(int64_t operators_walked) {
  PlannerOptions options;
  options.budget = operators_walked;
  return options;
}

std::unique_ptr<Planner> Make(std::string_view name, const RowGraph& graph, int64_t budget) {
  return *MakePlanner(name, graph, Budget(budget));
}

Profile Stored(const std::string& model) { return *Profile::Load(std::string(WHARF_PROFILES) + "/" + model + ".csv"); }

Link ArbitraryLink() {
  Link link;
  link.bytes_per_ms = *rc::gen::inRange(0, 3000);
  return link;
}

// The least score of all plans whatsoever.
double BestByExhaustion(const RowGraph& graph, const Link& link, const Objective& objective) {
  Evaluator evaluator(graph);
  Plan plan = DeviceOnlyPlan(graph);
  double best = INFINITY;
  const std::function<void(int)> choose = [&](int op) {
    if (op == graph.Output()) {
      if (Check(graph, plan).ok()) best = std::min(best, objective.Score(evaluator.Evaluate(plan, link)));
      return;
    }
    std::vector<RowRange> ranges = {{}};
    for (int lo = 0; lo < graph.Rows(op); ++lo) {
      for (int hi = lo + 1; hi <= graph.Rows(op); ++hi) ranges.push_back({lo, hi});
    }
    for (const RowRange device : ranges) {
      for (const RowRange server : ranges) {
        plan.rows[kDevice][op] = device;
        plan.rows[kServer][op] = server;
        choose(op + 1);
      }
    }
  };
  int first = 0;
  while (graph.IsInput(first)) ++first;
  choose(first);
  return best;
}

RC_GTEST_PROP(PlannerProperty, EveryPlannerMakesValidPlans, ()) {
  Profile profile = ArbitraryProfile(10, 8);
  profile.slice_cost = {{0.05, 0.02}, 1.05};
  const RowGraph graph(profile);
  const Link link = ArbitraryLink();
  const Objective objective = *rc::gen::element(Objective::Latency(), Objective::Energy(20));
  for (const PlannerKind& kind : PlannerKinds()) {
    RC_ASSERT(CheckPlan(graph, Make(kind.name, graph, 2000)->MakePlan(link, objective)).ok());
  }
}

RC_GTEST_PROP(PlannerProperty, OursIsNeverWorseThanALayerPartitionAndNeverBelowTheBound, ()) {
  Profile profile = ArbitraryProfile(10, 8);
  profile.slice_cost = {{0.05, 0.02}, 1.05};
  const RowGraph graph(profile);
  const Link link = ArbitraryLink();
  Evaluator evaluator(graph);
  const Plan plan = Make("intra-dp", graph, 3000)->MakePlan(link, {});
  RC_ASSERT(CheckPlan(graph, plan).ok());
  const double ours = PlanEvaluator(graph).Evaluate(plan, link).latency_ms;
  for (const char* other : {"device-only", "server-only", "dsccs"}) {
    const Plan theirs = Make(other, graph, 1)->MakePlan(link, {});
    RC_ASSERT(ours <= evaluator.Evaluate(theirs, link).latency_ms + 1e-4);
  }
  RC_ASSERT(LowerBound(graph).Latency(link, 10) <= ours * (1 + 1e-9));
}

TEST(Planner, OursFindsTheBestOfAllPlansOfSmallModels) {
  int cases = 0, best = 0;
  double worst = 1;
  EXPECT_TRUE(rc::check("close to exhaustive search", [&] {
    const RowGraph graph(ArbitraryProfile(3, 3));
    const Link link = ArbitraryLink();
    const Objective objective = Objective::Latency();
    const double exhaustive = BestByExhaustion(graph, link, objective);
    RC_ASSERT(LowerBound(graph).Latency(link, 10) <= exhaustive * (1 + 1e-9));
    const Plan plan = Make("intra-dp", graph, 20000)->MakePlan(link, objective);
    const double ours = objective.Score(PlanEvaluator(graph).Evaluate(plan, link));
    ++cases;
    best += ours <= exhaustive * (1 + 1e-6) + 1e-6 ? 1 : 0;
    worst = std::max(worst, exhaustive > 0 ? ours / exhaustive : 1);
  }));
  // Cuts do not write down every plan (a middle part of an operator, work on rows nobody needs): one case in a
  // thousand.
  RecordProperty("best", best);
  RecordProperty("worst", fmt::format("{}", worst));
  EXPECT_GE(best, cases * 97 / 100);
  EXPECT_LE(worst, 1.3);
}

// Two bands, wherever they part.
std::vector<Layout> AllLayoutsOfTwoBands(const RowGraph& graph) {
  std::vector<Layout> all = {Layout()};
  for (int until = 1; until < graph.Size(); ++until) {
    for (const double end : {0.2, 0.4, 0.6, 0.8}) {
      for (const Anchor anchor : {Anchor::kInput, Anchor::kFrontier}) {
        Layout layout = InBands(graph, {until, {end}, anchor});
        if (std::find(all.begin(), all.end(), layout) == all.end()) all.push_back(std::move(layout));
      }
    }
  }
  return all;
}

TEST(Planner, OursIsCloseToTheBestOfAllPlansInTwoBands) {
  int cases = 0, best = 0;
  double worst = 1;
  EXPECT_TRUE(rc::check("close to exhaustive search in bands", [&] {
    const RowGraph graph(ArbitraryProfile(2, 3));
    const Link link = ArbitraryLink();
    double exhaustive = INFINITY;
    for (const Layout& layout : AllLayoutsOfTwoBands(graph)) {
      exhaustive = std::min(exhaustive, BestByExhaustion(WithLayout(graph, layout), link, Objective::Latency()));
    }
    RC_ASSERT(LowerBound(graph).Latency(link, 10) <= exhaustive * (1 + 1e-9));
    const Plan plan = Make("intra-dp", graph, 20000)->MakePlan(link, Objective::Latency());
    const double ours = Objective::Latency().Score(PlanEvaluator(graph).Evaluate(plan, link));
    ++cases;
    best += ours <= exhaustive * (1 + 1e-6) + 1e-6 ? 1 : 0;
    worst = std::max(worst, exhaustive > 0 ? ours / exhaustive : 1);
  }));
  RecordProperty("best", best);
  RecordProperty("worst", fmt::format("{}", worst));
  EXPECT_GE(best, cases * 90 / 100);
  EXPECT_LE(worst, 1.5);
}

TEST(Planner, OursBeatsDifferentialEvolutionWithTwentyTimesTheBudget) {
  for (const char* model : {"vgg19_bn", "agrnav"}) {
    const RowGraph graph(Stored(model));
    PlanEvaluator evaluator(graph);
    Link link;
    link.bytes_per_ms = 20000;
    const double ours = evaluator.Evaluate(Make("intra-dp", graph, 200'000)->MakePlan(link, {}), link).latency_ms;
    const double evolved = evaluator.Evaluate(Make("loss-de", graph, 4'000'000)->MakePlan(link, {}), link).latency_ms;
    EXPECT_LE(ours, evolved) << model;
  }
}

// Its input takes three times as long to send as the device takes for everything.
TEST(Planner, OursPartsTheRowsOfASegmentWhereTheLinkIsTooSlowForAllOfThem) {
  const RowGraph graph(Stored("agrnav"));
  PlanEvaluator evaluator(graph);
  Link link;
  link.bytes_per_ms = 2500;
  const double alone = evaluator.Evaluate(DeviceOnlyPlan(graph), link).latency_ms;
  for (const bool bands : {false, true}) {
    PlannerOptions options = Budget(200'000);
    options.bands = bands;
    const Plan plan = (*MakePlanner("intra-dp", graph, options))->MakePlan(link, {});
    EXPECT_LE(evaluator.Evaluate(plan, link).latency_ms, (bands ? 0.92 : 0.96) * alone);
  }
}

TEST(Planner, SweepsAreValidAndFasterLinksNeverSlower) {
  const RowGraph graph(Stored("vgg19_bn"));
  PlanEvaluator evaluator(graph);
  const std::vector<double> rates = {0, 2000, 10000, 20000, 21000, 22000};
  Link link;
  const std::vector<Plan> plans = Make("intra-dp", graph, 100'000)->Sweep(link, rates, Objective::Latency());
  ASSERT_EQ(plans.size(), rates.size());
  double before = INFINITY;
  for (size_t i = 0; i < rates.size(); ++i) {
    ASSERT_TRUE(CheckPlan(graph, plans[i]).ok());
    link.bytes_per_ms = rates[i];
    const double latency = evaluator.Evaluate(plans[i], link).latency_ms;
    EXPECT_LE(latency, before + 1e-4);
    before = latency;
  }
}

TEST(Planner, EnergyIsTradedForTimeUpToTheDeadline) {
  const RowGraph graph(Stored("vgg19_bn"));
  PlanEvaluator evaluator(graph);
  Link link;
  link.bytes_per_ms = 2000;  // the server alone: 316 ms; the device alone: 168 ms
  const auto outcome = [&](const char* planner, double deadline) {
    return evaluator.Evaluate(Make(planner, graph, 200'000)->MakePlan(link, Objective::Energy(deadline)), link);
  };
  for (const char* planner : {"spso-ga", "intra-dp"}) {
    EXPECT_GT(outcome(planner, 1000).latency_ms, 300) << planner;
    EXPECT_LE(outcome(planner, 200).latency_ms, 200) << planner;
    EXPECT_LT(outcome(planner, 1000).Joules(), outcome(planner, 200).Joules()) << planner;
  }
  EXPECT_LE(outcome("intra-dp", 200).Joules(), outcome("spso-ga", 200).Joules() + 1e-9);
}

TEST(Planner, TheSameQuestionGetsTheSameAnswer) {
  const RowGraph graph(Stored("agrnav"));
  Link link;
  link.bytes_per_ms = 9000;
  for (const PlannerKind& kind : PlannerKinds()) {
    EXPECT_EQ(Make(kind.name, graph, 50'000)->MakePlan(link, {}), Make(kind.name, graph, 50'000)->MakePlan(link, {}));
  }
}

TEST(Planner, NamesTheKnownOnesWhenAskedForAnother) {
  const RowGraph graph(Stored("vgg19_bn"));
  const auto planner = MakePlanner("magic", graph, {});
  EXPECT_EQ(planner.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(Message(planner.status())).find("dsccs"), std::string::npos);
}

}  // namespace
}  // namespace wharf::split
