// PoolTable: how much of a model any number of GPUs of each class can serve at best, exactly, by dynamic programming.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "wharf/pipeline/planner/candidates.h"

namespace wharf::pipeline {

// All ways to have some of a cluster's GPUs, in units: whole GPUs, or parts that virtual GPUs are whole numbers of.
// Numbered so that a way with no fewer of each class has no lower number, and numbers subtract as ways do.
class PoolGrid {
 public:
  // units_per_gpu[class]; left out: 1 each.
  explicit PoolGrid(const Cluster& cluster, std::vector<int> units_per_gpu = {});
  // Ways of the whole cluster; saturates.
  static size_t CountPoints(const Cluster& cluster, std::span<const int> units_per_gpu = {});

  size_t Points() const { return points_; }
  int Classes() const { return static_cast<int>(sizes_.size()); }
  size_t Stride(int gpu_class) const { return strides_[gpu_class]; }
  int UnitsPerGpu(int gpu_class) const { return units_per_gpu_[gpu_class]; }
  int Units(size_t point, int gpu_class) const { return units_[point * sizes_.size() + gpu_class]; }
  int MaxUnits(int gpu_class) const { return sizes_[gpu_class] - 1; }
  // Whether `a` has no more than `b` of any class.
  bool Fits(size_t a, size_t b) const;

 private:
  std::vector<int> units_per_gpu_;
  std::vector<int> sizes_;  // of each class: all its units, and 1
  std::vector<size_t> strides_;
  size_t points_ = 1;
  std::vector<int> units_;  // [point][class]
};

// Some virtual GPUs for a candidate: vgpus[i] for its stage i.
struct Share {
  int candidate = 0;
  std::vector<int> vgpus;
};

// The slowest stage's.
double Throughput(const Candidate& candidate, std::span<const int> vgpus);

// What need not be looked at. GPUs have prices at which no candidate's request costs less than `request_price`, so that
// every pipeline wastes something or nothing: what its GPUs cost beyond what its requests do. Pipelines that waste more
// than `slack` together are left out.
struct PoolPruning {
  std::vector<double> unit_prices;  // [class]
  double request_price = 0;
  double slack = std::numeric_limits<double>::infinity();
  uint64_t max_steps = std::numeric_limits<uint64_t>::max();  // additions of a pipeline to others; then it gives up
};

class PoolTable {
 public:
  // O(points · shares worth having), which are at most the points and in practice some tenth of them. A stage gets GPUs
  // one by one where the grid's unit is a whole GPU, else virtual GPUs one by one. REQUIRES: the grid's units per GPU
  // are 1 or a multiple of every candidate's vgpus_per_gpu. `grid` and `candidates` outlive the table.
  PoolTable(const PoolGrid& grid, const std::vector<Candidate>& candidates, Mode mode, PoolPruning pruning = {});

  // Requests/s on the units of `point`, which Shares makes: unless they waste more than the slack, no pipelines made of
  // the candidates serve more. Grows with each class's units.
  double Best(size_t point) const { return best_[point]; }
  // Best of all points of a grid of whole GPUs of the same cluster.
  std::vector<double> BestOfWholeGpus(const PoolGrid& whole) const;
  // The shares that make it, each candidate at most once.
  std::vector<Share> Shares(size_t point) const;
  // The same of a point of a grid of whole GPUs.
  std::vector<Share> SharesOfWholeGpus(const PoolGrid& whole, size_t point) const;
  // False if it gave up: what Best says can be had, but there may be better.
  bool Complete() const { return steps_ <= pruning_.max_steps; }
  uint64_t Steps() const { return steps_; }

 private:
  struct Item {
    size_t point = 0;  // the units it takes
    double throughput = 0, waste = 0;
    Share share;
  };
  void Offer(const Candidate& candidate, int index, Mode mode);
  void Fill();
  // True if a point with less serves as much: then that is what `point` has.
  bool TakeFromLess(size_t point);
  void PushFrom(size_t point);
  double Waste(size_t point, double throughput) const;
  size_t PointOf(const PoolGrid& whole, size_t point) const;

  const PoolGrid& grid_;
  const std::vector<Candidate>& candidates_;
  const PoolPruning pruning_;
  double rounding_ = 0;        // of wastes
  std::vector<Item> offers_;   // single candidates, by point
  std::vector<Item> items_;    // those that are better than any combination of smaller ones
  std::vector<int> by_waste_;  // items_, the least first
  uint64_t steps_ = 0;
  std::vector<double> best_;
  std::vector<int>
      choice_;  // >= 0: an item, and what is best without its units; < 0: one unit of class -1 - choice less
};

// The best way to part a cluster's GPUs among models, by the least throughput / weight.
class Division {
 public:
  // values[model][point] grows with each class's GPUs. REQUIRES: as many weights as models. O(models · points · points
  // / N log N), N the GPUs of the last class.
  Division(const PoolGrid& grid, std::span<const std::vector<double>> values, std::span<const double> weights);

  // The least normalised throughput on the GPUs of `point`: no division is better.
  double Best(size_t point) const { return best_.back()[point]; }
  // [model]: the point each model gets.
  std::vector<size_t> Points(size_t point) const;

 private:
  void Add(const std::vector<double>& values, double weight);

  const PoolGrid& grid_;
  std::vector<std::vector<double>> best_;  // [model][point]: of the models up to this one
  std::vector<std::vector<size_t>> own_;   // [model][point]: this model's part
};

}  // namespace wharf::pipeline
