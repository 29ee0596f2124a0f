// Our own planner for Intra-DP: no constraint on what is sent, never worse than the best layer partition, the device or
// the server alone.
#pragma once

#include <memory>
#include <vector>

#include "wharf/split/planners/cut_search.h"

namespace wharf::split {

// First a local search over cuts from several starts, without layout. Then the plans found, the server alone and the
// layer partition are tried in many bandings, and plans by which the server computes the first rows of a segment in as
// many bands as pay; the best few are polished, and bandings and cuts are changed at random together. At last the plans
// of neighbouring bandwidths are tried. docs/split.md.
class IntraDpPlanner final : public Planner {
 public:
  // `graph` must outlive it.
  IntraDpPlanner(const RowGraph& graph, const PlannerOptions& options);
  Plan MakePlan(const Link& link, const Objective& objective) override;
  // First each bandwidth on its own, then every plan is tried as a start at its neighbours, upwards and downwards.
  std::vector<Plan> Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                          const Objective& objective) override;

 private:
  struct Found {
    CutSearch::Candidate cuts;
    std::shared_ptr<LaidOut> laid_out;  // null: in no layout
  };
  // Of one sweep.
  struct Question {
    Link link;
    std::vector<double> rates;
    Objective objective;
  };
  void Ask(const Question& question, size_t rate);
  // Some of the rates, spread over all.
  static std::vector<size_t> Sampled(const Question& question);
  CutSearch::Candidate Solve(int64_t budget);
  // The server computes the first rows of a segment, in so many bands; in no layout if none.
  struct Parted {
    CutSearch::Segment segment;
    double share = 0;
    int bands = 0;
  };
  Found Make(const Parted& parted);
  // For every rate the best of some segments, shares and numbers of bands. Overwrites the question asked.
  std::vector<Found> PartSegments(const Question& question, bool in_bands);
  // Smaller and smaller changes of the share, and more bands.
  Found Refined(Parted parted, Found best);
  std::vector<Banding> Bandings() const;
  // The most promising layouts, for some of the rates.
  std::vector<std::shared_ptr<LaidOut>> ChooseLayouts(const Question& question, const std::vector<Found>& plain);
  // Of `best`, of `parted` and of the best of those layouts, what is best when improved.
  void TryLayouts(const std::vector<std::shared_ptr<LaidOut>>& layouts, const Found& parted, Found& best,
                  int64_t budget);
  // What is worth trying in any layout, besides what was found without.
  std::vector<Cuts> WholeSides(const Link& link);
  // Random changes of the layout, kept where they gain.
  void WanderLayouts(Found& best, int64_t limit);
  Banding Changed(const Banding& banding);
  void Retry(const std::vector<Found>& all, Found& best, int64_t budget);
  Plan BestPlan(const Found& found, const Link& link, const Objective& objective);

  const RowGraph& graph_;
  // False: whoever asked wants no more, from the first time on.
  bool GoesOn(double share);

  const PlannerOptions options_;
  bool stopped_ = false;
  CutSearch search_;
  LayerCutter cutter_;
  Evaluator evaluator_;
  std::vector<int> untils_;  // where bands may end, rising
};

}  // namespace wharf::split
