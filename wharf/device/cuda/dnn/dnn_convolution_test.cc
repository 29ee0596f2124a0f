// Convolutions on the CUDA device: plans are made once for each form, and what has none goes another way. What depends
// on what the fake cuDNN tells of itself is not looked at on a GPU.
#include "wharf/device/cuda/dnn/dnn_convolution.h"

#include <dlfcn.h>

#include <bit>
#include <cmath>

#include "wharf/device/cuda/library/half_bits.h"
#include "wharf/device/cuda/testing/cuda_device_fixture.h"
#include "wharf/device/primitive_testing.h"

namespace wharf::device::cuda {
namespace {

// What the fake's engines are (testing/fake_cudnn_graphs.cc).
constexpr int kSteadyEngine = 4, kFallbackEngine = 5;

using Dims = std::array<int32_t, kTensorDims>;

Tensor Lying(Dims dims, bool last, DeviceAddress address, ElementType type) {
  Tensor tensor = Packed(dims, address, type);
  if (!last) return tensor;
  tensor.strides[1] = 1;
  int32_t stride = dims[1];
  for (const size_t i : {4, 3, 2, 0}) {
    tensor.strides[i] = stride;
    stride *= dims[i];
  }
  return tensor;
}

size_t PlaceOf(const Tensor& tensor, const Dims& at) {
  size_t place = 0;
  for (size_t i = 0; i < at.size(); ++i) place += static_cast<size_t>(at[i]) * static_cast<size_t>(tensor.strides[i]);
  return place;
}

void ForEachPlace(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  Dims at{};
  for (size_t i = 0; i < at.size();) {
    visit(at);
    for (i = 0; i < at.size() && ++at[i] == dims[i]; ++i) at[i] = 0;
  }
}

// What a convolution of small integers makes of what is in memory, which is as the tensors lie.
std::vector<double> Convolved(const Convolution& c, const std::vector<double>& data,
                              const std::vector<double>& filter) {
  std::vector<double> result(static_cast<size_t>((c.transposed ? c.x : c.y).Volume()));
  const int32_t outputs = c.y.dims[1] / c.groups;
  ForEachPlace(c.y.dims, [&](const Dims& y) {
    ForEachPlace({1, c.filter.dims[1], c.filter.dims[2], c.filter.dims[3], c.filter.dims[4]}, [&](const Dims& w) {
      Dims x{y[0], y[1] / outputs * c.filter.dims[1] + w[1]}, of_filter = w;
      of_filter[0] = y[1];
      for (size_t i = 2; i < x.size(); ++i) {
        x[i] = y[i] * c.stride[i - 2] + w[i] * c.dilation[i - 2] - c.padding[i - 2];
        if (x[i] < 0 || x[i] >= c.x.dims[i]) return;
      }
      const size_t in = PlaceOf(c.x, x), out = PlaceOf(c.y, y);
      const double factor = filter[PlaceOf(c.filter, of_filter)];
      (c.transposed ? result[in] : result[out]) += factor * (c.transposed ? data[out] : data[in]);
    });
  });
  return result;
}

std::vector<double> SmallIntegers(size_t count, uint32_t seed) {
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<int>((seed = seed * 1664525 + 1013904223) >> 29) - 3;
  return values;
}

class DnnConvolutionTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
#ifndef WHARF_HAS_CUDNN
    GTEST_SKIP() << "there is no fake cuDNN";
#endif
    if (device_ == nullptr) return;  // skipped
    ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  }
  DeviceAddress At(uint64_t slot) const { return base_ + slot * (64 << 10); }
  static std::vector<uint32_t> Encoded(const std::vector<double>& values, ElementType type) {
    const size_t bytes = ElementBytes(type);
    std::vector<uint32_t> words((values.size() * bytes + 3) / 4);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto narrow = static_cast<float>(values[i]);
      const uint16_t half = type == ElementType::kF16 ? HalfBits(values[i]) : BrainBits(values[i]);
      const void* const from = bytes == 8   ? static_cast<const void*>(&values[i])
                               : bytes == 4 ? static_cast<const void*>(&narrow)
                                            : &half;
      std::memcpy(reinterpret_cast<std::byte*>(words.data()) + i * bytes, from, bytes);
    }
    return words;
  }
  void Put(const Tensor& tensor, const std::vector<double>& values) {
    ASSERT_EQ(Write(tensor.address, Encoded(values, tensor.type)), absl::OkStatus());
  }
  static double ElementAt(const std::vector<uint32_t>& words, size_t i, ElementType type) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(words.data()) + i * ElementBytes(type);
    double wide = 0;
    uint32_t bits = 0;
    std::memcpy(&bits, bytes, std::min<size_t>(ElementBytes(type), sizeof(bits)));
    if (type == ElementType::kF64) std::memcpy(&wide, bytes, sizeof(wide));
    if (type == ElementType::kBF16) bits <<= 16;
    if (type == ElementType::kF16) {  // none of them is too small to have all digits
      const double magnitude = std::ldexp(1024 + (bits & 1023), static_cast<int>(bits >> 10 & 31) - 25);
      return (bits & 0x7fff) == 0 ? 0 : (bits & 0x8000) != 0 ? -magnitude : magnitude;
    }
    return type == ElementType::kF64 ? wide : static_cast<double>(std::bit_cast<float>(bits));
  }
  // On a GPU an algorithm may round sums on their way; what is wrong is off by integers.
  void ExpectHolds(const Tensor& tensor, const std::vector<double>& values) {
    const std::vector<uint32_t> rounded = Encoded(values, tensor.type);
    const auto words = Read(tensor.address, rounded.size());
    ASSERT_TRUE(words.ok()) << words.status();
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = ElementAt(rounded, i, tensor.type);
      ASSERT_NEAR(ElementAt(*words, i, tensor.type), expected, IsFake() ? 0 : 0.1 + std::abs(expected) / 64) << i;
    }
  }
  // A picture of 3 by 3 and a window of 2 by 2: 37, 47, 67, 77.
  Convolution Small(ElementType type = ElementType::kF32) {
    Convolution c;
    c.x = Packed({1, 1, 1, 3, 3}, At(0), type);
    c.filter = Packed({1, 1, 1, 2, 2}, At(1), type);
    c.y = Packed({1, 1, 1, 2, 2}, At(2), type);
    Put(c.x, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    Put(c.filter, {1, 2, 3, 4});
    return c;
  }
  void ExpectRuns(const Convolution& c, const std::vector<double>& result) {
    ASSERT_EQ(device_->RunPrimitive(kDefaultStream, c), absl::OkStatus());
    ExpectHolds(c.transposed ? c.x : c.y, result);
  }

  // Of the fake.
  static bool IsFake() { return GetParam() == WHARF_FAKE_DRIVER; }
  static int Told(const char* name) {
    void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    return library == nullptr ? 0 : reinterpret_cast<int (*)()>(dlsym(library, name))();
  }
  static int Descriptors() { return IsFake() ? Told("FakeDnnDescriptors") : 0; }
  static void ExpectMadeSince(int before, int descriptors) {
    EXPECT_EQ(Descriptors() - before, IsFake() ? descriptors : 0);
  }
  static void ExpectPlannedSince(int before) { EXPECT_GT(Descriptors() - before, IsFake() ? 10 : -1); }
  static void ExpectEngine(int engine) {
    if (!IsFake()) return;
    EXPECT_EQ(Told("FakeDnnEngine"), engine);
  }
};
INSTANTIATE_TEST_SUITE_P(Drivers, DnnConvolutionTest, ::testing::Values(WHARF_FAKE_DRIVER, "libcuda.so.1"), DriverName);

TEST_P(DnnConvolutionTest, IsPlannedOnceForEachForm) {
  Convolution c = Small();
  int before = Descriptors();
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectEngine(kSteadyEngine);
  ExpectPlannedSince(before);
  for (const uint64_t slot : {3, 2}) {
    before = Descriptors();
    c.y.address = At(slot);
    ExpectRuns(c, {37, 47, 67, 77});
    ExpectMadeSince(before, 1);  // what says where the tensors are
  }
  before = Descriptors();
  c.tf32 = false;
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectEngine(kFallbackEngine);
  ExpectPlannedSince(before);
  c.tf32 = true;
  before = Descriptors();
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectEngine(kSteadyEngine);
  ExpectMadeSince(before, 1);
}

TEST_P(DnnConvolutionTest, EachTypeLayoutAndWindow) {
  struct Case {
    Dims x, filter;
    Spatial padding, stride, dilation;
    int32_t groups;
  };
  const Case cases[] = {
      {{2, 3, 1, 5, 6}, {4, 3, 1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1},
      {{1, 8, 1, 7, 7}, {8, 8, 1, 3, 3}, {0, 1, 2}, {1, 2, 2}, {1, 1, 1}, 1},
      {{1, 8, 1, 4, 4}, {16, 8, 1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 1},
      {{1, 8, 1, 9, 9}, {8, 4, 1, 3, 3}, {0, 2, 2}, {1, 1, 1}, {1, 2, 2}, 2},
      {{2, 4, 1, 5, 5}, {4, 1, 1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 4},
      {{1, 2, 4, 5, 5}, {4, 2, 3, 3, 3}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, 1},
  };
  for (const ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16, ElementType::kF64}) {
    for (const Case& one : cases) {
      for (const bool last : {false, true}) {
        for (const bool transposed : {false, true}) {
          Convolution c;
          c.transposed = transposed;
          c.padding = one.padding, c.stride = one.stride, c.dilation = one.dilation, c.groups = one.groups;
          Dims y{one.x[0], one.filter[0]};
          for (size_t i = 2; i < y.size(); ++i) {
            const int32_t window = one.dilation[i - 2] * (one.filter[i] - 1) + 1;
            y[i] = (one.x[i] + 2 * one.padding[i - 2] - window) / one.stride[i - 2] + 1;
          }
          c.x = Lying(one.x, last, At(0), type);
          c.filter = Lying(one.filter, last, At(1), type);
          c.y = Lying(y, last, At(2), type);
          const Tensor& in = transposed ? c.y : c.x;
          const auto data = SmallIntegers(static_cast<size_t>(in.Volume()), 1);
          const auto filter = SmallIntegers(static_cast<size_t>(c.filter.Volume()), 2);
          Put(in, data);
          Put(c.filter, filter);
          SCOPED_TRACE(fmt::format("type {}, filter of {} by {}, {} {}", static_cast<int>(type), one.filter[0],
                                   one.filter[1], last ? "last" : "first", transposed ? "transposed" : "forward"));
          const absl::Status first = device_->RunPrimitive(kDefaultStream, c);
          if (!IsFake() && ErrorOf(first) == CudaError::kNotSupported) continue;  // cuDNN has few of double
          ASSERT_EQ(first, absl::OkStatus());
          const int before = Descriptors();
          ExpectRuns(c, Convolved(c, data, filter));
          ExpectMadeSince(before, type == ElementType::kF64 ? 0 : 1);
        }
      }
    }
  }
}

TEST_P(DnnConvolutionTest, AddsToItsResult) {
  Convolution c = Small();
  c.added = c.y;
  c.beta = 1;
  Put(c.y, {1, 2, 3, 4});
  ExpectRuns(c, {38, 49, 70, 81});
  const int before = Descriptors();
  ExpectRuns(c, {75, 96, 137, 158});
  ExpectMadeSince(before, 1);
  c.beta = 0;
  ExpectRuns(c, {37, 47, 67, 77});
}

TEST_P(DnnConvolutionTest, OtherFactorsAreNotPlanned) {
  Convolution c = Small();
  const int before = Descriptors();
  for (const double alpha : {2.0, 3.0}) {
    c.alpha = alpha;
    ExpectRuns(c, {37 * alpha, 47 * alpha, 67 * alpha, 77 * alpha});
  }
  c.alpha = 1;
  c.added = c.y;
  c.beta = 2;
  ExpectRuns(c, {37 * 7, 47 * 7, 67 * 7, 77 * 7});
  ExpectMadeSince(before, 0);
}

TEST_P(DnnConvolutionTest, WithoutAnEngineItGoesTheOldWayFromThenOn) {
  const Convolution c = Small(ElementType::kF64);
  ExpectRuns(c, {37, 47, 67, 77});
  const int before = Descriptors();
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectMadeSince(before, 0);
}

TEST_P(DnnConvolutionTest, AnEngineThatDoesNotRunIsNotTriedAgain) {
  Convolution c = Small();
  c.flipped = true;
  ExpectRuns(c, {23, 33, 53, 63});
  const int before = Descriptors();
  ExpectRuns(c, {23, 33, 53, 63});
  ExpectMadeSince(before, 0);
}

TEST_P(DnnConvolutionTest, TensorsOfLessAlignmentHaveAPlanOfTheirOwn) {
  Convolution c = Small();
  ExpectRuns(c, {37, 47, 67, 77});
  c.y.address = At(3) + 4;
  int before = Descriptors();
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectPlannedSince(before);
  c.y.address = At(3) + 12;
  before = Descriptors();
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectMadeSince(before, 1);
  c.y.address = At(4);
  ExpectRuns(c, {37, 47, 67, 77});
  ExpectMadeSince(before, 2);
}

// A form may be planned while it is captured.
TEST_P(DnnConvolutionTest, IsPartOfGraphs) {
  Convolution c = Small(), other = c;
  other.padding = {0, 1, 1};
  other.stride = {1, 2, 2};
  other.y = Packed({1, 1, 1, 2, 2}, At(3));
  Convolution second = c;
  second.y.address = At(4);
  const auto list = device_->PrepareWork({{kDefaultStream, Primitive(c)}, {kDefaultStream, Primitive(second)}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(list->Submit(0, 2).status, absl::OkStatus());
    ExpectHolds(c.y, {37, 47, 67, 77});
    ExpectHolds(second.y, {37, 47, 67, 77});
    Put(c.y, {0, 0, 0, 0});
    Put(second.y, {0, 0, 0, 0});
  }
  list->Update(1, {kDefaultStream, Primitive(other)});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(list->Submit(0, 2).status, absl::OkStatus());
    ExpectHolds(c.y, {37, 47, 67, 77});
    ExpectHolds(other.y, {4, 18, 36, 77});
    Put(c.y, {0, 0, 0, 0});
    Put(other.y, {0, 0, 0, 0});
  }
}

}  // namespace
}  // namespace wharf::device::cuda
