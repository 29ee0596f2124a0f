// What a node's attributes and constant inputs mean once all shapes are known: the one reading of them, for folding,
// row rules and execution. All of these fail with kInvalidArgument (the node contradicts its input's shape) or
// kUnimplemented (something must be known at import and is not).
#pragma once

#include <vector>

#include "wharf/graph/graph.h"

namespace wharf::graph {

// An axis counted from the front. kInvalidArgument unless -rank <= axis < rank.
absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank);

// Elements starts[i] + steps[i] * j, 0 <= j < counts[i], of each axis i. Steps may be negative.
struct SliceRange {
  std::vector<int64_t> starts, steps, counts;
};
absl::StatusOr<SliceRange> SliceOf(const Graph& graph, const Node& node);

// Of Conv, ConvTranspose, MaxPool and AveragePool; one entry for each spatial axis. Padding is what the shapes imply:
// auto_pad and ceil_mode are resolved, and `end` is negative where the last elements are not read. Output i of an axis
// reads inputs i * stride - begin + j * dilation, j < kernel (ConvTranspose: input i adds to those outputs).
struct Window {
  std::vector<int64_t> kernel, stride, dilation, begin, end;
};
absl::StatusOr<Window> WindowOf(const Graph& graph, const Node& node);

// The integers of a constant input; `otherwise` if the node has no such input.
absl::StatusOr<std::vector<int64_t>> ConstantIntegers(const Graph& graph, const Node& node, size_t index,
                                                      std::vector<int64_t> otherwise = {});

// The axes of a Reduce operator, an attribute or input 1, counted from the front and sorted. None means all, or with
// noop_with_empty_axes none.
absl::StatusOr<std::vector<int64_t>> ReducedAxes(const Graph& graph, const Node& node);

}  // namespace wharf::graph
