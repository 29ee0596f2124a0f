// Batch normalization when a network trains, which cuDNN also has as functions of their own, not only as graphs. It is
// sent as a graph (dnn_graph.h) with one operation, which has numbers that are not the vendor's.
#pragma once

#include <optional>

#include "wharf/device/dnn_graph.h"
#include "wharf/device/primitive.h"

namespace wharf::device {

// Forward: y = alpha (scale (x - m) / sqrt(v + epsilon) + shift) + beta y, with mean m and variance v of the batch.
// `mean` and `variance` go the part `factor` of their way to those, and what backward needs of them is saved.
// Backward: of y, which is the gradient here, those with respect to x (in dx), scale and shift.
struct DnnNorm {
  bool backward = false;
  int32_t mode = 1;  // cudnnBatchNormMode_t
  double epsilon = 0, factor = 0;
  double alpha = 1, beta = 0, parameter_alpha = 1, parameter_beta = 0;
  Tensor x, y, dx;
  Tensor scale;  // all others lie as it does
  // 0: not wanted, or not there; of two that belong together both.
  DeviceAddress shift = 0, mean = 0, variance = 0, saved_mean = 0, saved_inverse = 0, dscale = 0, dshift = 0;
};

DnnGraph GraphOf(const DnnNorm& norm);
// The reverse; nothing of graphs of the vendor's. kInvalidValue: the operation is not alone, lacks a tensor or has one
// too many, or they do not fit each other. REQUIRES: `description` is that of `graph`.
absl::StatusOr<std::optional<DnnNorm>> NormOf(const DnnDescription& description, const DnnGraph& graph);
absl::StatusOr<std::optional<DnnNorm>> NormOf(const DnnGraph& graph);

// Descriptors; and their attributes, which are also the numbers of the tensors.
inline constexpr int32_t kDnnNormForward = 1001, kDnnNormBackward = 1002;
enum DnnNormPart : int32_t {
  kNormX = 1,
  kNormY,
  kNormDx,
  kNormScale,
  kNormShift,
  kNormMean,
  kNormVariance,
  kNormSavedMean,
  kNormSavedInverse,
  kNormDscale,
  kNormDshift,
};
bool IsWrittenByNorm(int32_t operation, int32_t part);

}  // namespace wharf::device
