// Networks for tests and demonstrations: residual networks with random weights, as ONNX files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wharf::pipeline::testing {

struct NetworkShape {
  int channels = 8;  // of the first stage; each stage doubles them and halves height and width
  int stages = 2;
  int blocks = 2;         // residual ones, a stage
  int size = 32;          // height and width of the input, which has 3 channels
  bool any_batch = true;  // false: one sample at a time, for good
  uint32_t seed = 1;
};

// Input "image" [batch, 3, size, size], outputs "scores" [batch, 10] and, made early, "coarse" [batch, channels].
std::vector<std::byte> MakeNetwork(const NetworkShape& shape);

}  // namespace wharf::pipeline::testing
