// Graphs of cuDNN on the CUDA device, with the fake cuDNN: its descriptors are made again, the engine is chosen, and
// the plan is kept.
#include "wharf/device/dnn_graph.h"

#include <dlfcn.h>

#include <cmath>

#include "wharf/device/cuda/testing/cuda_device_fixture.h"
#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/dnn_norm.h"
#include "wharf/device/primitive.h"

namespace wharf::device::cuda {
namespace {

// What the fake's engines are (testing/fake_cudnn_graphs.cc).
constexpr int kQuick = 2, kRounding = 3, kFallback = 5;

class DnnGraphTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
#ifndef WHARF_HAS_CUDNN
    GTEST_SKIP() << "there is no fake cuDNN";
#endif
    ASSERT_NE(device_, nullptr);
    ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  }
  void WriteFloats(DeviceAddress to, const std::vector<float>& values) {
    std::vector<uint32_t> words(values.size());
    std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
    ASSERT_EQ(Write(to, words), absl::OkStatus());
  }
  std::vector<float> ReadFloats(DeviceAddress from, size_t count) {
    const auto words = Read(from, count);
    EXPECT_TRUE(words.ok()) << words.status();
    std::vector<float> values(count);
    if (words.ok()) std::memcpy(values.data(), words->data(), count * sizeof(float));
    return values;
  }
  DeviceAddress At(uint64_t slot) const { return base_ + slot * 4096; }
  static int Engine() {
    void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(dlsym(library, "FakeDnnEngine"))();
  }
};
INSTANTIATE_TEST_SUITE_P(Drivers, DnnGraphTest, ::testing::Values(WHARF_FAKE_DRIVER), DriverName);

TEST_P(DnnGraphTest, IsMadeAgainAndRunWithWhatIsGivenByValueThen) {
  WriteFloats(At(0), {1, 2, 3, 4});
  WriteFloats(At(1), {1, 1, 0, 2});
  for (const float scale : {1.0f, 0.5f}) {
    ASSERT_EQ(device_->RunPrimitive(kDefaultStream, ScaledProduct(At(0), At(1), At(2), scale)), absl::OkStatus());
    EXPECT_EQ(ReadFloats(At(2), 4), (std::vector<float>{scale, 5 * scale, 3 * scale, 11 * scale}));
  }
  EXPECT_EQ(Engine(), kQuick);
}

TEST_P(DnnGraphTest, TakesAnEngineThatIsAllowed) {
  WriteFloats(At(0), {1, 2, 3, 4});
  WriteFloats(At(1), {1, 0, 0, 1});
  for (const auto& [deterministic, tensor_cores, engine] :
       {std::tuple(false, true, kQuick), std::tuple(true, true, kRounding), std::tuple(false, false, kFallback)}) {
    DnnGraph graph = ScaledProduct(At(0), At(1), At(2), 2);
    graph.deterministic = deterministic;
    graph.tensor_cores = tensor_cores;
    ASSERT_EQ(device_->RunPrimitive(kDefaultStream, graph), absl::OkStatus());
    EXPECT_EQ(ReadFloats(At(2), 4), (std::vector<float>{2, 4, 6, 8}));
    EXPECT_EQ(Engine(), engine);
  }
}

// softmax(scale q k') v as the vendor's frontend takes it apart, and as the one operation that later ones know.
TEST_P(DnnGraphTest, Attends) {
  const std::vector<int64_t> dims{1, 1, 2, 2}, rows{1, 1, 2, 1}, transposed{4, 4, 1, 2};
  const float scale = 0.5f;
  WriteFloats(At(0), {1, 0, 0, 2});
  WriteFloats(At(1), {1, 1, 0, 1});
  WriteFloats(At(2), {1, 2, 3, 4});
  for (const bool whole : {false, true}) {
    DnnGraphMaker maker;
    const auto inside = [&](int64_t number, const std::vector<int64_t>& of) {
      return maker.Tensor(number, of, DnnGraphMaker::kVirtual);
    };
    const int64_t q = maker.Tensor(1, dims), v = maker.Tensor(3, dims), o = maker.Tensor(4, dims);
    const int64_t k =
        maker.Tensor(2, dims, DnnGraphMaker::kPlain, dnn::kFloat, whole ? std::vector<int64_t>{} : transposed);
    const int64_t factor = maker.Tensor(5, {1, 1, 1, 1}, DnnGraphMaker::kByValue);
    if (whole) {
      maker.Operation(41, {{2800, q}, {2801, k}, {2802, v}, {2803, o}, {2805, factor}});
    } else {
      const int64_t s = inside(10, dims), scaled = inside(11, dims), most = inside(12, rows), less = inside(13, dims);
      const int64_t powers = inside(14, dims), sum = inside(15, rows), p = inside(16, dims);
      maker.Product(q, k, s);
      maker.Pointwise(dnn::kMultiply, s, factor, scaled);
      maker.Reduce(true, scaled, most);
      maker.Pointwise(dnn::kSubtract, scaled, most, less);
      maker.Pointwise(dnn::kExp, less, -1, powers);
      maker.Reduce(false, powers, sum);
      maker.Pointwise(dnn::kDivide, powers, sum, p);
      maker.Product(p, v, o);
    }
    const DnnGraph graph{
        {{1, At(0)}, {2, At(1)}, {3, At(2)}, {4, At(3)}}, {{5, BitsOf(scale)}}, false, true, maker.Take()};
    ASSERT_EQ(device_->RunPrimitive(kDefaultStream, graph), absl::OkStatus());
    const float first = 1 / (1 + std::exp(-scale)), second = 0.5f;  // q k' is 1, 0 and 2, 2
    const std::vector<float> expected{3 - 2 * first, 4 - 2 * first, 3 - 2 * second, 4 - 2 * second};
    const std::vector<float> computed = ReadFloats(At(3), 4);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(computed[i], expected[i], 1e-5) << i << (whole ? " whole" : "");
  }
}

TEST_P(DnnGraphTest, ComputesTheGradientOfAFilter) {
  DnnGraphMaker maker;
  const int64_t x = maker.Tensor(1, {1, 1, 3, 3}), dy = maker.Tensor(2, {1, 1, 2, 2});
  const int64_t dw = maker.Tensor(3, {1, 1, 2, 2});
  const int64_t form = maker.Form(1, {{100, dnn::kDataType, {dnn::kFloat}},
                                      {101, dnn::kConvolutionMode, {1}},
                                      {102, dnn::kInteger, {1, 1}},
                                      {103, dnn::kInteger, {1, 1}},
                                      {104, dnn::kInteger, {0, 0}},
                                      {105, dnn::kInteger, {0, 0}},
                                      {106, dnn::kInteger, {2}}});
  maker.Operation(11, {{714, form}, {715, dw}, {716, x}, {717, dy}});
  WriteFloats(At(0), {1, 2, 3, 4, 5, 6, 7, 8, 9});
  WriteFloats(At(1), {1, 0, 0, 1});
  const DnnGraph graph{{{1, At(0)}, {2, At(1)}, {3, At(2)}}, {}, false, true, maker.Take()};
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, graph), absl::OkStatus());
  EXPECT_EQ(ReadFloats(At(2), 4), (std::vector<float>{6, 8, 12, 14}));
}

TEST_P(DnnGraphTest, WhatCudnnDoesNotHaveIsRefusedAndWhatIsElsewhereToo) {
  DnnGraphMaker maker;
  const int64_t x = maker.Tensor(1, {2});
  maker.Operation(31, {{2200, x}, {2201, x}});
  const DnnGraph unknown{{{1, At(0)}}, {}, false, true, maker.Take()};
  EXPECT_EQ(ErrorOf(device_->RunPrimitive(kDefaultStream, unknown)), CudaError::kNotSupported);
  EXPECT_EQ(ErrorOf(device_->RunPrimitive(kDefaultStream, ScaledProduct(At(0), At(1), base_ - 8, 1))),
            CudaError::kInvalidValue);
  EXPECT_EQ(Synchronize(), absl::OkStatus());
}

// --- batch normalization that trains ---

class DnnNormTest : public DnnGraphTest {
 protected:
  // Two images of two channels and two elements, in memory as the form says; values are by image, then channel.
  static size_t IndexOf(const Tensor& form, size_t i) {
    return i / 4 * static_cast<size_t>(form.strides[0]) + i / 2 % 2 * static_cast<size_t>(form.strides[1]) +
           i % 2 * static_cast<size_t>(form.strides[4]);
  }
  void Put(const Tensor& form, const std::vector<float>& values) {
    std::vector<uint32_t> words(form.type == ElementType::kBF16 ? 4 : 8);
    for (size_t i = 0; i < 8; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, &values[i], sizeof(bits));
      const size_t at = IndexOf(form, i);
      if (form.type != ElementType::kBF16) {
        words[at] = bits;
      } else {
        words[at / 2] |= bits >> 16 << (at % 2 * 16);
      }
    }
    ASSERT_EQ(Write(form.address, words), absl::OkStatus());
  }
  std::vector<float> Get(const Tensor& form) {
    const bool narrow = form.type == ElementType::kBF16;
    const auto words = Read(form.address, narrow ? 4 : 8);
    EXPECT_TRUE(words.ok()) << words.status();
    std::vector<float> values(8);
    for (size_t i = 0; i < 8 && words.ok(); ++i) {
      const size_t at = IndexOf(form, i);
      const uint32_t bits = narrow ? (*words)[at / 2] >> (at % 2 * 16) << 16 : (*words)[at];
      std::memcpy(&values[i], &bits, sizeof(bits));
    }
    return values;
  }
  static Tensor Data(DeviceAddress address, ElementType type, bool last) {
    Tensor tensor{address, type, {2, 2, 1, 1, 2}, {4, 2, 2, 2, 1}};
    if (last) tensor.strides = {4, 1, 4, 4, 2};
    return tensor;
  }
};
INSTANTIATE_TEST_SUITE_P(Drivers, DnnNormTest, ::testing::Values(WHARF_FAKE_DRIVER), DriverName);

// The first channel is 1, 3, 1, 3, the second 0, 4, 4, 0.
TEST_P(DnnNormTest, GoesForwardAndBackward) {
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    for (const bool last : {false, true}) {
      DnnNorm n;
      n.mode = last ? 2 : 1;
      n.factor = 0.5;
      n.x = Data(At(0), type, last), n.y = Data(At(1), type, last);
      n.scale = {At(2), ElementType::kF32, {1, 2, 1, 1, 1}, {2, 1, 1, 1, 1}};
      n.shift = At(3), n.mean = At(4), n.variance = At(5), n.saved_mean = At(6), n.saved_inverse = At(7);
      Put(n.x, {1, 3, 0, 4, 1, 3, 4, 0});
      WriteFloats(n.scale.address, {2, 1});
      WriteFloats(n.shift, {5, -1});
      WriteFloats(n.mean, {0, 4});
      WriteFloats(n.variance, {0, 8});
      ASSERT_EQ(device_->RunPrimitive(kDefaultStream, GraphOf(n)), absl::OkStatus());
      EXPECT_EQ(Get(n.y), (std::vector<float>{3, 7, -2, 0, 3, 7, 0, -2}));
      EXPECT_EQ(ReadFloats(n.mean, 2), (std::vector<float>{1, 3}));
      EXPECT_EQ(ReadFloats(n.variance, 2), (std::vector<float>{2.0f / 3, 20.0f / 3}));
      EXPECT_EQ(ReadFloats(n.saved_mean, 2), (std::vector<float>{2, 2}));
      EXPECT_EQ(ReadFloats(n.saved_inverse, 2), (std::vector<float>{1, 0.5f}));

      n.backward = true;
      n.shift = n.mean = n.variance = 0;
      n.y = Data(At(8), type, last), n.dx = Data(At(9), type, last);
      n.dscale = At(10), n.dshift = At(11);
      n.parameter_alpha = 2, n.parameter_beta = 1;
      Put(n.y, {1, 0, 0, 1, 0, 0, 0, 1});
      WriteFloats(n.dscale, {10, 10});
      WriteFloats(n.dshift, {20, 20});
      ASSERT_EQ(device_->RunPrimitive(kDefaultStream, GraphOf(n)), absl::OkStatus());
      EXPECT_EQ(Get(n.dx), (std::vector<float>{1, 0, -0.25f, 0.25f, -1, 0, -0.25f, 0.25f}));
      EXPECT_EQ(ReadFloats(n.dscale, 2), (std::vector<float>{8, 10}));
      EXPECT_EQ(ReadFloats(n.dshift, 2), (std::vector<float>{22, 24}));
    }
  }
}

TEST_P(DnnNormTest, ForEachElementOfAnImage) {
  DnnNorm n;
  n.mode = 0;
  n.x = Data(At(0), ElementType::kF32, false), n.y = Data(At(0), ElementType::kF32, false);  // in place
  n.scale = {At(2), ElementType::kF32, {1, 2, 1, 1, 2}, {4, 2, 2, 2, 1}};
  n.shift = At(3);
  n.alpha = 2, n.beta = 1;
  Put(n.x, {1, 2, 3, 4, 3, 6, 1, 2});
  WriteFloats(n.scale.address, {1, 2, 3, 4});
  WriteFloats(n.shift, {0, 0, 0, 1});
  ASSERT_EQ(device_->RunPrimitive(kDefaultStream, GraphOf(n)), absl::OkStatus());
  EXPECT_EQ(Get(n.y), (std::vector<float>{-1, -2, 9, 14, 5, 10, -5, -4}));
}

TEST_P(DnnNormTest, WhatIsElsewhereIsRefused) {
  DnnNorm n;
  n.x = Data(At(0), ElementType::kF32, false), n.y = Data(base_ - 16, ElementType::kF32, false);
  n.scale = {At(2), ElementType::kF32, {1, 2, 1, 1, 1}, {2, 1, 1, 1, 1}};
  n.shift = At(3);
  EXPECT_EQ(ErrorOf(device_->RunPrimitive(kDefaultStream, GraphOf(n))), CudaError::kInvalidValue);
  n.y = n.x;
  n.shift = base_ + 2 * kMiB - 4;  // the last of them is not there
  EXPECT_EQ(ErrorOf(device_->RunPrimitive(kDefaultStream, GraphOf(n))), CudaError::kInvalidValue);
  EXPECT_EQ(Synchronize(), absl::OkStatus());
}

}  // namespace
}  // namespace wharf::device::cuda
