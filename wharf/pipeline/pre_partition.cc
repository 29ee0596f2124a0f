#include "wharf/pipeline/pre_partition.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wharf::pipeline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::Status Check(std::span<const Layer> layers, int blocks) {
  if (layers.empty()) return InvalidArgument("there are no layers to group");
  if (blocks < 1) return InvalidArgument("{} blocks, not 1 or more", blocks);
  for (const Layer& layer : layers) {
    if (!(layer.time_us >= 0 && std::isfinite(layer.time_us))) {
      return InvalidArgument("a layer takes {} µs", layer.time_us);
    }
  }
  return absl::OkStatus();
}

// Best ways to group the first layers into blocks, block after block.
class Grouping {
 public:
  Grouping(std::span<const Layer> layers, int blocks) : layers_(layers), blocks_(blocks), times_(layers.size() + 1) {
    for (size_t i = 0; i < layers.size(); ++i) times_[i + 1] = times_[i] + layers[i].time_us;
  }

  // The least longest block.
  double LeastLongest() const {
    return Solve([this](double before, int begin, int end) { return std::max(before, times_[end] - times_[begin]); })
        .back()
        .back();
  }

  // The ends of the blocks of least cost, none longer than `longest`.
  std::vector<int> SmallestCuts(double longest) const {
    const auto bytes = [&](double before, int begin, int end) {
      if (times_[end] - times_[begin] > longest) return kInfinity;
      return before + (begin == 0 ? 0 : static_cast<double>(layers_[begin - 1].cut_bytes));
    };
    const auto best = Solve(bytes);
    std::vector<int> ends(blocks_);
    int end = static_cast<int>(layers_.size());
    for (int block = blocks_; block > 0; --block) {
      ends[block - 1] = end;
      int begin = block - 1;
      while (bytes(best[block - 1][begin], begin, end) != best[block][end]) ++begin;
      end = begin;
    }
    return ends;
  }

 private:
  // [block][end]: the least cost of `block` blocks of the first `end` layers; cost(of the blocks before, begin, end).
  template <typename Cost>
  std::vector<std::vector<double>> Solve(Cost cost) const {
    const int layers = static_cast<int>(layers_.size());
    std::vector<std::vector<double>> best(blocks_ + 1, std::vector<double>(layers + 1, kInfinity));
    best[0][0] = 0;
    for (int block = 1; block <= blocks_; ++block) {
      for (int end = block; end <= layers; ++end) {
        for (int begin = block - 1; begin < end; ++begin) {
          best[block][end] = std::min(best[block][end], cost(best[block - 1][begin], begin, end));
        }
      }
    }
    return best;
  }

  const std::span<const Layer> layers_;
  const int blocks_;
  std::vector<double> times_;  // of the layers before
};

}  // namespace

absl::StatusOr<std::vector<int>> EqualTimeBlocks(std::span<const Layer> layers, int blocks) {
  WHARF_RETURN_IF_ERROR(Check(layers, blocks));
  double total = 0;
  for (const Layer& layer : layers) total += layer.time_us;
  const double target = total / blocks;
  std::vector<int> ends;
  double time = layers[0].time_us;
  for (size_t i = 1; i < layers.size(); ++i) {
    const double with_next = time + layers[i].time_us;
    const bool last = static_cast<int>(ends.size()) == blocks - 1;
    if (last || std::abs(with_next - target) < std::abs(time - target)) {
      time = with_next;
    } else {
      ends.push_back(static_cast<int>(i));
      time = layers[i].time_us;
    }
  }
  ends.push_back(static_cast<int>(layers.size()));
  return ends;
}

absl::StatusOr<std::vector<int>> SmallestCutBlocks(std::span<const Layer> layers, int blocks, double slack) {
  WHARF_RETURN_IF_ERROR(Check(layers, blocks));
  if (!(slack >= 0)) return InvalidArgument("a slack of {}, not 0 or more", slack);
  const Grouping grouping(layers, std::min(blocks, static_cast<int>(layers.size())));
  return grouping.SmallestCuts(grouping.LeastLongest() * (1 + slack));
}

}  // namespace wharf::pipeline
