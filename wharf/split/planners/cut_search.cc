#include "wharf/split/planners/cut_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wharf::split {
namespace {

constexpr size_t kMaxFrontiers = 40;
constexpr int kShares = 8;      // starts part the rows in this many steps
constexpr double kGain = 1e-9;  // less is no improvement

}  // namespace

bool Better(double score, double than) {
  return score < than * (1 - kGain) || (std::isinf(than) && std::isfinite(score));
}

CutSearch::CutSearch(const RowGraph& graph, uint64_t seed)
    : graph_(graph), decoder_(graph), evaluator_(graph), cutter_(graph), random_(seed), plan_(graph.Size()) {
  FindFrontiers();
  FindSites();
}

std::vector<int> CutSearch::FrontierPositions() const {
  std::vector<int> positions;
  for (const Frontier& frontier : frontiers_) positions.push_back(frontier.position);
  return positions;
}

// Those with the fewest bytes in their neighbourhood, at most kMaxFrontiers.
void CutSearch::FindFrontiers() {
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
void CutSearch::FindSites() {
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

void CutSearch::Ask(const Link& link, const Objective& objective) {
  link_ = link;
  objective_ = objective;
  spent_ = 0;
}

double CutSearch::Score(const Cuts& cuts) {
  spent_ += graph_.Size();
  decoder_.Decode(cuts, plan_);
  if (laid_out_ == nullptr) return objective_.Score(evaluator_.Evaluate(plan_, decoder_.Needed(), link_));
  spent_ += 2 * laid_out_->graph.Size();
  PartRows(laid_out_->graph, plan_, parted_.rows);
  FindNeededRows(laid_out_->graph, parted_, needed_);
  return objective_.Score(laid_out_->evaluator.Evaluate(parted_, needed_, link_));
}

Plan CutSearch::PlanOf(const Cuts& cuts) {
  decoder_.Decode(cuts, plan_);
  return laid_out_ == nullptr ? plan_ : InLayout(laid_out_->graph, laid_out_->layout, plan_);
}

bool CutSearch::Keep(Candidate& best) {
  const double score = Score(cuts_);
  if (!Better(score, best.score)) return false;
  best.cuts = cuts_;
  best.score = score;
  return true;
}

std::vector<CutSearch::Candidate> CutSearch::Starts() {
  std::vector<Candidate> starts;
  const auto add = [&](const Cuts& cuts) { starts.push_back({cuts, Score(cuts)}); };
  add(Cuts(graph_.Size()));
  add(CutsOf(graph_, ServerOnlyPlan(graph_)));
  if (link_.bytes_per_ms <= 0) return starts;
  const LayerCosts latency = LatencyCosts(graph_, link_);
  add(CutsOf(graph_, split::PlanOf(graph_, cutter_.Cheapest(latency, Replication::kNo))));
  add(CutsOf(graph_, split::PlanOf(graph_, cutter_.Cheapest(latency, Replication::kYes))));
  add(CutsOf(graph_, split::PlanOf(graph_, cutter_.Cheapest(EnergyCosts(graph_, link_, 0), Replication::kNo))));
  AddJoins(starts);
  AddParted(starts);
  return starts;
}

Cuts CutSearch::Part(const Segment& segment, double share) const {
  Cuts cuts(graph_.Size());
  if (segment.from != Segment::kInput) SetShare(cuts, frontiers_[segment.from], kShares);
  for (const int op : frontiers_[segment.to].live) {
    const int first = static_cast<int>(std::lround(graph_.Rows(op) * (1 - share)));
    cuts[op] = {first, first, true};
  }
  return cuts;
}

std::vector<CutSearch::Segment> CutSearch::BestSegments(size_t count) {
  std::vector<std::pair<double, Segment>> all;
  for (size_t to = 0; to < frontiers_.size(); ++to) {
    for (size_t i = 0; i <= to; ++i) {
      const Segment segment{i == 0 ? Segment::kInput : i - 1, to};
      double score = std::numeric_limits<double>::infinity();
      for (const double share : {0.25, 0.5, 0.75}) score = std::min(score, Score(Part(segment, share)));
      all.push_back({score, segment});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  all.resize(std::min(all.size(), count));
  std::vector<Segment> best;
  for (const auto& [score, segment] : all) best.push_back(segment);
  return best;
}

// Rows parted until a frontier, what follows on one side.
void CutSearch::AddJoins(std::vector<Candidate>& starts) {
  for (const Frontier& frontier : frontiers_) {
    for (const Side then : kSides) {
      Candidate best;
      for (int share = 1; share < kShares; ++share) {
        cuts_.assign(graph_.Size(), {});
        if (then == kServer) {
          for (const auto& edge : graph_.Inputs(graph_.Output())) cuts_[edge.from] = {0, 0};
        }
        SetShare(cuts_, frontier, share);
        Keep(best);
      }
      if (std::isfinite(best.score)) starts.push_back(std::move(best));
    }
  }
}

// The same share of the rows exchanged at every few frontiers, until one of them or all the way; what follows is the
// device's.
void CutSearch::AddParted(std::vector<Candidate>& starts) {
  const size_t count = frontiers_.size();
  for (const size_t every : {1, 2, 3, 5, 8}) {
    for (const size_t quarter : {1, 2, 3, 4}) {
      Candidate best;
      for (int share = 1; share < kShares; ++share) {
        cuts_.assign(graph_.Size(), {});
        for (size_t i = every - 1; i < count * quarter / 4; i += every) SetShare(cuts_, frontiers_[i], share);
        Keep(best);
      }
      if (std::isfinite(best.score)) starts.push_back(std::move(best));
    }
  }
}

void CutSearch::SetShare(Cuts& cuts, const Frontier& frontier, int share) const {
  for (const int op : frontier.live) {
    const int rows = static_cast<int>(std::lround(static_cast<double>(graph_.Rows(op)) * share / kShares));
    cuts[op] = {rows, rows, cuts[op].server_first};
  }
}

bool CutSearch::PolishSite(Candidate& best, int op) {
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

bool CutSearch::PolishFrontier(Candidate& best, const Frontier& frontier) {
  bool improved = false;
  for (int share = 0; share <= kShares; ++share) {
    cuts_ = best.cuts;
    SetShare(cuts_, frontier, share);
    improved |= Keep(best);
  }
  cuts_ = best.cuts;
  for (const int op : frontier.live) cuts_[op] = {};
  return Keep(best) || improved;
}

void CutSearch::Polish(Candidate& best, int64_t limit) {
  for (bool improved = true; improved && spent_ < limit;) {
    improved = false;
    for (const Frontier& frontier : frontiers_) {
      if (spent_ < limit) improved |= PolishFrontier(best, frontier);
    }
    for (const int site : sites_) {
      if (spent_ < limit) improved |= PolishSite(best, site);
    }
  }
}

// All exchanges of a segment of operators, by the same share of their rows: parts of one front move together.
void CutSearch::Shift(Cuts& cuts) {
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

void CutSearch::Mutate(Cuts& cuts) {
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

void CutSearch::Wander(Candidate& best, int64_t limit) {
  while (spent_ < limit && !sites_.empty()) {
    cuts_ = best.cuts;
    const int changes = random_.Between(1, 3);
    for (int i = 0; i < changes; ++i) Mutate(cuts_);
    const double score = Score(cuts_);
    if (!(score <= best.score)) continue;
    best.cuts = cuts_;
    best.score = score;
  }
}

}  // namespace wharf::split
