// The same network and decoding on the CPU, written independently of the CUDA operators: what --check compares with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "examples/cuda_pose/image.h"
#include "examples/cuda_pose/network.h"

namespace pose {

struct HostTensor {
  int channels = 0, height = 0, width = 0;
  std::vector<float> data;
};

// Every convolution's result by name, in order.
using Trace = std::vector<std::pair<std::string, HostTensor>>;

class ReferenceOps {
 public:
  using Tensor = HostTensor;
  explicit ReferenceOps(Trace* trace) : trace_(trace) {}
  Tensor Convolve(const Conv& conv, const Tensor& x);
  Tensor Add(const Tensor& a, const Tensor& b);
  Tensor Concat(const std::vector<Tensor>& parts);
  Tensor Upsample2(const Tensor& x);
  Tensor MaxPool5(const Tensor& x);

 private:
  Trace* trace_;
};

// `input` is a picture of kInputWidth x kInputHeight. `trace` may be null.
Detections InferOnCpu(const Network& net, const Image& input, const Letterbox& letterbox, Trace* trace);

}  // namespace pose
