// The network's operators on the GPU: one or more kernels each, unfused as in an eager framework.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "examples/cuda_pose/network.h"
#include "examples/cuda_pose/tensor.h"

namespace pose {

class DeviceOps {
 public:
  using Tensor = DeviceTensor;
  // Is shown every convolution's result.
  using Observer = std::function<void(const std::string& name, const Tensor& result)>;

  explicit DeviceOps(Runtime& runtime) : runtime_(runtime) {}
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  Tensor Convolve(const Conv& conv, const Tensor& x);
  Tensor Add(const Tensor& a, const Tensor& b);
  Tensor Concat(const std::vector<Tensor>& parts);
  Tensor Upsample2(const Tensor& x);
  Tensor MaxPool5(const Tensor& x);

  // Bytes of a picture, row by row, r g b, to channels of (value / 255 - 0.5) / 0.25.
  Tensor Normalise(const Array<uint8_t>& rgb, int height, int width);
  Tensor Sigmoid(const Tensor& x);
  // `count` channels of x: first, first + step, …
  Tensor SelectChannels(const Tensor& x, int first, int step, int count);

  // Uploads a convolution's weights if they are not on the device yet.
  void Prepare(const Conv& conv);

 private:
  struct Weights {
    Tensor weight, mean, inverse_deviation, gamma, beta;
  };
  Tensor Unfold(const Conv& conv, const Tensor& x);
  Tensor NormaliseAndActivate(const Conv& conv, const Weights& weights, Tensor y);

  Runtime& runtime_;
  Observer observer_;
  std::map<std::string, Weights> weights_;
};

}  // namespace pose
