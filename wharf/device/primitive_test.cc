// What a stranger may say of a primitive, and what is refused.
#include "wharf/device/primitive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "wharf/device/cuda_error.h"
#include "wharf/device/primitive_testing.h"

namespace wharf::device {
namespace {

constexpr DeviceAddress kBase = 0x100000;
constexpr uint64_t kBytes = 1 << 20;

bool InMemory(DeviceAddress address, uint64_t bytes) {
  return address >= kBase && bytes <= kBytes && address - kBase <= kBytes - bytes;
}
CudaError Checked(const Primitive& primitive) { return CudaErrorOf(CheckPrimitive(primitive, InMemory)); }

// 2 images of 4 channels, a window of 3 by 3, padding 1.
Convolution GoodConvolution() {
  Convolution c;
  c.x = Packed({2, 4, 1, 8, 8}, kBase);
  c.filter = Packed({6, 4, 1, 3, 3}, kBase + 0x10000);
  c.y = Packed({2, 6, 1, 8, 8}, kBase + 0x20000);
  c.padding = {0, 1, 1};
  return c;
}

TEST(PrimitiveTest, AConvolutionThatIsRightIsAccepted) {
  Convolution c = GoodConvolution();
  EXPECT_EQ(Checked(c), CudaError::kSuccess);
  c.transposed = true;
  EXPECT_EQ(Checked(c), CudaError::kSuccess);
  c.added = c.x;
  c.bias = kBase;
  EXPECT_EQ(Checked(c), CudaError::kSuccess);
  EXPECT_EQ(OperandsOf(c).size(), 5u);
}

TEST(PrimitiveTest, ShapesOfAConvolutionMustAgree) {
  const auto refused = [](auto change) {
    Convolution c = GoodConvolution();
    change(c);
    return Checked(c);
  };
  EXPECT_EQ(refused([](Convolution& c) { c.groups = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.groups = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.y.dims[0] = 1; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.y.dims[1] = 5; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.padding[1] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.padding[1] = -1; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.stride[2] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.dilation[2] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.dilation[2] = std::numeric_limits<int32_t>::max(); }),
            CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) {
              c.padding = {0x7fffffff, 0x7fffffff, 0x7fffffff};
            }),
            CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.added = c.x; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Convolution& c) { c.filter.type = ElementType::kF16; }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Convolution& c) { c.bias = kBase, c.bias_type = ElementType::kI8; }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Convolution& c) { c.activation.kind = static_cast<Activation>(99); }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Convolution& c) { c.bias = kBase + kBytes - 4; }), CudaError::kInvalidValue);
}

TEST(PrimitiveTest, TensorsMustLieInMemoryAlone) {
  Softmax s;
  s.x = s.y = Packed({1, 8, 1, 4, 4}, kBase);
  EXPECT_EQ(Checked(s), CudaError::kSuccess);
  const auto refused = [&](auto change) {
    Softmax other = s;
    change(other.x);
    other.y.dims = other.x.dims;
    return Checked(other);
  };
  EXPECT_EQ(refused([](Tensor& t) { t.address = kBase + kBytes - 508; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.address = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.address = UINT64_MAX - 3; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.address += 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.dims[3] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.dims[3] = -4; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.strides[3] = -4; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.strides[3] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.strides[3] = 1; }), CudaError::kNotSupported);  // shared with dimension 4
  EXPECT_EQ(refused([](Tensor& t) {
              t.dims = {0x7fffffff, 0x7fffffff, 1, 1, 1}, t.strides = {1, 1, 1, 1, 1};
            }),
            CudaError::kNotSupported);
  EXPECT_EQ(refused([](Tensor& t) { t.strides[1] = 0x7fffffff; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Tensor& t) { t.type = ElementType::kI8; }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Tensor& t) { t.type = static_cast<ElementType>(200); }), CudaError::kNotSupported);
}

TEST(PrimitiveTest, WhatOthersMustObserve) {
  Pooling p;
  p.x = Packed({1, 2, 1, 8, 8}, kBase);
  p.y = Packed({1, 2, 1, 4, 4}, kBase + 0x10000);
  p.window = p.stride = {1, 2, 2};
  EXPECT_EQ(Checked(p), CudaError::kSuccess);
  p.padding[1] = 2;  // a window of nothing
  EXPECT_EQ(Checked(p), CudaError::kInvalidValue);

  BatchNorm n;
  n.x = n.y = Packed({2, 3, 1, 4, 4}, kBase);
  n.scale = Packed({1, 3, 1, 1, 1}, kBase + 0x10000);
  n.shift = n.mean = n.variance = n.scale.address;
  EXPECT_EQ(Checked(n), CudaError::kSuccess);
  n.variance = kBase + kBytes - 8;
  EXPECT_EQ(Checked(n), CudaError::kInvalidValue);
  n.variance = n.mean;
  n.scale.dims[1] = 2;
  EXPECT_EQ(Checked(n), CudaError::kInvalidValue);

  Pointwise w;
  w.kind = PointwiseKind::kAdd;
  w.a = w.y = Packed({2, 3, 1, 4, 4}, kBase);
  w.b = Packed({1, 3, 1, 1, 1}, kBase + 0x10000);
  EXPECT_EQ(Checked(w), CudaError::kSuccess);
  w.b.dims[1] = 2;
  EXPECT_EQ(Checked(w), CudaError::kInvalidValue);
  w.kind = PointwiseKind::kFirst;  // b is not looked at
  EXPECT_EQ(Checked(w), CudaError::kSuccess);
  w.kind = static_cast<PointwiseKind>(50);
  EXPECT_EQ(Checked(w), CudaError::kNotSupported);
}

TEST(PrimitiveTest, AResultThatIsWrittenWholeIsNotRead) {
  Convolution c = GoodConvolution();
  EXPECT_FALSE(OperandsOf(c).back().read);
  EXPECT_TRUE(OperandsOf(c).back().written);
  EXPECT_EQ(OperandsOf(c).back().bytes, 2u * 6 * 8 * 8 * 4);
  c.y.strides[0] *= 2;  // a gap between the images
  EXPECT_TRUE(OperandsOf(c).back().read);
  Softmax s;
  s.x = s.y = Packed({1, 8, 1, 4, 4}, kBase);
  EXPECT_FALSE(OperandsOf(s).back().read);
  s.beta = 0.5;
  EXPECT_TRUE(OperandsOf(s).back().read);
}

// 2 layers of both directions, 3 sequences of up to 5 steps.
Recurrent GoodNetwork() {
  Recurrent r;
  r.cell = RecurrentCell::kLstm;
  r.both_directions = true;
  r.inputs = 6, r.hidden = r.outputs = 4, r.layers = 2, r.steps = 5, r.batch = 3;
  r.lengths = {5, 3, 1};
  r.x = kBase, r.y = kBase + 0x1000, r.weights = kBase + 0x2000;
  r.hx = kBase + 0x8000, r.hy = kBase + 0x9000, r.cx = kBase + 0xa000, r.cy = kBase + 0xb000;
  return r;
}

TEST(PrimitiveTest, ShapesOfANetworkMustAgree) {
  EXPECT_EQ(Checked(GoodNetwork()), CudaError::kSuccess);
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const auto refused = [](auto change) {
    Recurrent r = GoodNetwork();
    change(r);
    return Checked(r);
  };
  EXPECT_EQ(refused([](Recurrent& r) { r.layers = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.hidden = -4; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.outputs = 5; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.outputs = 3; }), CudaError::kSuccess);
  EXPECT_EQ(refused([](Recurrent& r) { r.outputs = 3, r.cell = RecurrentCell::kGru; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.skips_input = true; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.skips_input = true, r.inputs = 4; }), CudaError::kSuccess);
  EXPECT_EQ(refused([](Recurrent& r) { r.lengths = {5, 3}; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.lengths = {5, 3, 6}; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.lengths = {5, -1, 1}; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.lengths = {0, 0, 0}; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.lengths = {3, 5, 1}; }), CudaError::kSuccess);
  EXPECT_EQ(refused([](Recurrent& r) {
              r.lengths = {3, 5, 1}, r.layout = SequenceLayout::kPacked;
            }),
            CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.hy = kBase + kBytes - 4; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.weights = kBase + kBytes - 8; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.y += 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(refused([](Recurrent& r) { r.cell = static_cast<RecurrentCell>(4); }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Recurrent& r) { r.bias = static_cast<RecurrentBias>(4); }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Recurrent& r) { r.layout = static_cast<SequenceLayout>(3); }), CudaError::kNotSupported);
  EXPECT_EQ(refused([](Recurrent& r) { r.type = ElementType::kI8; }), CudaError::kNotSupported);
  for (int32_t Recurrent::*const size :
       {&Recurrent::inputs, &Recurrent::layers, &Recurrent::steps, &Recurrent::batch}) {
    Recurrent r = GoodNetwork();
    r.lengths.clear();
    r.*size = kMost;
    EXPECT_EQ(Checked(r), CudaError::kNotSupported);
  }
  EXPECT_EQ(refused([](Recurrent& r) { r.hidden = r.outputs = kMost; }), CudaError::kNotSupported);
}

TEST(PrimitiveTest, WhatANetworkReadsAndWrites) {
  Recurrent r = GoodNetwork();
  const std::vector<PrimitiveOperand> operands = OperandsOf(r);
  ASSERT_EQ(operands.size(), 7u);
  EXPECT_EQ(operands[0].bytes, 5u * 3 * 6 * 4);
  // W and R of four gates, of both directions, and two biases.
  EXPECT_EQ(operands[1].bytes, 2u * 4 * (4 * 4 * (6 + 4) + 4 * 4 * (8 + 4) + 2 * 4 * 4 * 2));
  EXPECT_EQ(operands[4].bytes, 2u * 2 * 3 * 4 * 4);
  EXPECT_EQ(operands[6].bytes, 5u * 3 * 8 * 4);
  EXPECT_TRUE(operands[6].read);  // behind the ends of sequences
  r.fills = true;
  EXPECT_FALSE(OperandsOf(r).back().read);
  r.layout = SequenceLayout::kPacked;
  EXPECT_EQ(OperandsOf(r).back().bytes, 9u * 8 * 4);
  r.hx = r.cx = r.cy = 0;
  EXPECT_EQ(OperandsOf(r).size(), 4u);
}

// The weights of a network lie side by side: each in one part, and nothing between them.
RC_GTEST_PROP(PrimitiveProperty, WeightsFillTheirSpace, ()) {
  Recurrent r;
  r.cell = static_cast<RecurrentCell>(*rc::gen::inRange(0, 4));
  r.bias = static_cast<RecurrentBias>(*rc::gen::inRange(0, 4));
  r.both_directions = *rc::gen::arbitrary<bool>();
  r.inputs = *rc::gen::inRange(1, 9);
  r.hidden = r.outputs = *rc::gen::inRange(1, 9);
  r.layers = *rc::gen::inRange(1, 4);
  if (r.cell == RecurrentCell::kLstm) r.outputs = *rc::gen::inRange(1, r.hidden + 1);
  r.skips_input = r.inputs == r.hidden && *rc::gen::arbitrary<bool>();
  RC_ASSERT(CheckShape(r).ok());
  const RecurrentWeights weights(r);
  std::vector<int> parts(static_cast<size_t>(weights.Elements()));
  for (int layer = 0; layer < weights.Layers(); ++layer) {
    for (int id = 0; id < weights.Matrices(); ++id) {
      for (const RecurrentWeights::Part& part : {weights.Matrix(layer, id), weights.Bias(layer, id)}) {
        for (int64_t i = 0; i < part.Elements(); ++i) ++parts.at(static_cast<size_t>(part.offset + i));
      }
    }
  }
  for (const int count : parts) RC_ASSERT(count == 1);
}

Fourier MakeFourier(FourierKind kind = FourierKind::kComplex) {
  Fourier f;
  f.kind = kind;
  f.sizes = {1, 3, 4};
  f.in = {kBase, 3, f.InSizes()[2], 1, 3 * f.InSizes()[2]};
  f.out = {kBase + 1024, 3, f.OutSizes()[2], 1, 3 * f.OutSizes()[2]};
  return f;
}
CudaError ErrorOf(const Fourier& f) { return CudaErrorOf(CheckPrimitive(f, InMemory)); }

TEST(PrimitiveTest, FourierTransformsAreChecked) {
  EXPECT_EQ(ErrorOf(MakeFourier()), CudaError::kSuccess);
  const auto with = [](auto change) {
    Fourier f = MakeFourier();
    change(f);
    return ErrorOf(f);
  };
  EXPECT_EQ(with([](Fourier& f) { f.sizes[2] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.sizes[0] = -1; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.sizes[1] = kLongestDimension + 1; }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Fourier& f) { f.sizes[1] = 1 << 20; }), CudaError::kInvalidValue);  // more than there is
  EXPECT_EQ(with([](Fourier& f) { f.batch = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.batch = int64_t{1} << 62; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.sizes = {1 << 28, 1 << 28, 1 << 28}; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.type = ElementType::kF16; }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Fourier& f) { f.kind = static_cast<FourierKind>(3); }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Fourier& f) { f.in.address += 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.out.address = kBase + kBytes - 8; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.out.stride = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.out.stride = int64_t{1} << 62; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.in.columns = int64_t{1} << 61, f.in.stride = 1 << 30; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Fourier& f) { f.in.distance = -1; }), CudaError::kInvalidValue);
  // Inputs may share memory, results not.
  EXPECT_EQ(with([](Fourier& f) { f.batch = 4, f.in.distance = 1; }), CudaError::kSuccess);
  EXPECT_EQ(with([](Fourier& f) { f.batch = 4, f.out.distance = 1; }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Fourier& f) { f.batch = 4, f.out.distance = 0; }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Fourier& f) { f.out.columns = 3; }), CudaError::kNotSupported);
  // Nor inputs that are overwritten.
  Fourier real = MakeFourier(FourierKind::kComplexToReal);
  real.batch = 2;
  real.in.distance = 1;
  EXPECT_EQ(ErrorOf(real), CudaError::kNotSupported);
}

Lapack MakeLapack(LapackRoutine routine) {
  Lapack l;
  l.routine = routine;
  l.m = 4, l.n = 3, l.k = 2;
  for (size_t i = 0; i < l.operands.size(); ++i) l.operands[i] = {kBase + 64 * i, 4, 16};
  l.info = kBase + 512;
  return l;
}

CudaError ErrorOf(const Lapack& l) { return CudaErrorOf(CheckPrimitive(l, InMemory)); }

TEST(PrimitiveTest, LapacksRoutinesAreChecked) {
  for (int routine = 0; routine <= static_cast<int>(LapackRoutine::kGeev); ++routine) {
    EXPECT_EQ(ErrorOf(MakeLapack(static_cast<LapackRoutine>(routine))), CudaError::kSuccess) << routine;
  }
  const auto with = [](const auto& change, LapackRoutine routine = LapackRoutine::kPotrs) {
    Lapack l = MakeLapack(routine);
    change(l);
    return ErrorOf(l);
  };
  EXPECT_EQ(with([](Lapack& l) { l.routine = static_cast<LapackRoutine>(16); }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Lapack& l) { l.n = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.k = -1; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.n = int64_t{1} << 31; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.n = l.operands[0].leading = 1 << 30; }),
            CudaError::kInvalidValue);  // more than there is
  EXPECT_EQ(with([](Lapack& l) { l.batch = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.batch = 2; }), CudaError::kSuccess);
  EXPECT_EQ(with([](Lapack& l) { l.batch = 1 << 30; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.batch = 2, l.operands[1].stride = 1; }), CudaError::kNotSupported);
  EXPECT_EQ(with([](Lapack& l) { l.batch = 2, l.operands[1].stride = -16; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.operands[0].leading = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.operands[0].leading = int64_t{1} << 62; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.operands[0].address = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.operands[0].address += 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.info += 1; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.info = 4; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Lapack& l) { l.info = 0; }), CudaError::kSuccess);
  EXPECT_EQ(with([](Lapack& l) { l.type = ElementType::kF16; }), CudaError::kNotSupported);
  const auto of = [&](LapackRoutine routine, const auto& change) { return with(change, routine); };
  EXPECT_EQ(of(LapackRoutine::kGetrf, [](Lapack& l) { l.operands[1].address = 0; }), CudaError::kSuccess);
  EXPECT_EQ(of(LapackRoutine::kGetrs, [](Lapack& l) { l.operands[1].address += 4, l.wide_pivots = true; }),
            CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kOrmqr, [](Lapack& l) { l.k = 5; }), CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kOrmqr, [](Lapack& l) { l.k = 4, l.right = true; }), CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kOrgqr, [](Lapack& l) { l.m = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kSygvd, [](Lapack& l) { l.k = 4; }), CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kGesvdj, [](Lapack& l) { l.left = LapackVectors::kThin; }), CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kSyevd, [](Lapack& l) { l.left = LapackVectors::kOverwritten; }),
            CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kGesvd, [](Lapack& l) { l.left = l.right_vectors = LapackVectors::kOverwritten; }),
            CudaError::kInvalidValue);
  EXPECT_EQ(of(LapackRoutine::kOrmqr,
               [](Lapack& l) { l.type = ElementType::kC32, l.transpose = LapackTranspose::kTransposed; }),
            CudaError::kInvalidValue);
}

TEST(PrimitiveTest, OperandsOfLapacksRoutines) {
  const std::vector<PrimitiveOperand> operands = OperandsOf(MakeLapack(LapackRoutine::kGetrs));
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0].bytes, (2 * 4 + 3) * 4u);  // to the end of the last column
  EXPECT_FALSE(operands[0].written);
  EXPECT_EQ(operands[1].bytes, 12u);
  EXPECT_EQ(operands[2].bytes, (4 + 3) * 4u);
  EXPECT_TRUE(operands[2].read && operands[2].written);
  EXPECT_EQ(operands[3].address, kBase + 512);
  EXPECT_TRUE(!operands[3].read && operands[3].written);
}

TEST(PrimitiveTest, OperandsOfFourierTransforms) {
  std::vector<PrimitiveOperand> operands = OperandsOf(MakeFourier(FourierKind::kRealToComplex));
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].bytes, 3 * 4 * 4u);
  EXPECT_TRUE(operands[0].read && !operands[0].written);
  EXPECT_EQ(operands[1].bytes, 3 * 3 * 8u);
  EXPECT_TRUE(!operands[1].read && operands[1].written);
  Fourier f = MakeFourier(FourierKind::kComplexToReal);
  f.out.columns = 6;  // gaps stay
  operands = OperandsOf(f);
  EXPECT_TRUE(operands[0].read && operands[0].written);
  EXPECT_EQ(operands[1].bytes, (2 * 6 + 4) * 4u);
  EXPECT_TRUE(operands[1].read && operands[1].written);
}

int64_t AnyPlace() {
  return *rc::gen::oneOf(rc::gen::inRange<int64_t>(-1, 20), rc::gen::inRange<int64_t>(0, 5000),
                         rc::gen::element<int64_t>(INT64_MAX, INT64_MIN, int64_t{1} << 58, int64_t{1} << 32));
}

// As below: the extents are right whatever the numbers are, and there are no more results than fit into theirs.
RC_GTEST_PROP(PrimitiveProperty, FourierTransformsThatAreAcceptedLieInMemory, ()) {
  Fourier f;
  f.kind = static_cast<FourierKind>(*rc::gen::inRange(0, 3));
  for (int64_t& size : f.sizes) size = *rc::gen::arbitrary<bool>() ? AnyPlace() : 1;
  f.batch = *rc::gen::arbitrary<bool>() ? AnyPlace() : 1;
  for (FourierSide* const side : {&f.in, &f.out}) {
    side->address = kBase + *rc::gen::inRange<uint64_t>(0, kBytes / 4) / 8 * 8;
    for (int64_t* const number : {&side->rows, &side->columns, &side->stride, &side->distance}) *number = AnyPlace();
  }
  if (ErrorOf(f) != CudaError::kSuccess) return;
  for (const PrimitiveOperand& operand : OperandsOf(f)) RC_ASSERT(InMemory(operand.address, operand.bytes));
  const auto [n0, n1, n2] = f.OutSizes();
  RC_ASSERT(static_cast<uint64_t>(f.batch * n0 * n1 * n2) * f.OutBytes() <= OperandsOf(f)[1].bytes);
}

int32_t AnyNumber() {
  return *rc::gen::oneOf(rc::gen::inRange<int32_t>(-1, 10), rc::gen::inRange<int32_t>(0, 5000),
                         rc::gen::element<int32_t>(0x7fffffff, -0x7fffffff - 1, 1 << 30, 1 << 16));
}

// Whatever the numbers are: what is accepted lies in memory, and no tensor has more elements than its memory holds.
RC_GTEST_PROP(PrimitiveProperty, WhatIsAcceptedLiesInMemory, ()) {
  Pointwise p;
  p.kind = static_cast<PointwiseKind>(*rc::gen::inRange(0, 12));
  for (Tensor* const tensor : {&p.a, &p.b, &p.y}) {
    tensor->address = kBase + *rc::gen::inRange<uint64_t>(0, kBytes + 64);
    tensor->type = static_cast<ElementType>(*rc::gen::inRange(0, 5));
    for (int i = 0; i < kTensorDims; ++i) {
      tensor->dims[i] = *rc::gen::inRange(0, 3) == 0 ? AnyNumber() : 1;
      tensor->strides[i] = AnyNumber();
    }
  }
  if (*rc::gen::arbitrary<bool>()) p.a = p.b = p.y;
  uint64_t most_end = 0;
  const absl::Status status = CheckPrimitive(p, [&](DeviceAddress address, uint64_t bytes) {
    if (InMemory(address, bytes)) most_end = std::max(most_end, address + bytes);
    return InMemory(address, bytes);
  });
  if (!status.ok()) return;
  for (const PrimitiveOperand& operand : OperandsOf(p)) {
    RC_ASSERT(InMemory(operand.address, operand.bytes));
    RC_ASSERT(operand.address + operand.bytes <= most_end);
  }
  RC_ASSERT(static_cast<uint64_t>(p.y.Volume()) * ElementBytes(p.y.type) <= p.y.Bytes());
}

}  // namespace
}  // namespace wharf::device
