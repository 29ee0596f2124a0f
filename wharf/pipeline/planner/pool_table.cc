#include "wharf/pipeline/planner/pool_table.h"

#include <algorithm>
#include <limits>
#include <map>

namespace wharf::pipeline {

PoolGrid::PoolGrid(const Cluster& cluster) {
  const int classes = static_cast<int>(cluster.classes.size());
  strides_.resize(classes);
  for (int i = 0; i < classes; ++i) sizes_.push_back(cluster.Gpus(i) + 1);
  for (int i = classes - 1; i >= 0; --i) {
    strides_[i] = points_;
    points_ *= static_cast<size_t>(sizes_[i]);
  }
  for (size_t point = 0; point < points_; ++point) {
    for (int i = 0; i < classes; ++i) {
      gpus_.push_back(static_cast<int>(point / strides_[i] % static_cast<size_t>(sizes_[i])));
    }
  }
}

size_t PoolGrid::CountPoints(const Cluster& cluster) {
  size_t points = 1;
  for (size_t i = 0; i < cluster.classes.size(); ++i) {
    const auto size = static_cast<size_t>(cluster.Gpus(static_cast<int>(i))) + 1;
    if (points > std::numeric_limits<size_t>::max() / size) return std::numeric_limits<size_t>::max();
    points *= size;
  }
  return points;
}

bool PoolGrid::Fits(size_t a, size_t b) const {
  for (int i = 0; i < Classes(); ++i) {
    if (Gpus(a, i) > Gpus(b, i)) return false;
  }
  return true;
}

double Throughput(const Candidate& candidate, std::span<const int> gpus) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < gpus.size(); ++i) least = std::min(least, gpus[i] * candidate.stages[i].gpu_rate);
  return least;
}

PoolTable::PoolTable(const PoolGrid& grid, const std::vector<Candidate>& candidates, Mode mode)
    : grid_(grid), candidates_(candidates), direct_(grid.Points()) {
  for (size_t i = 0; i < candidates.size(); ++i) Offer(candidates[i], static_cast<int>(i), mode);
  Fill();
}

// One GPU a stage, then one more for the slowest stage as long as there are any: for each throughput the least GPUs.
void PoolTable::Offer(const Candidate& candidate, int index, Mode mode) {
  const bool grows = mode != Mode::kDartR || candidate.stages.size() == 1;  // pairs are replicated as they are
  std::vector<int> gpus(candidate.stages.size(), 1), used(grid_.Classes());
  size_t point = 0;
  for (const CandidateStage& stage : candidate.stages) {
    ++used[stage.gpu_class];
    point += grid_.Stride(stage.gpu_class);
  }
  while (true) {
    for (int i = 0; i < grid_.Classes(); ++i) {
      if (used[i] > grid_.MaxGpus(i)) return;
    }
    const double throughput = Throughput(candidate, gpus);
    if (throughput > direct_[point].throughput) direct_[point] = {point, throughput, {index, gpus}};
    if (!grows) return;
    size_t slowest = 0;
    for (size_t i = 1; i < gpus.size(); ++i) {
      if (gpus[i] * candidate.stages[i].gpu_rate < gpus[slowest] * candidate.stages[slowest].gpu_rate) slowest = i;
    }
    ++gpus[slowest];
    ++used[candidate.stages[slowest].gpu_class];
    point += grid_.Stride(candidate.stages[slowest].gpu_class);
  }
}

void PoolTable::Fill() {
  best_.assign(grid_.Points(), 0);
  choice_.assign(grid_.Points(), -1);
  for (size_t point = 1; point < grid_.Points(); ++point) {
    double best = -1;
    for (int i = 0; i < grid_.Classes(); ++i) {
      if (grid_.Gpus(point, i) == 0 || best_[point - grid_.Stride(i)] <= best) continue;
      best = best_[point - grid_.Stride(i)];
      choice_[point] = -1 - i;
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!grid_.Fits(items_[i].point, point)) continue;
      const double together = items_[i].throughput + best_[point - items_[i].point];
      if (together <= best) continue;
      best = together;
      choice_[point] = static_cast<int>(i);
    }
    if (direct_[point].throughput > best) {
      best = direct_[point].throughput;
      choice_[point] = static_cast<int>(items_.size());
      items_.push_back(direct_[point]);
    }
    best_[point] = best;
  }
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
      for (size_t i = 0; i < item.share.gpus.size(); ++i) found->second.gpus[i] += item.share.gpus[i];
    }
    point -= item.point;
  }
  std::vector<Share> list;
  for (auto& [candidate, share] : shares) list.push_back(std::move(share));
  return list;
}

Division::Division(const PoolGrid& grid, std::span<const PoolTable> tables, std::span<const double> weights)
    : grid_(grid) {
  for (size_t i = 0; i < tables.size(); ++i) Add(tables[i], weights[i]);
}

// Along the last class, what this model makes grows with its part and what the others make shrinks: the best part is
// where the two cross.
void Division::Add(const PoolTable& table, double weight) {
  const size_t points = grid_.Points();
  std::vector<double>& best = best_.emplace_back(points, -1);
  std::vector<size_t>& own = own_.emplace_back(points, 0);
  const auto own_value = [&](size_t point) { return table.Best(point) / weight; };
  if (best_.size() == 1) {
    for (size_t point = 0; point < points; ++point) {
      best[point] = own_value(point);
      own[point] = point;
    }
    return;
  }
  const std::vector<double>& others = best_[best_.size() - 2];
  const size_t row = static_cast<size_t>(grid_.MaxGpus(grid_.Classes() - 1)) + 1;
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
