// PoolTable: how much of a model any number of GPUs of each class can serve at best, exactly, by dynamic programming.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wharf/pipeline/planner/candidates.h"

namespace wharf::pipeline {

// All ways to have 0 … N_k GPUs of each class k, numbered so that a way with no fewer of each class has no lower
// number, and numbers subtract as ways do.
class PoolGrid {
 public:
  explicit PoolGrid(const Cluster& cluster);
  // Ways of the whole cluster; saturates.
  static size_t CountPoints(const Cluster& cluster);

  size_t Points() const { return points_; }
  int Classes() const { return static_cast<int>(sizes_.size()); }
  size_t Stride(int gpu_class) const { return strides_[gpu_class]; }
  int Gpus(size_t point, int gpu_class) const { return gpus_[point * sizes_.size() + gpu_class]; }
  int MaxGpus(int gpu_class) const { return sizes_[gpu_class] - 1; }
  // Whether `a` has no more GPUs than `b` of any class.
  bool Fits(size_t a, size_t b) const;

 private:
  std::vector<int> sizes_;  // N_k + 1
  std::vector<size_t> strides_;
  size_t points_ = 1;
  std::vector<int> gpus_;  // [point][class]
};

// Some GPUs for a candidate: gpus[i] for its stage i.
struct Share {
  int candidate = 0;
  std::vector<int> gpus;
};

// The slowest stage's.
double Throughput(const Candidate& candidate, std::span<const int> gpus);

class PoolTable {
 public:
  // O(points · shares worth having), which are at most the points and in practice some tenth of them. `grid` and
  // `candidates` outlive the table.
  PoolTable(const PoolGrid& grid, const std::vector<Candidate>& candidates, Mode mode);

  // Requests/s on the GPUs of `point`: no pipelines made of the candidates serve more. Grows with each class's GPUs.
  double Best(size_t point) const { return best_[point]; }
  // The shares that make it, each candidate at most once.
  std::vector<Share> Shares(size_t point) const;

 private:
  struct Item {
    size_t point = 0;  // the GPUs it takes
    double throughput = 0;
    Share share;
  };
  void Offer(const Candidate& candidate, int index, Mode mode);
  void Fill();

  const PoolGrid& grid_;
  const std::vector<Candidate>& candidates_;
  std::vector<Item> direct_;  // [point]: the best single candidate that takes exactly these GPUs
  std::vector<Item> items_;   // those that are better than any combination of smaller ones
  std::vector<double> best_;
  std::vector<int> choice_;  // >= 0: an item, and what is best without its GPUs; < 0: one GPU of class -1 - choice less
};

// The best way to part a cluster's GPUs among models, by the least throughput / weight.
class Division {
 public:
  // REQUIRES: as many weights as tables, all on the same grid. O(models · points · points / N log N), N the GPUs of the
  // last class.
  Division(const PoolGrid& grid, std::span<const PoolTable> tables, std::span<const double> weights);

  // The least normalised throughput on the GPUs of `point`: no division is better.
  double Best(size_t point) const { return best_.back()[point]; }
  // [model]: the point each model gets.
  std::vector<size_t> Points(size_t point) const;

 private:
  void Add(const PoolTable& table, double weight);

  const PoolGrid& grid_;
  std::vector<std::vector<double>> best_;  // [model][point]: of the models up to this one
  std::vector<std::vector<size_t>> own_;   // [model][point]: this model's part
};

}  // namespace wharf::pipeline
