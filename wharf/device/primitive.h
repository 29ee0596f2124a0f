// The primitives of neural networks: what cuDNN computes, described whole, or as a graph of its operations that only
// cuDNN itself understands (dnn_graph.h); Fourier transforms (fourier.h); and what LAPACK computes (lapack.h). Tensors
// have five dimensions (batch, channels, depth, height, width); those that a program's tensor does not have are 1.
//
// On the software device results are rounded once, to the tensors' type: what is between is computed in float, or in
// double for double. cuDNN also rounds between its steps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/dnn_graph.h"
#include "wharf/device/element_type.h"
#include "wharf/device/fourier.h"
#include "wharf/device/lapack.h"
#include "wharf/device/recurrent.h"

namespace wharf::device {

using DeviceAddress = uint64_t;

inline constexpr int kTensorDims = 5, kSpatialDims = 3;

struct Tensor {
  DeviceAddress address = 0;
  ElementType type = ElementType::kF32;
  std::array<int32_t, kTensorDims> dims{1, 1, 1, 1, 1}, strides{1, 1, 1, 1, 1};  // strides in elements

  int64_t Volume() const;  // REQUIRES: CheckPrimitive accepted the primitive it is of
  // From the first to behind the last element; likewise.
  uint64_t Bytes() const;
};
// Per spatial dimension.
using Spatial = std::array<int32_t, kSpatialDims>;

enum class Activation : uint8_t { kNone, kRelu, kClippedRelu, kSigmoid, kTanh, kElu, kSwish, kGelu, kGeluTanh };
struct ActivationForm {
  Activation kind = Activation::kNone;
  double coefficient = 0;  // the ceiling of kClippedRelu, alpha of kElu, beta of kSwish
};

// y = activation(alpha * (x * filter) + beta * added + bias), or its transpose, which is the gradient with respect to
// the data: x = activation(alpha * (y * filter)' + beta * added + bias). The filter's dimensions are outputs, inputs of
// a group, and the window. `added` is of the result's shape and may be the result itself; address 0: none.
struct Convolution {
  bool transposed = false;
  bool flipped = false;  // a convolution as mathematics has it, rather than a cross-correlation
  bool tf32 = true;      // a device that rounds the factors of float to 10 bits (TF32) may do it
  Tensor x, filter, y, added;
  Spatial padding{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1};  // the same padding before and behind
  int32_t groups = 1;
  double alpha = 1, beta = 0;
  DeviceAddress bias = 0;  // 0: none; one element for each channel of the result
  ElementType bias_type = ElementType::kF32;
  ActivationForm activation;
};

// y = alpha * pooled(x) + beta * y
enum class PoolingKind : uint8_t { kMax, kAverageWithPadding, kAverageWithoutPadding };
struct Pooling {
  PoolingKind kind = PoolingKind::kMax;
  bool propagates_nan = false;  // of kMax
  Tensor x, y;
  Spatial window{1, 1, 1}, padding{0, 0, 0}, stride{1, 1, 1};
  double alpha = 1, beta = 0;
};

// y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + shift) + beta * y. The four parameters lie alike: of one
// element a channel, or of one for each place of a batch's element. `scale` describes them; the others have addresses.
struct BatchNorm {
  Tensor x, y, scale;
  DeviceAddress shift = 0, mean = 0, variance = 0;
  double epsilon = 0, alpha = 1, beta = 0;
};

// y = alpha * softmax(x) + beta * y, over channels at each place, or over all of a batch's element.
struct Softmax {
  bool log = false, over_all = false;
  Tensor x, y;
  double alpha = 1, beta = 0;
};

// y = alpha * activation(op(alpha_a * a, alpha_b * b)) + beta * y. An operand of size 1 in a dimension is repeated in
// it. a and b may be y. kConstant has none of them: alpha * activation(alpha_a). kFirst and what follows have no b.
enum class PointwiseKind : uint8_t { kAdd, kMultiply, kMin, kMax, kSubtract, kDivide, kConstant, kFirst, kSqrt };
struct Pointwise {
  PointwiseKind kind = PointwiseKind::kFirst;
  Tensor a, b, y;
  double alpha_a = 1, alpha_b = 1, alpha = 1, beta = 0;
  ActivationForm activation;
};
constexpr bool HasFirst(PointwiseKind kind) { return kind != PointwiseKind::kConstant; }
constexpr bool HasSecond(PointwiseKind kind) { return kind < PointwiseKind::kConstant; }

using Primitive =
    std::variant<Convolution, Pooling, BatchNorm, Softmax, Pointwise, Recurrent, Fourier, Lapack, DnnGraph>;

// Memory that a primitive touches. Its results are the last ones; there is one, but of recurrent networks, of Fourier
// transforms that overwrite their input, of LAPACK's routines, whose matrices are overwritten, too, and of graphs.
struct PrimitiveOperand {
  const char* name = "";
  DeviceAddress address = 0;
  uint64_t bytes = 0;
  bool read = true, written = false;  // a result that is written whole and not used is not read
};
// REQUIRES: CheckPrimitive accepted it.
std::vector<PrimitiveOperand> OperandsOf(const Primitive& primitive);

// What a stranger may give is looked at here, whatever computes it. Afterwards no sum or product of sizes, strides and
// positions that a primitive needs exceeds 63 bits, no tensor has more elements than its memory holds, or than an
// int32_t counts, and all that is read or written is memory for which `is_mapped` holds. kInvalidValue; kNotSupported
// for types that none computes, larger tensors, and such whose elements share memory. Of a graph only what its tensors
// say is looked at, and of ragged ones only where they start: what its operations are is left to cuDNN.
absl::Status CheckPrimitive(const Primitive& primitive,
                            const std::function<bool(DeviceAddress, uint64_t bytes)>& is_mapped);

// "convolution" and so on.
const char* NameOf(const Primitive& primitive);
// Multiplications and other steps, for estimates. REQUIRES: CheckPrimitive accepted it.
int64_t WorkOf(const Primitive& primitive);

}  // namespace wharf::device
