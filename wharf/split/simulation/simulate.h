// The papers' comparison without machines: systems over fixed bandwidths and over recorded ones, driven by a profile.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/split/bounds/bound.h"
#include "wharf/split/plan_evaluator.h"
#include "wharf/split/planners/planner.h"

namespace wharf::split {

// Plans for 0 to 50 MB/s in steps of 1 MB/s, as the papers precompute them.
std::vector<double> PlanningRates();  // bytes/ms

// How much not to trust a measured rate: the longer inferences take, the less the last rates say about the next one.
double Doubt(double latency_ms);

// The plans of one system, and which of them to use now. Not thread-safe.
class PlanTable {
 public:
  // Of plans by which rows travel in `encoding`; `graph`, which must outlive it, has the operators' bytes and coding
  // times in it. One sweep of `planner`.
  PlanTable(const RowGraph& graph, Planner& planner, const Link& link, const Objective& objective,
            const Encoding& encoding = {});
  // Of plans that there are. REQUIRES: at least one; CheckPlan(graph, plan).ok() for each.
  PlanTable(const RowGraph& graph, std::vector<Plan> plans, const Link& link, const Objective& objective,
            const Encoding& encoding = {});
  // What another planner makes may be used too, of the same model in this or another encoding.
  void Add(const RowGraph& graph, Planner& planner, const Encoding& encoding = {});
  // The same of other plans.
  void Add(const RowGraph& graph, std::vector<Plan> plans, const Encoding& encoding = {});
  // From now on `graph` is what the operators are in that encoding; its plans stay.
  void Update(const RowGraph& graph, const Encoding& encoding);
  // The best of the plans at this rate, on the mean of its scores there and at `doubt` (a share) less and more: a plan
  // that is best by a hair and bad when the rate falls is not chosen. Rates are rounded to 1/20 MB/s, doubts to 5 %,
  // and remembered.
  const Plan& Choose(double bytes_per_ms, double doubt);
  // The best of the plans on rates that are known: those of the link's trace from its start on. Evaluates all.
  const Plan& ChooseKnowing(const Link& link);
  const std::vector<Plan>& Plans() const { return plans_; }
  // Evaluates plans of this encoding. REQUIRES: there are some.
  PlanEvaluator& EvaluatorOf(const Encoding& encoding);

 private:
  struct Encoded {
    Encoding encoding;
    PlanEvaluator evaluator;
  };
  double Score(const Plan& plan, double bytes_per_ms);

  std::list<Encoded> encoded_;  // each once
  Link link_;
  Objective objective_;
  std::vector<Plan> plans_;  // without duplicates
  std::map<std::pair<int, int>, size_t> chosen_;
};

struct Scenario {
  std::string name;
  double bytes_per_ms = 0;        // if there are no traces
  std::vector<RateTrace> traces;  // one after the other
};

// What is known of a trace's rates when a plan is chosen.
enum class KnownRates {
  kPast,   // those of the last 0.3 s
  kFuture  // those that will come
};

struct SimulatedRow {
  std::string model, scenario, system, encoding;
  int inferences = 0;
  int lost_inferences = 0;  // of them, those that never gave a result
  double latency_ms_mean = 0, latency_ms_std = 0, latency_ms_p95 = 0, latency_ms_p99 = 0;
  double device_ms_mean = 0, server_ms_mean = 0;  // computing
  double link_ms_mean = 0, link_ms_std = 0;       // something is on its way out
  double transmission_share = 0;                  // of all the time, that is so
  double energy_j = 0, energy_j_std = 0;          // of the device, an inference; modelled
  double power_w = 0, power_w_std = 0;            // of the device, over all the time; modelled
  double lower_bound_ms = 0;                      // mean over the inferences: no plan could have been faster
};

// Statistics of inferences that follow each other, without names and bound. REQUIRES: at least one.
SimulatedRow RowOf(std::span<const Outcome> inferences);

// One model on one kind of link. Inferences follow each other without a pause from the beginning of each trace to its
// end. Before each, the plan is chosen by the mean rate of the trace's last 0.3 s (it repeats, so the first knows its
// end), with a doubt that grows with the last inference's length from 20 to 50 %; then it is evaluated on the rates
// that really come. With KnownRates::kFuture it is the one that these make best. A fixed rate is known. Not
// thread-safe.
class Simulation {
 public:
  // `graph` must outlive it. `link`: round trip and overhead.
  Simulation(const RowGraph& graph, const Link& link)
      : graph_(graph), link_(link), evaluator_(graph), sweep_bound_(graph) {}
  // The statistics and the bound; not the names. The same whatever was run before.
  SimulatedRow Run(PlanTable& plans, const Scenario& scenario, KnownRates known = KnownRates::kPast);

 private:
  struct Tally;
  void RunTrace(PlanTable& plans, const RateTrace& trace, KnownRates known, Tally& tally);
  Link LinkOf(double bytes_per_ms) const;
  // Both remember what they found. Traces have many rates, so theirs is the quick bound. What it finds depends on the
  // rates it was asked about before: it is asked about 1, 2, 3, … MB/s, so that a row's does not depend on other rows.
  double FixedBound(double bytes_per_ms);
  double TraceBound(int megabytes);

  const RowGraph& graph_;
  const Link link_;
  PlanEvaluator evaluator_;
  LowerBound sweep_bound_;
  std::vector<double> trace_bounds_;  // by MB/s
  std::map<double, double> fixed_bounds_;
};

}  // namespace wharf::split
