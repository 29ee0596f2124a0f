#include "wharf/split/search.h"

#include <algorithm>
#include <cmath>

namespace wharf::split {
namespace {

constexpr size_t kMaxFrontiers = 40;
constexpr int kShares = 8;      // starts part the rows in this many steps
constexpr size_t kStarts = 3;   // of which this many are improved
constexpr double kGain = 1e-9;  // less is no improvement

bool Better(double score, double than) {
  return score < than * (1 - kGain) || (std::isinf(than) && std::isfinite(score));
}

}  // namespace

IntraDpPlanner::IntraDpPlanner(const RowGraph& graph, const PlannerOptions& options)
    : graph_(graph),
      options_(options),
      decoder_(graph),
      evaluator_(graph),
      cutter_(graph),
      random_(options.seed),
      plan_(graph.Size()) {
  FindFrontiers();
  FindSites();
}

// Those with the fewest bytes in their neighbourhood, at most kMaxFrontiers.
void IntraDpPlanner::FindFrontiers() {
  std::vector<int> last_user(graph_.Size(), -1);
  for (int op = 0; op < graph_.Size(); ++op) {
    for (const auto& edge : graph_.Inputs(op)) last_user[edge.from] = op;
  }
  std::vector<Frontier> all;
  std::vector<int> live;
  for (int op = 0; op + 1 < graph_.Size(); ++op) {
    live.push_back(op);
    std::erase_if(live, [&](int one) { return last_user[one] <= op; });
    Frontier frontier{op, 0, live};
    for (const int one : live) frontier.bytes += graph_.Bytes(one);
    all.push_back(std::move(frontier));
  }
  for (size_t i = 1; i < all.size(); ++i) {
    const bool falls = all[i].bytes <= all[i - 1].bytes, stays = i + 1 == all.size() || all[i].bytes < all[i + 1].bytes;
    if (falls && stays) frontiers_.push_back(all[i]);
  }
  if (frontiers_.size() > kMaxFrontiers) {
    std::stable_sort(frontiers_.begin(), frontiers_.end(),
                     [](const Frontier& a, const Frontier& b) { return a.bytes < b.bytes; });
    frontiers_.resize(kMaxFrontiers);
    std::sort(frontiers_.begin(), frontiers_.end(),
              [](const Frontier& a, const Frontier& b) { return a.position < b.position; });
  }
}

// Where only one operator reads an output, row by row, and its own is no larger, exchanging behind that is as good.
void IntraDpPlanner::FindSites() {
  for (int op = 1; op < graph_.Output(); ++op) {
    const auto users = graph_.Users(op);
    if (users.empty()) continue;
    const int user = users[0];
    const auto inputs = graph_.Inputs(user);
    const bool passes = users.size() == 1 && user != graph_.Output() && inputs.size() == 1 &&
                        inputs[0].rule.kind == graph::RowKind::kRow && graph_.Rows(user) == graph_.Rows(op) &&
                        graph_.Bytes(user) <= graph_.Bytes(op);
    if (!passes) sites_.push_back(op);
  }
}

double IntraDpPlanner::Score(const Cuts& cuts) {
  spent_ += graph_.Size();
  decoder_.Decode(cuts, plan_);
  return objective_.Score(evaluator_.Evaluate(plan_, decoder_.Needed(), link_));
}

bool IntraDpPlanner::Keep(Candidate& best) {
  const double score = Score(cuts_);
  if (!Better(score, best.score)) return false;
  best.cuts = cuts_;
  best.score = score;
  return true;
}

void IntraDpPlanner::AddStarts(std::vector<Candidate>& starts) {
  const auto add = [&](const Cuts& cuts) { starts.push_back({cuts, Score(cuts)}); };
  add(Cuts(graph_.Size()));
  add(CutsOf(graph_, ServerOnlyPlan(graph_)));
  if (link_.bytes_per_ms <= 0) return;
  const LayerCosts latency = LatencyCosts(graph_, link_);
  add(CutsOf(graph_, PlanOf(graph_, cutter_.Cheapest(latency, Replication::kNo))));
  add(CutsOf(graph_, PlanOf(graph_, cutter_.Cheapest(latency, Replication::kYes))));
  add(CutsOf(graph_, PlanOf(graph_, cutter_.Cheapest(EnergyCosts(graph_, link_, 0), Replication::kNo))));
  AddJoins(starts);
}

// Rows parted until a frontier, what follows on one side.
void IntraDpPlanner::AddJoins(std::vector<Candidate>& starts) {
  for (const Frontier& frontier : frontiers_) {
    for (const Side then : kSides) {
      Candidate best{{}, std::numeric_limits<double>::infinity()};
      for (int share = 1; share < kShares; ++share) {
        cuts_.assign(graph_.Size(), {});
        if (then == kServer) {
          for (const auto& edge : graph_.Inputs(graph_.Output())) cuts_[edge.from] = {0, 0};
        }
        for (const int op : frontier.live) {
          const int rows = static_cast<int>(std::lround(static_cast<double>(graph_.Rows(op)) * share / kShares));
          cuts_[op] = {rows, rows};
        }
        Keep(best);
      }
      if (std::isfinite(best.score)) starts.push_back(std::move(best));
    }
  }
}

bool IntraDpPlanner::PolishSite(Candidate& best, int op) {
  decoder_.Decode(best.cuts, plan_);
  const int rows = graph_.Rows(op);
  const RowRange device = plan_.rows[kDevice][op], server = plan_.rows[kServer][op];
  if (device.Empty() && server.Empty()) return false;
  const Cut now = best.cuts[op];
  const int end = device.Empty() ? 0 : device.hi, begin = server.Empty() ? rows : server.lo;
  bool improved = false;
  const auto attempt = [&](Cut cut) {
    if (cut == best.cuts[op]) return;
    cuts_ = best.cuts;
    cuts_[op] = cut;
    improved |= Keep(best);
  };
  const auto attempt_at = [&](int row) {
    if (row < 0 || row > rows) return;
    attempt({row, row, now.server_first});
    attempt({Cut::kFollow, row, now.server_first});
    attempt({row, Cut::kFollow, now.server_first});
  };
  if (now.Exchanges()) {
    attempt({});
    const int row = now.device_end != Cut::kFollow ? now.device_end : now.server_begin;
    for (int step = 1; step <= rows; step *= 2) {
      attempt_at(row - step);
      attempt_at(row + step);
    }
  } else {
    attempt_at(end);
    attempt_at(begin);
    attempt_at((begin + end) / 2);
  }
  return improved;
}

bool IntraDpPlanner::PolishFrontier(Candidate& best, const Frontier& frontier) {
  bool improved = false;
  for (int share = 0; share <= kShares; ++share) {
    cuts_ = best.cuts;
    for (const int op : frontier.live) {
      const int rows = static_cast<int>(std::lround(static_cast<double>(graph_.Rows(op)) * share / kShares));
      cuts_[op] = {rows, rows};
    }
    improved |= Keep(best);
  }
  cuts_ = best.cuts;
  for (const int op : frontier.live) cuts_[op] = {};
  return Keep(best) || improved;
}

void IntraDpPlanner::Polish(Candidate& best) {
  for (bool improved = true; improved && spent_ < limit_;) {
    improved = false;
    for (const Frontier& frontier : frontiers_) {
      if (spent_ < limit_) improved |= PolishFrontier(best, frontier);
    }
    for (const int site : sites_) {
      if (spent_ < limit_) improved |= PolishSite(best, site);
    }
  }
}

// All exchanges of a stretch of operators, by the same share of their rows: parts of one front move together.
void IntraDpPlanner::Shift(Cuts& cuts) {
  const int count = static_cast<int>(sites_.size());
  int first = random_.Below(count), last = random_.Below(count);
  if (first > last) std::swap(first, last);
  const double share = (random_.Uniform() - 0.5) * (random_.Below(2) == 0 ? 0.25 : 0.05);
  for (int i = first; i <= last; ++i) {
    Cut& cut = cuts[sites_[i]];
    const int rows = graph_.Rows(sites_[i]);
    const int step = static_cast<int>(std::lround(share * rows));
    const auto moved = [&](int row) { return row == Cut::kFollow ? row : std::clamp(row + step, 0, rows); };
    cut.device_end = moved(cut.device_end);
    cut.server_begin = moved(cut.server_begin);
  }
}

void IntraDpPlanner::Mutate(Cuts& cuts) {
  if (random_.Below(3) == 0) return Shift(cuts);
  const int op = sites_[random_.Below(static_cast<int>(sites_.size()))];
  const int rows = graph_.Rows(op);
  Cut& cut = cuts[op];
  const int kind = random_.Below(8);
  if (cut.Exchanges() && kind == 0) {
    cut = {};
    return;
  }
  int row = cut.device_end != Cut::kFollow ? cut.device_end : cut.server_begin;
  if (!cut.Exchanges()) {
    const RowRange device = plan_.rows[kDevice][op], server = plan_.rows[kServer][op];
    row = random_.Below(2) == 0 ? (device.Empty() ? 0 : device.hi) : (server.Empty() ? rows : server.lo);
  }
  if (kind == 1) row = random_.Between(0, rows);
  if (kind > 2) row += random_.Between(-3, 3);
  row = std::clamp(row, 0, rows);
  switch (random_.Below(4)) {
    case 0:
      cut = {Cut::kFollow, row};
      break;
    case 1:
      cut = {row, Cut::kFollow};
      break;
    default:
      cut = {row, row};
  }
}

// Random changes; those that cost nothing are kept too, so that plateaus are crossed.
void IntraDpPlanner::Wander(Candidate& best, int64_t until) {
  while (spent_ < until) {
    cuts_ = best.cuts;
    const int changes = random_.Between(1, 3);
    for (int i = 0; i < changes; ++i) Mutate(cuts_);
    const double score = Score(cuts_);
    if (!(score <= best.score)) continue;
    best.cuts = cuts_;
    best.score = score;
  }
}

IntraDpPlanner::Candidate IntraDpPlanner::Solve(const Link& link, const Objective& objective, int64_t budget) {
  link_ = link;
  objective_ = objective;
  spent_ = 0;
  std::vector<Candidate> starts;
  AddStarts(starts);
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  starts.resize(std::min(starts.size(), kStarts));
  for (Candidate& start : starts) {
    limit_ = spent_ + budget / 8;
    Polish(start);
  }
  Candidate best = *std::min_element(starts.begin(), starts.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  if (link.bytes_per_ms > 0 && !sites_.empty()) {
    Wander(best, budget * 3 / 4);
    limit_ = budget;
    Polish(best);
  }
  return best;
}

// The plan of `cuts`, or a layer partition where that is better: cuts cannot write down every one of those.
Plan IntraDpPlanner::BestPlan(const Candidate& found) {
  decoder_.Decode(found.cuts, plan_);
  Plan best = plan_;
  double score = found.score;
  std::vector<Plan> others = {DeviceOnlyPlan(graph_), ServerOnlyPlan(graph_)};
  if (link_.bytes_per_ms > 0) {
    others.push_back(PlanOf(graph_, cutter_.Cheapest(LatencyCosts(graph_, link_), Replication::kNo)));
  }
  for (Plan& other : others) {
    const double its = objective_.Score(evaluator_.Evaluate(other, link_));
    if (its < score) best = std::move(other), score = its;
  }
  return best;
}

// Plans of nearby bandwidths are good starts, so they are made as well.
Plan IntraDpPlanner::MakePlan(const Link& link, const Objective& objective) {
  if (link.bytes_per_ms <= 0) return Sweep(link, {0}, objective).front();
  std::vector<double> rates;
  for (const double factor : {0.8, 0.9, 1.0, 1.1, 1.25}) rates.push_back(factor * link.bytes_per_ms);
  return Sweep(link, rates, objective)[2];
}

std::vector<Plan> IntraDpPlanner::Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                                        const Objective& objective) {
  const int count = static_cast<int>(bytes_per_ms.size());
  std::vector<Candidate> best;
  Link at = link;
  for (const double rate : bytes_per_ms) {
    at.bytes_per_ms = rate;
    best.push_back(Solve(at, objective, options_.budget / 2));
  }
  const auto retry = [&](int index) {
    link_.bytes_per_ms = bytes_per_ms[index];
    spent_ = 0;
    limit_ = options_.budget / 4;
    for (int other = 0; other < count; ++other) {
      cuts_ = best[other].cuts;
      Keep(best[index]);
    }
    if (link_.bytes_per_ms > 0 && !sites_.empty()) Wander(best[index], limit_ / 2);
    Polish(best[index]);
  };
  for (int i = 0; i < count; ++i) retry(i);
  for (int i = count - 1; i >= 0; --i) retry(i);
  std::vector<Plan> plans;
  for (int i = 0; i < count; ++i) {
    link_.bytes_per_ms = bytes_per_ms[i];
    plans.push_back(BestPlan(best[i]));
  }
  return plans;
}

}  // namespace wharf::split
