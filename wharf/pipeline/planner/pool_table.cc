#include "wharf/pipeline/planner/pool_table.h"

#include <algorithm>
#include <map>
#include <utility>

namespace wharf::pipeline {
namespace {

constexpr double kWasteRounding = 1e-9;  // of sums, as a share

}  // namespace

PoolGrid::PoolGrid(const Cluster& cluster, std::vector<int> units_per_gpu) : units_per_gpu_(std::move(units_per_gpu)) {
  const int classes = static_cast<int>(cluster.classes.size());
  units_per_gpu_.resize(classes, 1);
  strides_.resize(classes);
  for (int i = 0; i < classes; ++i) sizes_.push_back(cluster.Gpus(i) * units_per_gpu_[i] + 1);
  for (int i = classes - 1; i >= 0; --i) {
    strides_[i] = points_;
    points_ *= static_cast<size_t>(sizes_[i]);
  }
  units_.reserve(points_ * static_cast<size_t>(classes));
  for (size_t point = 0; point < points_; ++point) {
    for (int i = 0; i < classes; ++i) {
      units_.push_back(static_cast<int>(point / strides_[i] % static_cast<size_t>(sizes_[i])));
    }
  }
}

size_t PoolGrid::CountPoints(const Cluster& cluster, std::span<const int> units_per_gpu) {
  size_t points = 1;
  for (size_t i = 0; i < cluster.classes.size(); ++i) {
    const auto units = static_cast<size_t>(units_per_gpu.empty() ? 1 : units_per_gpu[i]);
    const auto size = static_cast<size_t>(cluster.Gpus(static_cast<int>(i))) * units + 1;
    if (points > std::numeric_limits<size_t>::max() / size) return std::numeric_limits<size_t>::max();
    points *= size;
  }
  return points;
}

bool PoolGrid::Fits(size_t a, size_t b) const {
  for (int i = 0; i < Classes(); ++i) {
    if (Units(a, i) > Units(b, i)) return false;
  }
  return true;
}

double Throughput(const Candidate& candidate, std::span<const int> vgpus) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < vgpus.size(); ++i) least = std::min(least, vgpus[i] * candidate.stages[i].VgpuRate());
  return least;
}

PoolTable::PoolTable(const PoolGrid& grid, const std::vector<Candidate>& candidates, Mode mode, PoolPruning pruning)
    : grid_(grid), candidates_(candidates), pruning_(std::move(pruning)) {
  for (size_t i = 0; i < pruning_.unit_prices.size(); ++i) {
    rounding_ += kWasteRounding * pruning_.unit_prices[i] * grid.MaxUnits(static_cast<int>(i));
  }
  for (size_t i = 0; i < candidates.size(); ++i) Offer(candidates[i], static_cast<int>(i), mode);
  std::ranges::stable_sort(offers_, {}, &Item::point);
  Fill();
  offers_ = {};
}

// 0 if prices are not given.
double PoolTable::Waste(size_t point, double throughput) const {
  double waste = -pruning_.request_price * throughput;
  for (size_t i = 0; i < pruning_.unit_prices.size(); ++i) {
    waste += pruning_.unit_prices[i] * grid_.Units(point, static_cast<int>(i));
  }
  return waste;
}

// The least that a stage can have, then as much more for the slowest stage as long as there is any: for each throughput
// the least of every class.
void PoolTable::Offer(const Candidate& candidate, int index, Mode mode) {
  const bool grows = mode != Mode::kDartR || candidate.stages.size() == 1;  // pairs are replicated as they are
  const size_t stages = candidate.stages.size();
  std::vector<int> vgpus(stages), step(stages), used(grid_.Classes());
  std::vector<int> units(stages);  // of a step
  size_t point = 0;
  const auto add = [&](size_t stage) {
    vgpus[stage] += step[stage];
    used[candidate.stages[stage].gpu_class] += units[stage];
    point += static_cast<size_t>(units[stage]) * grid_.Stride(candidate.stages[stage].gpu_class);
  };
  for (size_t i = 0; i < stages; ++i) {
    const CandidateStage& stage = candidate.stages[i];
    const int per_gpu = grid_.UnitsPerGpu(stage.gpu_class);
    step[i] = per_gpu == 1 ? stage.vgpus_per_gpu : 1;
    units[i] = per_gpu == 1 ? 1 : per_gpu / stage.vgpus_per_gpu;
    add(i);
  }
  const auto rate = [&](size_t i) { return vgpus[i] * candidate.stages[i].VgpuRate(); };
  while (true) {
    for (int i = 0; i < grid_.Classes(); ++i) {
      if (used[i] > grid_.MaxUnits(i)) return;
    }
    const double throughput = Throughput(candidate, vgpus);
    const double waste = Waste(point, throughput);
    if (waste <= pruning_.slack + rounding_) offers_.push_back({point, throughput, waste, {index, vgpus}});
    if (!grows) return;
    size_t slowest = 0;
    for (size_t i = 1; i < stages; ++i) {
      if (rate(i) < rate(slowest)) slowest = i;
    }
    add(slowest);
  }
}

// Whatever is made of items is made of its largest first: at a point all items that fit into it are known.
void PoolTable::Fill() {
  best_.assign(grid_.Points(), -1);
  choice_.assign(grid_.Points(), -1);
  best_[0] = 0;
  auto offer = offers_.begin();
  for (size_t point = 1; point < grid_.Points(); ++point) {
    for (; offer != offers_.end() && offer->point == point; ++offer) {
      if (offer->throughput <= best_[point]) continue;
      best_[point] = offer->throughput;
      choice_[point] = static_cast<int>(items_.size());
      items_.push_back(std::move(*offer));
      const auto place =
          std::ranges::upper_bound(by_waste_, items_.back().waste, {}, [this](int item) { return items_[item].waste; });
      by_waste_.insert(place, static_cast<int>(items_.size()) - 1);
    }
    if (!TakeFromLess(point)) PushFrom(point);
  }
}

bool PoolTable::TakeFromLess(size_t point) {
  bool taken = false;
  for (int i = 0; i < grid_.Classes(); ++i) {
    if (grid_.Units(point, i) == 0 || best_[point - grid_.Stride(i)] < best_[point]) continue;
    best_[point] = best_[point - grid_.Stride(i)];
    choice_[point] = -1 - i;
    taken = true;
  }
  return taken;
}

void PoolTable::PushFrom(size_t point) {
  const double left = pruning_.slack + rounding_ - Waste(point, best_[point]);
  for (const int index : by_waste_) {
    const Item& item = items_[index];
    if (item.waste > left || steps_ > pruning_.max_steps) return;
    bool fits = true;
    for (int i = 0; i < grid_.Classes(); ++i) {
      fits = fits && grid_.Units(point, i) + grid_.Units(item.point, i) <= grid_.MaxUnits(i);
    }
    if (!fits) continue;
    ++steps_;
    const double together = best_[point] + item.throughput;
    if (together <= best_[point + item.point]) continue;
    best_[point + item.point] = together;
    choice_[point + item.point] = index;
  }
}

size_t PoolTable::PointOf(const PoolGrid& whole, size_t point) const {
  size_t mine = 0;
  for (int i = 0; i < grid_.Classes(); ++i) {
    mine += static_cast<size_t>(whole.Units(point, i)) * static_cast<size_t>(grid_.UnitsPerGpu(i)) * grid_.Stride(i);
  }
  return mine;
}

std::vector<double> PoolTable::BestOfWholeGpus(const PoolGrid& whole) const {
  std::vector<double> best(whole.Points());
  for (size_t point = 0; point < whole.Points(); ++point) best[point] = Best(PointOf(whole, point));
  return best;
}

std::vector<Share> PoolTable::SharesOfWholeGpus(const PoolGrid& whole, size_t point) const {
  return Shares(PointOf(whole, point));
}

std::vector<Share> PoolTable::Shares(size_t point) const {
  std::map<int, Share> shares;
  while (best_[point] > 0) {
    if (choice_[point] < 0) {
      point -= grid_.Stride(-1 - choice_[point]);
      continue;
    }
    const Item& item = items_[choice_[point]];
    const auto [found, is_new] = shares.try_emplace(item.share.candidate, item.share);
    if (!is_new) {
      for (size_t i = 0; i < item.share.vgpus.size(); ++i) found->second.vgpus[i] += item.share.vgpus[i];
    }
    point -= item.point;
  }
  std::vector<Share> list;
  for (auto& [candidate, share] : shares) list.push_back(std::move(share));
  return list;
}

Division::Division(const PoolGrid& grid, std::span<const std::vector<double>> values, std::span<const double> weights)
    : grid_(grid) {
  for (size_t i = 0; i < values.size(); ++i) Add(values[i], weights[i]);
}

// Along the last class, what this model makes grows with its part and what the others make shrinks: the best part is
// where the two cross.
void Division::Add(const std::vector<double>& values, double weight) {
  const size_t points = grid_.Points();
  std::vector<double>& best = best_.emplace_back(points, -1);
  std::vector<size_t>& own = own_.emplace_back(points, 0);
  const auto own_value = [&](size_t point) { return values[point] / weight; };
  if (best_.size() == 1) {
    for (size_t point = 0; point < points; ++point) {
      best[point] = own_value(point);
      own[point] = point;
    }
    return;
  }
  const std::vector<double>& others = best_[best_.size() - 2];
  const size_t row = static_cast<size_t>(grid_.MaxUnits(grid_.Classes() - 1)) + 1;
  for (size_t point = 0; point < points; ++point) {
    const size_t last = point % row;
    for (size_t part = 0; part <= point - last; part += row) {
      if (!grid_.Fits(part, point)) continue;
      size_t low = 0, high = last;  // the first where own_value is not less, or last
      while (low < high) {
        const size_t middle = (low + high) / 2;
        if (own_value(part + middle) >= others[point - part - middle]) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      for (const size_t at : {low, low > 0 ? low - 1 : low}) {
        const double value = std::min(own_value(part + at), others[point - part - at]);
        if (value <= best[point]) continue;
        best[point] = value;
        own[point] = part + at;
      }
    }
  }
}

std::vector<size_t> Division::Points(size_t point) const {
  std::vector<size_t> parts(own_.size());
  for (size_t i = own_.size(); i-- > 0;) {
    parts[i] = own_[i][point];
    point -= parts[i];
  }
  return parts;
}

}  // namespace wharf::pipeline
