// Primitives of neural networks, as every device must compute them and refuse what it cannot.
#include <cmath>

#include "wharf/device/device_conformance.h"
#include "wharf/device/primitive_testing.h"

namespace wharf::device {
namespace {

class PrimitiveConformance : public DeviceConformance {
 protected:
  // A picture of 3 by 3 and a window of 2 by 2.
  Convolution MakeConvolution() {
    Convolution c;
    c.x = Packed({1, 1, 1, 3, 3}, MapSlot(0));
    c.filter = Packed({1, 1, 1, 2, 2}, MapSlot(1));
    c.y = Packed({1, 1, 1, 2, 2}, MapSlot(2));
    EXPECT_EQ(Write(c.x.address, Iota<float>(9, 1)), absl::OkStatus());
    EXPECT_EQ(Write(c.filter.address, std::vector<float>{1, 2, 3, 4}), absl::OkStatus());
    EXPECT_EQ(Write(c.y.address, std::vector<float>{-100, 1, 1, 1}), absl::OkStatus());
    return c;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, PrimitiveConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

TEST_P(PrimitiveConformance, PrimitiveConvolutionWithBiasAndActivation) {
  Convolution c = MakeConvolution();
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, c), absl::OkStatus());
  EXPECT_EQ(Read<float>(c.y.address, 4), (std::vector<float>{37, 47, 67, 77}));
  ASSERT_EQ(Write(c.y.address, std::vector<float>{-100, 1, 1, 1}), absl::OkStatus());
  c.added = c.y;
  c.beta = 1;
  c.bias = MapSlot(3);
  c.activation.kind = Activation::kRelu;
  ASSERT_EQ(Write(c.bias, std::vector<float>{10}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, c), absl::OkStatus());
  EXPECT_EQ(Read<float>(c.y.address, 4), (std::vector<float>{0, 58, 78, 88}));
}

TEST_P(PrimitiveConformance, PrimitiveConvolutionTransposed) {
  Convolution c = MakeConvolution();
  c.transposed = true;
  ASSERT_EQ(Write(c.y.address, std::vector<float>{1, 0, 0, 1}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, c), absl::OkStatus());
  EXPECT_EQ(Read<float>(c.x.address, 9), (std::vector<float>{1, 2, 0, 3, 5, 2, 0, 3, 4}));
}

TEST_P(PrimitiveConformance, PrimitivesOfOtherKinds) {
  const DeviceAddress in = MapSlot(0), out = MapSlot(1), parameters = MapSlot(2);
  ASSERT_EQ(Write(in, std::vector<float>{1, 2, 3, 4, -1, -2, -3, -4}), absl::OkStatus());
  Pooling pooling;
  pooling.x = Packed({1, 2, 1, 2, 2}, in);
  pooling.y = Packed({1, 2, 1, 1, 1}, out);
  pooling.window = {1, 2, 2};
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, pooling), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 2), (std::vector<float>{4, -1}));

  BatchNorm norm;
  norm.x = pooling.x;
  norm.y = Packed({1, 2, 1, 2, 2}, out);
  norm.scale = Packed({1, 2, 1, 1, 1}, parameters);
  norm.shift = parameters + 8;
  norm.mean = parameters + 16;
  norm.variance = parameters + 24;
  ASSERT_EQ(Write(parameters, std::vector<float>{2, 3, 10, 20, 1, -1, 4, 1}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, norm), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 8), (std::vector<float>{10, 11, 12, 13, 20, 17, 14, 11}));

  Softmax softmax;
  softmax.x = Packed({4, 2, 1, 1, 1}, in);
  softmax.y = Packed({4, 2, 1, 1, 1}, out);
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, softmax), absl::OkStatus());
  EXPECT_NEAR(Read<float>(out, 1)[0], 0.26894142, 1e-6);

  Pointwise pointwise;
  pointwise.kind = PointwiseKind::kAdd;
  pointwise.a = Packed({1, 2, 1, 2, 2}, in);
  pointwise.b = norm.scale;
  pointwise.y = norm.y;
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, pointwise), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 8), (std::vector<float>{3, 4, 5, 6, 2, 1, 0, -1}));
}

// Of one element each, so that what comes out can be told by hand.
TEST_P(PrimitiveConformance, PrimitiveRecurrentNetworks) {
  Recurrent r;
  r.cell = RecurrentCell::kRelu;
  r.both_directions = true;
  r.fills = true;
  r.filling = -1;
  r.steps = 3;
  r.batch = 2;
  r.lengths = {3, 2};
  r.x = MapSlot(0), r.y = MapSlot(1), r.weights = MapSlot(2), r.hx = MapSlot(3), r.hy = MapSlot(4);
  // Steps first: 1, 2, 3 and 10, 20. W, R of either direction, then their biases of W, R.
  ASSERT_EQ(Write(r.x, std::vector<float>{1, 10, 2, 20, 3, 99}), absl::OkStatus());
  ASSERT_EQ(Write(r.weights, std::vector<float>{1, 1, 2, 1, 0, 0.5, 0, 0}), absl::OkStatus());
  ASSERT_EQ(Write(r.hx, std::vector<float>{0, 100, 0, 0}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, r), absl::OkStatus());
  EXPECT_EQ(Read<float>(r.y, 12), (std::vector<float>{1.5, 12, 110.5, 60, 4, 10, 131, 40, 7.5, 6, -1, -1}));
  EXPECT_EQ(Read<float>(r.hy, 4), (std::vector<float>{7.5, 131, 12, 60}));

  Recurrent lstm;
  lstm.cell = RecurrentCell::kLstm;
  lstm.bias = RecurrentBias::kNone;
  lstm.x = r.x, lstm.y = r.y, lstm.weights = r.weights, lstm.cx = r.hx, lstm.cy = r.hy;
  ASSERT_EQ(Write(lstm.weights, std::vector<float>{99, -99, 99, 99, 0, 0, 0, 0}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, lstm), absl::OkStatus());
  EXPECT_EQ(Read<float>(lstm.cy, 1), (std::vector<float>{1}));  // all of the new, nothing of the old
  EXPECT_NEAR(Read<float>(lstm.y, 1)[0], std::tanh(1.0F), 1e-6F);
  lstm.lengths = {2};
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(kDefaultStream, lstm)), CudaError::kInvalidValue);
}

TEST_P(PrimitiveConformance, PrimitiveFourierTransforms) {
  const DeviceAddress in = MapSlot(0), out = MapSlot(1);
  Fourier f;
  f.sizes = {1, 1, 4};
  f.batch = 2;
  f.in = {in, 1, 1, 2, 1};  // the one between the other
  f.out = {out, 1, 1, 1, 5};
  ASSERT_EQ(Write(in, std::vector<float>{1, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, f), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 18), (std::vector<float>{10, 0, -2, 2, -2, 0, -2, -2, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1}));
  f.inverse = true;
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, f), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 8), (std::vector<float>{10, 0, -2, -2, -2, 0, -2, 2}));

  Fourier real;
  real.kind = FourierKind::kRealToComplex;
  real.type = ElementType::kF64;
  real.sizes = {1, 2, 3};
  real.in = {in, 2, 4, 1, 8};  // in place, in rows that have room for the results
  real.out = {in, 2, 2, 1, 4};
  ASSERT_EQ(Write(in, std::vector<double>{1, 1, 1, 9, 3, 3, 3, 9}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, real), absl::OkStatus());
  EXPECT_EQ(Read<double>(in, 8), (std::vector<double>{12, 0, 0, 0, -6, 0, 0, 0}));
  real.kind = FourierKind::kComplexToReal;
  std::swap(real.in, real.out);
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, real), absl::OkStatus());
  EXPECT_EQ(Read<double>(in, 3), (std::vector<double>{6, 6, 6}));
  EXPECT_EQ(Read<double>(in + 4 * sizeof(double), 3), (std::vector<double>{18, 18, 18}));
  real.in.address = 0;
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(kDefaultStream, real)), CudaError::kInvalidValue);
}

TEST_P(PrimitiveConformance, PrimitiveLapack) {
  Lapack l;
  l.routine = LapackRoutine::kGetrf;
  l.m = l.n = 2;
  l.operands = {LapackOperand{MapSlot(0), 3, 0}, {MapSlot(1), 1, 0}, {MapSlot(2), 2, 0}, {}};
  l.info = MapSlot(3);
  // Columns of two, three apart; the larger pivot is in the second row.
  ASSERT_EQ(Write(l.operands[0].address, std::vector<float>{1, 4, 9, 3, 2, 9}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, l), absl::OkStatus());
  EXPECT_EQ(Read<float>(l.operands[0].address, 6), (std::vector<float>{4, 0.25, 9, 2, 2.5, 9}));
  EXPECT_EQ(Read<int32_t>(l.operands[1].address, 2), (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(Read<int32_t>(l.info, 1), (std::vector<int32_t>{0}));
  l.routine = LapackRoutine::kGetrs;
  ASSERT_EQ(Write(l.operands[2].address, std::vector<float>{7, 8}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, l), absl::OkStatus());
  EXPECT_NEAR(Read<float>(l.operands[2].address, 2)[0], 1, 1e-6);
  EXPECT_NEAR(Read<float>(l.operands[2].address, 2)[1], 2, 1e-6);

  l.routine = LapackRoutine::kGetrf;
  ASSERT_EQ(Write(l.operands[0].address, std::vector<float>{1, 2, 9, 2, 4, 9}), absl::OkStatus());
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, l), absl::OkStatus());
  EXPECT_EQ(Read<int32_t>(l.info, 1), (std::vector<int32_t>{2}));  // U has a zero there
  l.operands[0].address = 0;
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(kDefaultStream, l)), CudaError::kInvalidValue);
}

TEST_P(PrimitiveConformance, PrimitivesInAPreparedList) {
  const Convolution c = MakeConvolution();
  Pointwise doubled;
  doubled.a = doubled.y = c.y;
  doubled.alpha = 2;
  const auto list = device_->PrepareWork({{kDefaultStream, Primitive(c)}, {kDefaultStream, Primitive(doubled)}});
  for (int i = 0; i < 2; ++i) {
    const Submission submission = list->Submit(0, 2);
    ASSERT_EQ(submission.status, absl::OkStatus());
    EXPECT_EQ(Read<float>(c.y.address, 4), (std::vector<float>{74, 94, 134, 154}));
  }
}

TEST_P(PrimitiveConformance, PrimitivesOnWrongMemoryAreRefusedAtOnce) {
  Convolution c = MakeConvolution();
  c.filter.address = device_->Arena().base + 2 * 40 * Granularity();  // not mapped
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(kDefaultStream, c)), CudaError::kInvalidValue);
  c.filter.address = c.x.address;
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(77, c)), CudaError::kInvalidHandle);
  c.y.dims[1] = 2;
  EXPECT_EQ(CudaErrorOf(device_->RunPrimitive(kDefaultStream, c)), CudaError::kInvalidValue);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

}  // namespace
}  // namespace wharf::device
