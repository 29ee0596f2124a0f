// Random networks on images for property tests: chains of operators with branches, made of whatever fits the shape at
// hand.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "wharf/graph/graph.h"

namespace wharf::exec::testing {

class RandomGraph {
 public:
  // One input of floats [N, C, H, W], one output, and some `operators` between.
  static graph::Graph Make(uint32_t seed, int operators);

 private:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}
  int Pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  graph::Shape& Shape() { return graph_.values[last_].type.shape; }
  int Value(graph::Shape shape);
  int Floats(graph::Shape shape, float low = -1, float high = 1);
  int Integers(const std::vector<int64_t>& values);
  // The last value through a node; false, and nothing changes, if the shape is empty or grows beyond what tests want.
  bool Apply(std::string op, std::vector<int> more_inputs, graph::Shape out,
             std::map<std::string, graph::Attribute, std::less<>> attributes = {});

  struct Windows {
    std::vector<int64_t> kernel, stride, dilation, pads;
  };
  Windows RandomWindows(bool dilated, bool padding_within_kernel);
  graph::Shape Windowed(const Windows& windows, int64_t channels);

  bool Conv();
  bool ConvTranspose();
  bool Pool();
  bool Activation();
  bool AddConstant();
  bool Norm();
  bool Concat();
  bool Reshape();
  bool Resize();
  bool Softmax();
  bool Blocks();
  bool MatMul();
  bool Transpose();
  bool Pad();
  bool Branch();
  bool Squeeze();
  bool Slice();
  bool ReduceChannels();

  graph::Graph graph_;
  std::mt19937 random_;
  int last_ = 0;
};

}  // namespace wharf::exec::testing
