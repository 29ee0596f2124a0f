// The network: its weights, and the one description of how its layers connect.
//
// RunNetwork is written once, over an `Ops` that supplies a Tensor and the operators; ops.h has the CUDA one and
// reference.h an independent one on the CPU. Layout of all feature maps: channel, row, column.
#pragma once

#include <string>
#include <vector>

#include "examples/cuda_pose/pose.h"

namespace pose {

// Convolution, batch normalisation (y - mean) * inverse_deviation * gamma + beta, SiLU. An output convolution has a
// bias (in `beta`) and neither normalisation nor activation.
struct Conv {
  std::string name;
  int in = 0, out = 0, kernel_h = 1, kernel_w = 1, stride = 1, dilation = 1;
  bool is_output = false;
  std::vector<float> weight;  // out, in, kernel_h, kernel_w
  std::vector<float> mean, inverse_deviation, gamma, beta;

  int PadH() const { return dilation * (kernel_h - 1) / 2; }
  int PadW() const { return dilation * (kernel_w - 1) / 2; }
  int OutH(int h) const { return (h + 2 * PadH() - dilation * (kernel_h - 1) - 1) / stride + 1; }
  int OutW(int w) const { return (w + 2 * PadW() - dilation * (kernel_w - 1) - 1) / stride + 1; }
};

struct Residual {
  Conv squeeze, expand;
};

// A downsampling convolution and the residual blocks after it.
struct Stage {
  Conv down;
  std::vector<Residual> blocks;
};

struct PoseHead {
  Conv columns, rows, output;
};

struct Network {
  Conv stem;
  Stage stages[4];            // strides 4, 8, 16, 32
  Conv pool_in, pool_out;     // spatial pyramid pooling
  Conv lateral[2], merge[2];  // top-down: to stride 16, to stride 8
  std::vector<Residual> top_down[2];
  Conv bottom_up[2];  // to stride 16, to stride 32
  std::vector<Residual> bottom_up_blocks[2];
  PoseHead heads[kLevels];
  Conv keypoint_window, keypoint_output;
};

// Constructed, not trained: see README.md. The same weights on every machine.
Network BuildNetwork();

// What the network gives. `pose[level]` has 1 + 3 * kJoints channels: the score's logit, then for each joint its mass
// in the window round the cell and its mass-weighted offset from the cell's centre (x, y; unit kOffsetUnit).
// `keypoints` has the last 3 * kJoints channels for a small window at stride 8.
template <class Tensor>
struct NetworkOutput {
  Tensor pose[kLevels], keypoints;
};

template <class Ops>
typename Ops::Tensor RunBlocks(Ops& ops, const std::vector<Residual>& blocks, typename Ops::Tensor x) {
  for (const Residual& block : blocks) x = ops.Add(x, ops.Convolve(block.expand, ops.Convolve(block.squeeze, x)));
  return x;
}

template <class Ops>
NetworkOutput<typename Ops::Tensor> RunNetwork(Ops& ops, const Network& net, typename Ops::Tensor image) {
  using Tensor = typename Ops::Tensor;
  Tensor x = ops.Convolve(net.stem, image);
  Tensor features[4];
  for (int i = 0; i < 4; ++i) {
    x = RunBlocks(ops, net.stages[i].blocks, ops.Convolve(net.stages[i].down, x));
    features[i] = x;
  }

  const Tensor p0 = ops.Convolve(net.pool_in, x);
  const Tensor p1 = ops.MaxPool5(p0), p2 = ops.MaxPool5(p1), p3 = ops.MaxPool5(p2);
  Tensor top = ops.Add(x, ops.Convolve(net.pool_out, ops.Concat({p0, p1, p2, p3})));

  Tensor levels[kLevels] = {features[1], features[2], top};
  for (int i = 0; i < 2; ++i) {  // top-down
    const Tensor up = ops.Upsample2(ops.Convolve(net.lateral[i], levels[2 - i]));
    levels[1 - i] = RunBlocks(ops, net.top_down[i], ops.Convolve(net.merge[i], ops.Concat({up, levels[1 - i]})));
  }
  for (int i = 0; i < 2; ++i) {  // bottom-up
    const Tensor down = ops.Convolve(net.bottom_up[i], levels[i]);
    levels[i + 1] = RunBlocks(ops, net.bottom_up_blocks[i], ops.Add(levels[i + 1], down));
  }

  NetworkOutput<Tensor> output;
  for (int i = 0; i < kLevels; ++i) {
    const PoseHead& head = net.heads[i];
    output.pose[i] = ops.Convolve(head.output, ops.Convolve(head.rows, ops.Convolve(head.columns, levels[i])));
  }
  output.keypoints = ops.Convolve(net.keypoint_output, ops.Convolve(net.keypoint_window, levels[0]));
  return output;
}

}  // namespace pose
