#include "wharf/split/bounds/chain_bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "wharf/split/bounds/certain_rows.h"

namespace wharf::split {
namespace {

// More ways than this, for one count of rows, are joined. The next is tried where a search takes too many steps.
constexpr size_t kWays[] = {24, 6, 1};
constexpr size_t kMostUnthinned = 1 << 14;   // ways for one count of rows, while they are collected
constexpr int kCompared = 8;                 // ways that a way is compared with
constexpr double kMostSquares = 1e6;         // of rows, in all: minutes
constexpr double kDownWeights[] = {0, 0.1};  // of a byte's time on the downlink, in the device's
using ReachKey = std::tuple<int, int, int, int, int, int, int>;

// Of how many rows of `op` all certain rows can lie in any x rows of its input, for every x. O(rows^2).
std::vector<int> Reach(const RowGraph& graph, int op, const RowGraph::Edge& edge) {
  const int inputs = graph.Rows(edge.from), rows = graph.Rows(op);
  std::vector<int> reach(inputs + 1, 0);
  std::vector<std::vector<int>> ends(inputs + 1);  // of what rows read, by its first
  int free = 0;                                    // rows that read nothing
  for (int row = 0; row < rows; ++row) {
    const RowRange read = graph.Needed(op, edge, {row, row + 1});
    int certain = 0;
    ForCertainRows(graph, op, edge, row, [&](int) { ++certain; });
    if (certain < read.Size()) {
      // Gaps: rows that are apart may serve more than neighbours do.
      reach.assign(inputs + 1, rows);
      return reach;
    }
    if (read.Empty()) {
      ++free;
    } else {
      ends[read.lo].push_back(read.hi);
    }
  }
  std::vector<int> within(inputs + 1, 0);  // rows that read from `first` on, by the end of what they read
  for (int first = inputs - 1; first >= 0; --first) {
    for (const int end : ends[first]) ++within[end];
    for (int end = first + 1, count = 0; end <= inputs; ++end) {
      count += within[end];
      reach[end - first] = std::max(reach[end - first], count);
    }
  }
  for (int x = 1; x <= inputs; ++x) {
    for (int part = 1; part <= x / 2; ++part) reach[x] = std::max(reach[x], reach[part] + reach[x - part]);
  }
  for (int& one : reach) one = std::min(rows, one + free);
  return reach;
}

class Reaches {
 public:
  explicit Reaches(const RowGraph& graph) : graph_(graph) {}
  const std::vector<int>& Of(int op, const RowGraph::Edge& edge) {
    const graph::RowRule& rule = edge.rule;
    const auto [entry, added] = known_.try_emplace({static_cast<int>(rule.kind), rule.kernel, rule.stride, rule.padding,
                                                    rule.dilation, edge.rows, graph_.Rows(op)});
    if (added) entry->second = Reach(graph_, op, edge);
    return entry->second;
  }

 private:
  const RowGraph& graph_;
  std::map<ReachKey, std::vector<int>> known_;
};

}  // namespace

ChainBound::ChainBound(const RowGraph& graph, const std::vector<bool>& required) {
  FindPath(graph, required);
  FindNeeds(graph);
  AddAttached(graph, required);
  FindCones();
  FindTails();
}

// The most work of the device.
void ChainBound::FindPath(const RowGraph& graph, const std::vector<bool>& required) {
  std::vector<double> work(graph.Size(), -1);
  std::vector<int> before(graph.Size(), -1), last_user(graph.Size(), 0);
  work[0] = 0;
  for (int op = 1; op < graph.Size(); ++op) {
    for (const RowGraph::Edge& edge : graph.Inputs(op)) {
      last_user[edge.from] = op;
      const double with = work[edge.from] + (required[op] ? LeastMs(graph, kDevice, op) : 0);
      if (work[edge.from] >= 0 && with > work[op]) work[op] = with, before[op] = edge.from;
    }
  }
  for (int op = graph.Output(); op >= 0; op = before[op]) {
    Level level;
    level.op = op;
    level.rows = graph.Rows(op);
    level.required = required[op];
    for (const Side side : kSides) level.row_ms[side] = required[op] ? LeastMs(graph, side, op) / level.rows : 0;
    level.bytes_per_row = graph.BytesPerRow(op);
    level.attached.assign(level.rows + 1, 0);
    levels_.push_back(std::move(level));
  }
  std::reverse(levels_.begin(), levels_.end());
  for (Level& level : levels_) {
    level.only_live =
        std::all_of(last_user.begin(), last_user.begin() + level.op, [&](int user) { return user <= level.op; });
  }
}

void ChainBound::FindNeeds(const RowGraph& graph) {
  Reaches reaches(graph);
  for (size_t k = 0; k + 1 < levels_.size(); ++k) {
    Level& level = levels_[k];
    const int next = levels_[k + 1].op;
    const auto inputs = graph.Inputs(next);
    const auto edge = std::find_if(inputs.begin(), inputs.end(), [&](const auto& one) { return one.from == level.op; });
    const std::vector<int>& reach = reaches.Of(next, *edge);
    if (reach[0] > 0) ways_ = 0;
    for (int rows = 0, x = 0; rows <= levels_[k + 1].rows; ++rows) {
      while (reach[x] < rows) ++x;
      level.need.push_back(x);
    }
    const int all = levels_[k + 1].rows;
    level.more_per_row.assign(all + 1, 0);
    for (int part = 1; part <= all; ++part) {
      double least = level.rows;
      for (int more = 1; more <= part; ++more) {
        least = std::min(least, static_cast<double>(level.need[all - part + more] - level.need[all - part]) / more);
      }
      level.more_per_row[part] = least;
    }
  }
}

// Operators that read the path and are not on it: the server computes no more of their rows than what it holds allows.
void ChainBound::AddAttached(const RowGraph& graph, const std::vector<bool>& required) {
  std::vector<int> level_of(graph.Size(), -1);
  for (size_t k = 0; k < levels_.size(); ++k) level_of[levels_[k].op] = static_cast<int>(k);
  Reaches reaches(graph);
  for (int op = 1; op < graph.Size(); ++op) {
    if (level_of[op] >= 0 || !required[op]) continue;
    const auto inputs = graph.Inputs(op);
    const auto edge =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& one) { return level_of[one.from] >= 0; });
    if (edge == inputs.end()) continue;
    Level& level = levels_[level_of[edge->from]];
    const std::vector<int>& reach = reaches.Of(op, *edge);
    const double row_ms = LeastMs(graph, kDevice, op) / graph.Rows(op);
    if (reach[0] > 0) ways_ = 0;
    for (int x = 0; x <= level.rows; ++x) level.attached[x] += row_ms * reach[x];
    device_ms_ += row_ms * graph.Rows(op);
  }
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    level->rest_ms = (level == levels_.rbegin() ? 0 : (level - 1)->rest_ms) + level->attached.back();
    if (level != levels_.rbegin()) level->rest_ms += (level - 1)->row_ms[kDevice] * (level - 1)->rows;
    device_ms_ += level->row_ms[kDevice] * level->rows;
  }
}

void ChainBound::FindCones() {
  for (size_t k = 0; k < levels_.size(); ++k) {
    Level& level = levels_[k];
    level.cone_ms.push_back(0);
    for (int count = 1; count <= level.rows; ++count) {
      double ms = level.row_ms[kDevice] * count;
      for (size_t before = k, rows = count; before-- > 0;) {
        rows = levels_[before].need[rows];
        ms += levels_[before].row_ms[kDevice] * static_cast<double>(rows);
      }
      level.cone_ms.push_back(ms);
    }
    level.mixed = static_cast<int>(levels_.size());
    int rows = 1;
    for (size_t before = k; before-- > 0;) {
      rows = levels_[before].need[rows];
      if (rows == levels_[before].rows && ways_ > 0)
        levels_[before].mixed = std::min(levels_[before].mixed, static_cast<int>(k));
    }
  }
  for (size_t k = 0; k < levels_.size(); ++k) {
    for (size_t before = k; before > 0 && levels_[before].mixed > static_cast<int>(k); --before) {
      levels_[k].unmixed_ms += levels_[before].BothMs() * levels_[before].rows;
    }
  }
  for (size_t k = levels_.size() - 1; k-- > 0;) {
    if (!levels_[k].only_live) levels_[k].mixed = levels_[k + 1].mixed;
  }
}

// Of the next level, what can be computed without one row is what all the others allow.
void ChainBound::FindTails() {
  for (size_t k = 0; k < levels_.size(); ++k) {
    int rows = 1;
    for (size_t next = k + 1; next < levels_.size(); ++next) {
      const Level& before = levels_[next - 1];
      const auto without = std::upper_bound(before.need.begin(), before.need.end(), before.rows - rows);
      rows = levels_[next].rows - static_cast<int>(without - before.need.begin() - 1);
      levels_[k].tail_ms += levels_[next].row_ms[kDevice] * rows;
    }
  }
}

struct ChainBound::Search {
  const std::vector<Level>& levels;
  const double device_ms, bytes_per_ms, two_ways_ms, down_weight;
  const size_t most_ways;         // see kWays
  const int64_t most_steps;       // more are not taken
  double best;                    // nothing faster is known to be possible so far
  Ways open, closed;              // by rows that the server computes here; closed: nothing more is received
  Ways next_open, next_closed;    // of the next level
  std::vector<double> queued_ms;  // when so many rows have been sent that the device computes as it goes
  int64_t steps = 0;

  double SendMs(const Level& level) const { return level.bytes_per_row / bytes_per_ms; }
  // The device's work and the downlink's, in parts: what the end cannot come before.
  double DeviceMs(double gain_ms) const {
    return (device_ms - gain_ms + down_weight * two_ways_ms) / (1 + down_weight);
  }
  bool Hopeless(const Level& level, const Way& way) const {
    return way.sent_ms + two_ways_ms >= best || DeviceMs(way.gain_ms + level.rest_ms) >= best;
  }
  // How many rows of level k the device needs beside its own; negative: so many it can do without.
  int Lacking(size_t k, int computed, int next) const {
    const Level &here = levels[k], &there = levels[k + 1];
    return computed + here.need[there.required ? there.rows - next : 0] - here.rows;
  }
  Way Receive(size_t k, Way way, int rows) const {
    const double behind_ms = std::max(0.0, way.behind_ms - levels[k].unmixed_ms);
    way.sent_ms = std::max(way.sent_ms + behind_ms + rows * SendMs(levels[k]), queued_ms[rows] - way.saved_ms);
    way.behind_ms = 0;
    way.serial_from = levels[k].mixed;
    return way;
  }
  Way Step(size_t k, Way way, int computed, int held, int next, bool is_closed) const;
  void Queue(const Level& level);
  void Collect(std::vector<Way>& ways, const Way& way) const;
  void GoOn(size_t k, const Way& way, int computed, bool untouched);
  void Finish(size_t k, const Way& way, int computed);
  void End(size_t k);
  // Nothing: it would take too many steps.
  std::optional<double> Run();
};

// The server holds `held` rows of level k, has computed `computed` of them, and computes `next` of the next level.
ChainBound::Way ChainBound::Search::Step(size_t k, Way way, int computed, int held, int next, bool is_closed) const {
  const Level &here = levels[k], &there = levels[k + 1];
  const double saved_ms = there.row_ms[kDevice] * next + here.attached[held];
  const int lacking = Lacking(k, computed, next);
  way.gain_ms += saved_ms - std::max(0, lacking) * way.lack_ms;
  way.saved_ms += saved_ms;
  if (static_cast<int>(k) + 1 >= way.serial_from) {
    (is_closed ? way.sent_ms : way.behind_ms) += (is_closed ? there.row_ms[kServer] : there.BothMs()) * next;
  }
  const double twice = there.row_ms[kDevice] + (lacking >= 0 ? way.lack_ms * here.more_per_row[next] : 0);
  way.lack_ms = std::min(down_weight * SendMs(there), twice);
  return way;
}

namespace {

// Not those that others surpass in everything. Of too many, those near each other become one as good as each.
template <typename Way>
void Thin(std::vector<Way>& ways, size_t most) {
  if (ways.size() < 2) return;
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return std::tuple(a.sent_ms, -a.gain_ms) < std::tuple(b.sent_ms, -b.gain_ms);
  });
  std::vector<Way> kept;
  double least = ways[0].gain_ms, highest = least;
  for (const Way& way : ways) {
    const auto from = kept.size() > kCompared ? kept.end() - kCompared : kept.begin();
    if (std::any_of(from, kept.end(), [&](const Way& other) { return other.AsGoodAs(way); })) continue;
    kept.push_back(way);
    least = std::min(least, way.gain_ms), highest = std::max(highest, way.gain_ms);
  }
  ways.clear();
  if (kept.size() <= most) {
    ways = std::move(kept);
    return;
  }
  constexpr double kTiny = 1e-9;
  const auto parts = static_cast<double>(most);
  const double first = kept[0].sent_ms, width = (kept.back().sent_ms - first) / parts + kTiny;
  const double height = (highest - least) / parts + kTiny;
  std::map<std::tuple<int, int, int>, Way> cells;
  for (const Way& way : kept) {
    const auto [cell, added] = cells.try_emplace({static_cast<int>((way.sent_ms - first) / width),
                                                  static_cast<int>((way.gain_ms - least) / height), way.serial_from},
                                                 way);
    if (!added) cell->second.Join(way);
  }
  for (const auto& [place, way] : cells) ways.push_back(way);
}

}  // namespace

void ChainBound::Search::Queue(const Level& level) {
  queued_ms.assign(level.rows + 1, 0);
  for (int rows = 1; rows <= level.rows; ++rows) {
    queued_ms[rows] = std::max(queued_ms[rows - 1], level.cone_ms[rows]) + SendMs(level);
  }
}

void ChainBound::Search::Collect(std::vector<Way>& ways, const Way& way) const {
  if (!ways.empty() && ways.back().AsGoodAs(way)) return;
  if (ways.size() >= kMostUnthinned) Thin(ways, most_ways);
  ways.push_back(way);
}

// From one count of rows here to all of the next level that are possible, with what is received for them.
void ChainBound::Search::GoOn(size_t k, const Way& way, int computed, bool untouched) {
  const Level& here = levels[k];
  const int most = k + 2 == levels.size() ? 0 : levels[k + 1].rows;
  for (int next = 0; next <= most; ++next) {
    const int least = std::max(computed, here.need[next]);
    for (int held = least; held <= (here.attached.back() > 0 ? here.rows : least); ++held) {
      if (untouched && held == 0 && next == 0) continue;
      const bool received = held > computed;
      const Way sent = received ? Receive(k, way, held - computed) : way;
      ++steps;
      if (Hopeless(here, sent)) break;
      Collect(next_open[next], Step(k, sent, computed, held, next, false));
      if (received || untouched) Collect(next_closed[next], Step(k, sent, computed, held, next, true));
    }
  }
}

void ChainBound::Search::Finish(size_t k, const Way& way, int computed) {
  if (Hopeless(levels[k], way)) return;
  const int most = k + 2 == levels.size() ? 0 : levels[k + 1].rows;
  for (int next = 0; next <= most && levels[k].need[next] <= computed; ++next) {
    Collect(next_closed[next], Step(k, way, computed, computed, next, true));
  }
}

// The server has nothing of use to do behind level k.
void ChainBound::Search::End(size_t k) {
  for (int computed = 0; computed <= levels[k].rows; ++computed) {
    for (const Way& way : closed[computed]) {
      const double lack_ms = k + 1 < levels.size() ? std::max(0, Lacking(k, computed, 0)) * way.lack_ms : 0;
      best = std::min(best, std::max(way.sent_ms + two_ways_ms + levels[k].tail_ms, DeviceMs(way.gain_ms - lack_ms)));
    }
  }
}

std::optional<double> ChainBound::Search::Run() {
  open.resize(levels[0].rows + 1);
  closed.resize(levels[0].rows + 1);
  for (size_t k = 0;; ++k) {
    for (Ways* ways : {&open, &closed}) {
      for (auto& some : *ways) Thin(some, most_ways);
    }
    const bool last = k + 1 == levels.size();
    if (levels[k].only_live || last) End(k);
    if (last) return best;
    Queue(levels[k]);
    next_open.assign(levels[k + 1].rows + 1, {});
    next_closed.assign(levels[k + 1].rows + 1, {});
    GoOn(k, Way(), 0, true);
    for (int computed = 0; computed <= levels[k].rows; ++computed) {
      for (const Way& way : open[computed]) GoOn(k, way, computed, false);
      for (const Way& way : closed[computed]) Finish(k, way, computed);
      if (steps > most_steps) return std::nullopt;
    }
    open = std::move(next_open);
    closed = std::move(next_closed);
  }
}

double ChainBound::Latency(const Link& link, double limit_ms, int64_t most_steps) const {
  double bound = 0, squares = 0;
  for (const Level& level : levels_) squares += static_cast<double>(level.rows) * level.rows;
  if (squares > kMostSquares) return 0;
  size_t coarseness = 0;  // both searches take about as many steps
  for (const double down_weight : kDownWeights) {
    for (; coarseness < std::size(kWays); ++coarseness) {
      Search search{.levels = levels_,
                    .device_ms = device_ms_,
                    .bytes_per_ms = link.bytes_per_ms,
                    .two_ways_ms = ways_ * (link.message_overhead_ms + link.round_trip_ms / 2),
                    .down_weight = down_weight,
                    .most_ways = kWays[coarseness],
                    .most_steps = most_steps,
                    .best = limit_ms};
      const std::optional<double> found = search.Run();
      if (!found) continue;
      bound = std::max(bound, *found);
      break;
    }
  }
  return bound;
}

}  // namespace wharf::split
