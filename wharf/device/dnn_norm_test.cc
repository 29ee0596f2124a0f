// Batch normalization as a graph: what comes back of it, what it touches, and what strangers may write.
#include "wharf/device/dnn_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "wharf/device/cuda_error.h"
#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/primitive.h"

namespace wharf::device {
namespace {

bool AnywhereAtAll(DeviceAddress, uint64_t) { return true; }

// Of 2 x 3 x 4 x 5, channels last.
Tensor DataAt(DeviceAddress address, ElementType type = ElementType::kF32) {
  return {address, type, {2, 3, 1, 4, 5}, {60, 1, 60, 15, 3}};
}
DnnNorm Forward() {
  DnnNorm n;
  n.mode = 2;
  n.epsilon = 1e-5, n.factor = 0.1;
  n.alpha = 2, n.beta = 0.5;
  n.x = DataAt(0x1000), n.y = DataAt(0x2000);
  n.scale = {0x3000, ElementType::kF32, {1, 3, 1, 1, 1}, {3, 1, 1, 1, 1}};
  n.shift = 0x4000, n.mean = 0x5000, n.variance = 0x6000, n.saved_mean = 0x7000, n.saved_inverse = 0x8000;
  return n;
}
DnnNorm Backward() {
  DnnNorm n = Forward();
  n.backward = true;
  n.parameter_alpha = 3, n.parameter_beta = 1;
  n.shift = n.mean = n.variance = 0;
  n.dx = DataAt(0x9000);
  n.dscale = 0xa000, n.dshift = 0xb000;
  return n;
}
CudaError ErrorOf(const DnnNorm& norm) { return CudaErrorOf(CheckPrimitive(GraphOf(norm), AnywhereAtAll)); }

void ExpectSame(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.address, b.address);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.dims, b.dims);
  EXPECT_EQ(a.strides, b.strides);
}

TEST(DnnNorm, ComesBackFromItsGraph) {
  for (const DnnNorm& n : {Forward(), Backward()}) {
    const auto read = NormOf(GraphOf(n));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_TRUE(read->has_value());
    const DnnNorm& back = **read;
    EXPECT_EQ(back.backward, n.backward);
    EXPECT_EQ(back.mode, 2);
    EXPECT_EQ(back.epsilon, 1e-5);
    EXPECT_EQ(back.factor, 0.1);
    EXPECT_EQ(back.alpha, 2);
    EXPECT_EQ(back.beta, 0.5);
    EXPECT_EQ(back.parameter_alpha, n.parameter_alpha);
    EXPECT_EQ(back.parameter_beta, n.parameter_beta);
    ExpectSame(back.x, n.x);
    ExpectSame(back.y, n.y);
    if (n.backward) ExpectSame(back.dx, n.dx);
    ExpectSame(back.scale, n.scale);
    EXPECT_EQ(back.shift, n.shift);
    EXPECT_EQ(back.mean, n.mean);
    EXPECT_EQ(back.variance, n.variance);
    EXPECT_EQ(back.saved_mean, 0x7000u);
    EXPECT_EQ(back.saved_inverse, 0x8000u);
    EXPECT_EQ(back.dscale, n.dscale);
    EXPECT_EQ(back.dshift, n.dshift);
  }
}

TEST(DnnNorm, IsNoGraphOfTheVendors) {
  const auto read = NormOf(ScaledProduct(1, 2, 3, 1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST(DnnNorm, WritesItsResultsAndReadsTheRest) {
  const auto written = [](const DnnNorm& norm) {
    std::vector<std::pair<DeviceAddress, uint64_t>> results;
    for (const PrimitiveOperand& operand : OperandsOf(GraphOf(norm))) {
      EXPECT_TRUE(operand.read);
      if (operand.written) results.emplace_back(operand.address, operand.bytes);
    }
    return results;
  };
  using Results = std::vector<std::pair<DeviceAddress, uint64_t>>;
  EXPECT_EQ(OperandsOf(GraphOf(Forward())).size(), 8u);
  EXPECT_EQ(OperandsOf(GraphOf(Backward())).size(), 8u);
  EXPECT_EQ(written(Forward()), (Results{{0x2000, 480}, {0x5000, 12}, {0x6000, 12}, {0x7000, 12}, {0x8000, 12}}));
  EXPECT_EQ(written(Backward()), (Results{{0x9000, 480}, {0xa000, 12}, {0xb000, 12}}));
}

TEST(DnnNorm, HasWhatItNeedsAndNothingElse) {
  EXPECT_EQ(ErrorOf(Forward()), CudaError::kSuccess);
  EXPECT_EQ(ErrorOf(Backward()), CudaError::kSuccess);
  DnnNorm n = Forward();
  n.mean = n.variance = n.saved_mean = n.saved_inverse = 0;
  EXPECT_EQ(ErrorOf(n), CudaError::kSuccess);
  for (DeviceAddress DnnNorm::*part : {&DnnNorm::shift, &DnnNorm::mean, &DnnNorm::saved_inverse}) {
    n = Forward();
    n.*part = 0;
    EXPECT_EQ(ErrorOf(n), CudaError::kInvalidValue);
  }
  for (DeviceAddress DnnNorm::*part : {&DnnNorm::dscale, &DnnNorm::dshift, &DnnNorm::saved_mean}) {
    n = Backward();
    n.*part = 0;
    EXPECT_EQ(ErrorOf(n), CudaError::kInvalidValue);
  }
  for (Tensor DnnNorm::*part : {&DnnNorm::x, &DnnNorm::y, &DnnNorm::dx, &DnnNorm::scale}) {
    n = Backward();
    (n.*part).address = 0;
    EXPECT_EQ(ErrorOf(n), CudaError::kInvalidValue);
  }
  n = Forward();
  n.dshift = 0x9000;
  EXPECT_EQ(ErrorOf(n), CudaError::kInvalidValue);
  n = Backward();
  n.mean = n.variance = 0x9000;
  EXPECT_EQ(ErrorOf(n), CudaError::kInvalidValue);
}

TEST(DnnNorm, FitsTogether) {
  const auto changed = [](auto change) {
    DnnNorm n = Forward();
    change(n);
    return ErrorOf(n);
  };
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    EXPECT_EQ(changed([&](DnnNorm& n) { n.x.type = n.y.type = type; }), CudaError::kSuccess);
  }
  EXPECT_EQ(changed([](DnnNorm& n) { n.x.type = n.y.type = n.scale.type = ElementType::kF64; }), CudaError::kSuccess);
  EXPECT_EQ(changed([](DnnNorm& n) { n.x.type = n.y.type = ElementType::kF64; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.scale.type = ElementType::kF16; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.y.type = ElementType::kF16; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.y.dims[1] = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.scale.dims[1] = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.scale.strides[1] = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.scale.strides[1] = 2; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.mode = 0; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) {
              n.mode = 0;
              n.scale.dims = {1, 3, 1, 4, 5}, n.scale.strides = {60, 1, 60, 15, 3};
            }),
            CudaError::kSuccess);
  EXPECT_EQ(changed([](DnnNorm& n) { n.mode = 3; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.epsilon = -1; }), CudaError::kInvalidValue);
  EXPECT_EQ(changed([](DnnNorm& n) { n.epsilon = NAN; }), CudaError::kInvalidValue);
}

TEST(DnnNorm, IsRefusedIfItIsNotAlone) {
  DnnGraphMaker maker;
  const int64_t x = maker.Tensor(1, {1, 1, 1, 1, 1});
  maker.Pointwise(dnn::kAdd, x, x, x);
  maker.Operation(kDnnNormForward, {{kNormX, x}, {kNormY, x}, {kNormScale, x}, {kNormShift, x}});
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(DnnGraph{{{1, 64}}, {}, false, true, maker.Take()}, AnywhereAtAll)),
            CudaError::kInvalidValue);
  DnnGraphMaker reversed;
  const int64_t other = reversed.Tensor(1, {1, 1, 1, 1, 1});
  reversed.Operation(kDnnNormForward, {{kNormX, other}, {kNormY, other}, {kNormScale, other}, {kNormShift, other}});
  reversed.Pointwise(dnn::kAdd, other, other, other);
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(DnnGraph{{{1, 64}}, {}, false, true, reversed.Take()}, AnywhereAtAll)),
            CudaError::kInvalidValue);
}

// Sanitizers watch.
TEST(DnnNorm, BytesOfStrangersDoNoHarm) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    DnnGraph graph = GraphOf(i % 2 == 0 ? Forward() : Backward());
    for (int j = 0; j < 1 + i % 4; ++j) {
      graph.description[random() % graph.description.size()] = static_cast<std::byte>(random());
    }
    if (!CheckPrimitive(graph, AnywhereAtAll).ok()) continue;
    ++accepted;
    for (const PrimitiveOperand& operand : OperandsOf(graph)) EXPECT_GT(operand.bytes, 0u);
    EXPECT_TRUE(NormOf(graph).ok());
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace wharf::device
