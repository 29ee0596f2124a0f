// Local search over cuts with the exact evaluator, in one layout or in none.
#pragma once

#include <limits>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/split/bands.h"
#include "wharf/split/planners/cuts.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/planner.h"

namespace wharf::split {

// A layout made ready for scoring plans. Not thread-safe.
struct LaidOut {
  LaidOut(const RowGraph& plain, const Banding& how)
      : banding(how), layout(InBands(plain, how)), graph(WithLayout(plain, layout)), evaluator(graph) {}
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;

  const Banding banding;
  const Layout layout;
  const RowGraph graph;
  Evaluator evaluator;
};

// Cuts are always those of operators, whatever the layout: a side computes of every band what it would compute of the
// operator. So one change moves all bands at once. Not thread-safe.
class CutSearch {
 public:
  struct Candidate {
    Cuts cuts;
    double score = std::numeric_limits<double>::infinity();
  };

  // `graph` must outlive it.
  CutSearch(const RowGraph& graph, uint64_t seed);

  // What is searched for from now on; nothing has been spent on it.
  void Ask(const Link& link, const Objective& objective);
  // Scores are of plans in this layout from now on; of plans in none if null. It must outlive its use.
  void Use(LaidOut* laid_out) { laid_out_ = laid_out; }
  double Score(const Cuts& cuts);
  // In the layout.
  Plan PlanOf(const Cuts& cuts);
  // Layer partitions (with and without replication, by latency and by energy), and plans that part the rows until some
  // frontier of the model, exchanging there alone or on the way as well.
  std::vector<Candidate> Starts();
  // A part of the model of which the server computes the first rows, while the device computes the others and all that
  // is before and behind. From and to a frontier; from the model's input if `from` is kInput.
  struct Segment {
    static constexpr size_t kInput = static_cast<size_t>(-1);
    size_t from = kInput, to = 0;
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  // The most promising, at most so many. Tries all: O(frontiers^2 * operators).
  std::vector<Segment> BestSegments(size_t count);
  // `share` of the rows at the segment's end is the server's.
  Cuts Part(const Segment& segment, double share) const;
  // The first operator behind it.
  int EndOf(const Segment& segment) const { return frontiers_[segment.to].position + 1; }
  // All exchanges of one operator or of a frontier in turn, until nothing is gained or `limit` is spent.
  void Polish(Candidate& best, int64_t limit);
  // Random changes until `limit` is spent; those that cost nothing are kept too, so that plateaus are crossed.
  void Wander(Candidate& best, int64_t limit);
  const Link& AskedLink() const { return link_; }
  // Operators walked since Ask.
  int64_t Spent() const { return spent_; }
  void Spend(int64_t operators) { spent_ += operators; }
  Random& Dice() { return random_; }
  // Behind which operators few bytes are alive; in their order.
  std::vector<int> FrontierPositions() const;

 private:
  // Operators whose outputs are alive behind `position` in the operators' order.
  struct Frontier {
    int position = 0;
    double bytes = 0;
    std::vector<int> live;
  };
  void FindFrontiers();
  void FindSites();
  // Takes `cuts_` over if it is better than `best`.
  bool Keep(Candidate& best);
  void AddJoins(std::vector<Candidate>& starts);
  void AddParted(std::vector<Candidate>& starts);
  // Exchanges all the frontier's operators at so many of kShares parts of their rows.
  void SetShare(Cuts& cuts, const Frontier& frontier, int share) const;
  bool PolishSite(Candidate& best, int op);
  bool PolishFrontier(Candidate& best, const Frontier& frontier);
  void Mutate(Cuts& cuts);
  void Shift(Cuts& cuts);

  const RowGraph& graph_;
  CutDecoder decoder_;
  Evaluator evaluator_;
  LayerCutter cutter_;
  Random random_;
  std::vector<Frontier> frontiers_;
  std::vector<int> sites_;  // operators worth an exchange
  // The question at hand.
  Link link_;
  Objective objective_;
  LaidOut* laid_out_ = nullptr;
  int64_t spent_ = 0;
  Plan plan_, parted_;  // decoded; the same in the layout
  std::array<std::vector<RowRange>, 2> needed_;
  Cuts cuts_;
};

// Whether a score is an improvement, not a rounding error.
bool Better(double score, double than);

}  // namespace wharf::split
