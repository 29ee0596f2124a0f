// Pre-partitioning: layers grouped into a few blocks, so that a planner has a few cuts to choose from instead of
// hundreds (thesis 4.5.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::pipeline {

inline constexpr int kDefaultBlocks = 10;

// Layers in the order they run.
struct Layer {
  double time_us = 0;
  int64_t cut_bytes = 0;  // all that later layers read of this one and of those before: sent if cut behind it
};

// Both return where each block ends, [.., layers.size()]. kInvalidArgument: no layer, no block, or a negative time.

// As published: layer after layer joins a block as long as that brings the block's time nearer to total / blocks; the
// last block has the rest. At most `blocks`; fewer where layers are long. O(layers).
absl::StatusOr<std::vector<int>> EqualTimeBlocks(std::span<const Layer> layers, int blocks = kDefaultBlocks);

// The least sum of cut_bytes at the borders of exactly min(blocks, layers) blocks none of which takes more than
// (1 + slack) times as long as the longest must. O(blocks · layers²).
absl::StatusOr<std::vector<int>> SmallestCutBlocks(std::span<const Layer> layers, int blocks = kDefaultBlocks,
                                                   double slack = 0.1);

}  // namespace wharf::pipeline
