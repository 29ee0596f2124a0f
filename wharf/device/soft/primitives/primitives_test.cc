// The primitives against the plainest loops there are, in all types and layouts; and that they keep to their memory.
#include "wharf/device/soft/primitives/primitives.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "wharf/base/random.h"
#include "wharf/base/test_environment.h"
#include "wharf/device/soft/primitives/blocks.h"

namespace wharf::device::soft {
namespace {

using Dims = std::array<int32_t, kTensorDims>;

// Memory with nothing around it.
class Arena {
 public:
  static constexpr size_t kBytes = size_t{1} << 20, kPage = 4096;
  Arena() {
    void* const all = mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    begin_ = static_cast<std::byte*>(all) + kPage;
    if (mprotect(begin_, kBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Arena() { munmap(begin_ - kPage, kBytes + 2 * kPage); }
  DeviceAddress begin() const { return reinterpret_cast<DeviceAddress>(begin_); }
  bool Contains(DeviceAddress address, uint64_t bytes) const {
    return address >= begin() && bytes <= kBytes && address - begin() <= kBytes - bytes;
  }
  std::vector<std::byte> Contents() const { return {begin_, begin_ + kBytes}; }
  // The next free place, on a multiple of 64.
  DeviceAddress Take(uint64_t bytes) {
    const DeviceAddress taken = begin() + used_;
    used_ += (bytes + 63) / 64 * 64;
    if (used_ > kBytes) std::abort();
    return taken;
  }
  std::byte* At(DeviceAddress address) { return begin_ + (address - begin()); }

 private:
  std::byte* begin_ = nullptr;
  size_t used_ = 0;
};

enum class Layout { kChannelsFirst, kChannelsLast, kGaps };

Tensor MakeTensor(Arena& arena, const Dims& dims, ElementType type, Layout layout) {
  Tensor tensor;
  tensor.type = type;
  tensor.dims = dims;
  const std::array<int, kTensorDims> first{4, 3, 2, 1, 0}, last{1, 4, 3, 2, 0};
  int32_t stride = layout == Layout::kGaps ? 2 : 1;
  for (const int i : layout == Layout::kChannelsLast ? last : first) {
    tensor.strides[i] = stride;
    stride *= dims[i];
    if (layout == Layout::kGaps) stride += 1;
  }
  tensor.address = arena.Take(tensor.Bytes());
  return tensor;
}

int64_t Offset(const Tensor& tensor, const Dims& at) {
  int64_t offset = 0;
  for (int i = 0; i < kTensorDims; ++i) offset += int64_t{at[i]} * tensor.strides[i];
  return offset;
}
double Get(const Tensor& tensor, const Dims& at) {
  const DeviceAddress address = tensor.address + static_cast<uint64_t>(Offset(tensor, at)) * ElementBytes(tensor.type);
  if (tensor.type == ElementType::kF64) return *reinterpret_cast<const double*>(address);
  float value = 0;
  LoadRow(tensor.type, address, 1, 1, &value);
  return static_cast<double>(value);
}
void Put(const Tensor& tensor, const Dims& at, double value) {
  const DeviceAddress address = tensor.address + static_cast<uint64_t>(Offset(tensor, at)) * ElementBytes(tensor.type);
  StoreRow(tensor.type, address, 1, 1, &value);
}
template <typename Visit>
void ForEachPlace(const Dims& dims, const Visit& visit) {
  Dims at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          for (at[4] = 0; at[4] < dims[4]; ++at[4]) visit(at);
}
// Small quarters, so that sums of products are exact in every type's arithmetic.
void Randomize(const Tensor& tensor, Random& random) {
  ForEachPlace(tensor.dims, [&](const Dims& at) { Put(tensor, at, random.Between(-4, 4) * 0.25); });
}
std::vector<double> Values(const Tensor& tensor) {
  std::vector<double> values;
  ForEachPlace(tensor.dims, [&](const Dims& at) { values.push_back(Get(tensor, at)); });
  return values;
}
// Rounded as the tensor's type rounds.
double Rounded(ElementType type, double value) {
  alignas(8) std::byte room[8];
  const auto address = reinterpret_cast<DeviceAddress>(room);
  StoreRow(type, address, 1, 1, &value);
  Tensor tensor;
  tensor.address = address;
  tensor.type = type;
  return Get(tensor, {});
}

// --- convolutions ---

// The sum for each element of the result, by the definition.
std::vector<double> Sums(const Convolution& c) {
  const Tensor& result = c.transposed ? c.x : c.y;
  std::vector<double> sums(static_cast<size_t>(result.Volume()));
  const auto index = [&](const Dims& at) {
    size_t i = 0;
    for (int d = 0; d < kTensorDims; ++d) i = i * result.dims[d] + at[d];
    return i;
  };
  const int32_t inputs = c.filter.dims[1], outputs = c.filter.dims[0] / c.groups;
  ForEachPlace(c.y.dims, [&](const Dims& y) {
    const int32_t group = y[1] / outputs;
    ForEachPlace({1, inputs, c.filter.dims[2], c.filter.dims[3], c.filter.dims[4]}, [&](const Dims& tap) {
      Dims x{y[0], group * inputs + tap[1]}, w{y[1], tap[1]};
      for (int i = 0; i < kSpatialDims; ++i) {
        x[i + 2] = y[i + 2] * c.stride[i] - c.padding[i] + tap[i + 2] * c.dilation[i];
        if (x[i + 2] < 0 || x[i + 2] >= c.x.dims[i + 2]) return;
        w[i + 2] = c.flipped ? c.filter.dims[i + 2] - 1 - tap[i + 2] : tap[i + 2];
      }
      if (c.transposed) {
        sums[index(x)] += Get(c.y, y) * Get(c.filter, w);
      } else {
        sums[index(y)] += Get(c.x, x) * Get(c.filter, w);
      }
    });
  });
  return sums;
}

struct ConvolutionCase {
  Dims x;
  std::array<int32_t, 2> channels;  // outputs, groups
  Spatial window, padding, stride, dilation;
};
constexpr ConvolutionCase kCases[] = {
    {{2, 4, 1, 7, 9}, {6, 1}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {{1, 4, 1, 9, 8}, {8, 2}, {1, 3, 2}, {0, 0, 1}, {1, 2, 3}, {1, 1, 2}},
    {{2, 6, 1, 5, 5}, {6, 6}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},  // depthwise
    {{1, 5, 1, 6, 6}, {3, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}},  // each place alone
    {{1, 3, 1, 6, 7}, {4, 1}, {1, 1, 1}, {0, 0, 0}, {1, 2, 2}, {1, 1, 1}},
    {{1, 2, 4, 5, 6}, {3, 1}, {2, 3, 3}, {1, 1, 1}, {1, 2, 1}, {1, 1, 2}},  // volumes
    {{3, 2, 1, 1, 12}, {4, 1}, {1, 1, 5}, {0, 0, 2}, {1, 1, 2}, {1, 1, 1}},
    {{1, 1, 1, 3, 3}, {1, 1}, {1, 3, 3}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}},
    {{1, 2, 1, 4, 4}, {2, 1}, {1, 2, 2}, {0, 3, 3}, {1, 4, 4}, {1, 1, 1}},  // windows beside the input
};
constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kF16, ElementType::kBF16, ElementType::kF64};

Convolution Make(Arena& arena, const ConvolutionCase& one, ElementType type, Layout layout) {
  Convolution c;
  Dims y{one.x[0], one.channels[0]};
  for (int i = 0; i < kSpatialDims; ++i) {
    y[i + 2] = (one.x[i + 2] + 2 * one.padding[i] - (one.window[i] - 1) * one.dilation[i] - 1) / one.stride[i] + 1;
  }
  c.x = MakeTensor(arena, one.x, type, layout);
  c.filter = MakeTensor(
      arena, {one.channels[0], one.x[1] / one.channels[1], one.window[0], one.window[1], one.window[2]}, type, layout);
  c.y = MakeTensor(arena, y, type, layout);
  c.padding = one.padding;
  c.stride = one.stride;
  c.dilation = one.dilation;
  c.groups = one.channels[1];
  return c;
}

TEST(SoftPrimitivesTest, ConvolutionsOfAllTypesAndLayouts) {
  Random random(1);
  for (const ConvolutionCase& one : kCases) {
    for (const ElementType type : kTypes) {
      for (const Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast, Layout::kGaps}) {
        for (const int way : {0, 1, 2, 3}) {
          Arena arena;
          Convolution c = Make(arena, one, type, layout);
          c.transposed = (way & 1) != 0;
          c.flipped = (way & 2) != 0;
          for (const Tensor* const tensor : {&c.x, &c.filter, &c.y}) Randomize(*tensor, random);
          ASSERT_EQ(CheckPrimitive(c, [&](DeviceAddress a, uint64_t n) { return arena.Contains(a, n); }),
                    absl::OkStatus());
          const std::vector<double> want = Sums(c);
          RunPrimitive(c);
          const Tensor& result = c.transposed ? c.x : c.y;
          const std::vector<double> got = Values(result);
          for (size_t i = 0; i < want.size(); ++i) {
            ASSERT_EQ(got[i], Rounded(type, want[i])) << "element " << i << ", case " << (&one - kCases) << ", type "
                                                      << static_cast<int>(type) << ", way " << way;
          }
        }
      }
    }
  }
}

TEST(SoftPrimitivesTest, ABiasAnotherTensorAndAnActivation) {
  Random random(2);
  for (const ElementType type : {ElementType::kF32, ElementType::kF16}) {
    Arena arena;
    Convolution c = Make(arena, kCases[1], type, Layout::kChannelsLast);
    c.added = MakeTensor(arena, c.y.dims, type, Layout::kChannelsFirst);
    const Tensor bias = MakeTensor(arena, {1, c.y.dims[1], 1, 1, 1}, ElementType::kF32, Layout::kChannelsFirst);
    for (const Tensor* const tensor : std::initializer_list<const Tensor*>{&c.x, &c.filter, &c.added, &bias})
      Randomize(*tensor, random);
    c.alpha = 0.5;
    c.beta = -2;
    c.bias = bias.address;
    c.activation.kind = Activation::kRelu;
    std::vector<double> want = Sums(c);
    size_t i = 0;
    ForEachPlace(c.y.dims, [&](const Dims& at) {
      const double sum = 0.5 * want[i] - 2 * Get(c.added, at) + Get(bias, {0, at[1]});
      want[i++] = Rounded(type, std::max(sum, 0.0));
    });
    RunPrimitive(c);
    EXPECT_EQ(Values(c.y), want);
  }
}

TEST(SoftPrimitivesTest, LargeConvolutionsAreCutIntoTiles) {
  Random random(3);
  Arena arena;
  // Rows beyond what scratch memory holds at the least number of places.
  Convolution c = Make(arena, {{1, 140, 1, 9, 9}, {1, 1}, {1, 11, 11}, {0, 5, 5}, {1, 1, 1}, {1, 1, 1}},
                       ElementType::kF32, Layout::kChannelsFirst);
  for (const Tensor* const tensor : {&c.x, &c.filter}) Randomize(*tensor, random);
  const std::vector<double> want = Sums(c);
  RunPrimitive(c);
  EXPECT_EQ(Values(c.y), want);
}

// --- the others ---

TEST(SoftPrimitivesTest, Pooling) {
  Random random(4);
  for (const PoolingKind kind :
       {PoolingKind::kMax, PoolingKind::kAverageWithPadding, PoolingKind::kAverageWithoutPadding}) {
    for (const Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast, Layout::kGaps}) {
      Arena arena;
      Pooling p;
      p.kind = kind;
      p.x = MakeTensor(arena, {2, 3, 1, 7, 8}, ElementType::kF32, layout);
      p.y = MakeTensor(arena, {2, 3, 1, 4, 4}, ElementType::kF32, layout);
      p.window = {1, 3, 2};
      p.padding = {0, 1, 0};
      p.stride = {1, 2, 2};
      p.alpha = 2;
      p.beta = 0.5;
      Randomize(p.x, random);
      Randomize(p.y, random);
      std::vector<double> want;
      ForEachPlace(p.y.dims, [&](const Dims& at) {
        double most = -HUGE_VAL, sum = 0;
        int inside = 0;
        for (int dy = 0; dy < 3; ++dy) {
          for (int dx = 0; dx < 2; ++dx) {
            const int32_t y = at[3] * 2 - 1 + dy, x = at[4] * 2 + dx;
            if (y < 0 || y >= 7 || x >= 8) continue;
            const double value = Get(p.x, {at[0], at[1], 0, y, x});
            most = std::max(most, value);
            sum += value;
            ++inside;
          }
        }
        const double pooled = kind == PoolingKind::kMax ? most
                              : kind == PoolingKind::kAverageWithPadding
                                  ? static_cast<float>(sum) / 6.0F
                                  : static_cast<float>(sum) / static_cast<float>(inside);
        want.push_back(static_cast<double>(static_cast<float>(2 * pooled) + 0.5F * static_cast<float>(Get(p.y, at))));
      });
      RunPrimitive(p);
      EXPECT_EQ(Values(p.y), want);
    }
  }
}

TEST(SoftPrimitivesTest, MaximaAndWhatIsNoNumber) {
  Arena arena;
  Pooling p;
  p.x = MakeTensor(arena, {1, 1, 1, 1, 4}, ElementType::kF32, Layout::kChannelsFirst);
  p.y = MakeTensor(arena, {1, 1, 1, 1, 2}, ElementType::kF32, Layout::kChannelsFirst);
  p.window = p.stride = {1, 1, 2};
  Put(p.x, {0, 0, 0, 0, 0}, std::numeric_limits<double>::quiet_NaN());
  Put(p.x, {0, 0, 0, 0, 1}, 3);
  RunPrimitive(p);
  EXPECT_EQ(Values(p.y)[0], 3);
  p.propagates_nan = true;
  RunPrimitive(p);
  EXPECT_TRUE(std::isnan(Values(p.y)[0]));
  EXPECT_EQ(Values(p.y)[1], 0);
}

TEST(SoftPrimitivesTest, BatchNormalization) {
  Random random(5);
  for (const bool by_place : {false, true}) {
    for (const ElementType type : kTypes) {
      Arena arena;
      BatchNorm n;
      const Layout layout = by_place ? Layout::kChannelsLast : Layout::kGaps;
      n.x = MakeTensor(arena, {3, 4, 1, 3, 5}, type, layout);
      n.y = MakeTensor(arena, n.x.dims, type, layout);
      const ElementType of_parameters = type == ElementType::kF64 ? type : ElementType::kF32;
      Tensor parameters[4];
      for (Tensor& parameter : parameters) {
        parameter =
            MakeTensor(arena, {1, 4, 1, by_place ? 3 : 1, by_place ? 5 : 1}, of_parameters, Layout::kChannelsFirst);
        Randomize(parameter, random);
      }
      ForEachPlace(parameters[3].dims, [&](const Dims& at) { Put(parameters[3], at, 0.75); });
      n.scale = parameters[0];
      n.shift = parameters[1].address;
      n.mean = parameters[2].address;
      n.variance = parameters[3].address;
      n.epsilon = 0.25;  // the root of their sum is 1
      Randomize(n.x, random);
      std::vector<double> want;
      ForEachPlace(n.x.dims, [&](const Dims& at) {
        const Dims p = by_place ? Dims{0, at[1], 0, at[3], at[4]} : Dims{0, at[1]};
        want.push_back(
            Rounded(type, Get(parameters[0], p) * (Get(n.x, at) - Get(parameters[2], p)) + Get(parameters[1], p)));
      });
      RunPrimitive(n);
      EXPECT_EQ(Values(n.y), want);
    }
  }
}

TEST(SoftPrimitivesTest, Softmax) {
  Random random(6);
  for (const bool over_all : {false, true}) {
    for (const bool log : {false, true}) {
      Arena arena;
      device::Softmax s;
      s.over_all = over_all;
      s.log = log;
      s.x = MakeTensor(arena, {2, 5, 1, 3, 2}, ElementType::kF32, over_all ? Layout::kGaps : Layout::kChannelsLast);
      s.y = MakeTensor(arena, s.x.dims, ElementType::kF32, Layout::kChannelsFirst);
      Randomize(s.x, random);
      Put(s.x, {1, 1, 0, 1, 1}, 200);  // whose power is beyond float
      RunPrimitive(s);
      ForEachPlace(s.x.dims, [&](const Dims& at) {
        double sum = 0;
        ForEachPlace({1, 5, 1, over_all ? 3 : 1, over_all ? 2 : 1}, [&](const Dims& of) {
          const Dims other = over_all ? Dims{at[0], of[1], 0, of[3], of[4]} : Dims{at[0], of[1], 0, at[3], at[4]};
          sum += std::exp(Get(s.x, other));
        });
        const double want = log ? Get(s.x, at) - std::log(sum) : std::exp(Get(s.x, at)) / sum;
        EXPECT_NEAR(Get(s.y, at), want, 1e-5 * std::max(1.0, std::abs(want)));
      });
    }
  }
}

TEST(SoftPrimitivesTest, ElementWiseOperationsRepeatWhatIsSmaller) {
  Random random(7);
  for (const PointwiseKind kind : {PointwiseKind::kAdd, PointwiseKind::kMultiply, PointwiseKind::kMin,
                                   PointwiseKind::kMax, PointwiseKind::kSubtract, PointwiseKind::kFirst}) {
    for (const Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast, Layout::kGaps}) {
      Arena arena;
      Pointwise p;
      p.kind = kind;
      p.a = MakeTensor(arena, {2, 3, 1, 4, 5}, ElementType::kF32, layout);
      p.b = MakeTensor(arena, {1, 3, 1, 1, 5}, ElementType::kF32, Layout::kChannelsFirst);
      p.y = MakeTensor(arena, p.a.dims, ElementType::kF32, Layout::kChannelsFirst);
      p.alpha_a = 2;
      p.alpha_b = -1;
      p.alpha = 0.5;
      p.beta = 4;
      p.activation.kind = Activation::kRelu;
      for (const Tensor* const tensor : {&p.a, &p.b, &p.y}) Randomize(*tensor, random);
      std::vector<double> want;
      ForEachPlace(p.y.dims, [&](const Dims& at) {
        const double a = 2 * Get(p.a, at), b = -Get(p.b, {0, at[1], 0, 0, at[4]});
        const double combined = kind == PointwiseKind::kAdd        ? a + b
                                : kind == PointwiseKind::kMultiply ? a * b
                                : kind == PointwiseKind::kMin      ? std::min(a, b)
                                : kind == PointwiseKind::kMax      ? std::max(a, b)
                                : kind == PointwiseKind::kSubtract ? a - b
                                                                   : a;
        want.push_back(0.5 * std::max(combined, 0.0) + 4 * Get(p.y, at));
      });
      RunPrimitive(p);
      EXPECT_EQ(Values(p.y), want);
    }
  }
}

TEST(SoftPrimitivesTest, Activations) {
  const auto of = [](Activation kind, double coefficient, double value) {
    return Activate(ActivationForm{kind, coefficient}, value);
  };
  EXPECT_EQ(of(Activation::kNone, 0, -3), -3);
  EXPECT_EQ(of(Activation::kRelu, 0, -3), 0);
  EXPECT_EQ(of(Activation::kRelu, 0, 3), 3);
  EXPECT_EQ(of(Activation::kClippedRelu, 6, 9), 6);
  EXPECT_EQ(of(Activation::kClippedRelu, 6, -9), 0);
  EXPECT_NEAR(of(Activation::kSigmoid, 0, 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(of(Activation::kTanh, 0, 1), 0.7615941559557649, 1e-15);
  EXPECT_NEAR(of(Activation::kElu, 2, -1), -1.2642411176571153, 1e-15);
  EXPECT_EQ(of(Activation::kElu, 2, 1), 1);
  EXPECT_NEAR(of(Activation::kSwish, 1, 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(of(Activation::kGelu, 0, 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(of(Activation::kGeluTanh, 0, 1), 0.8411919906082768, 1e-6);
  EXPECT_TRUE(std::isnan(of(Activation::kRelu, 0, std::numeric_limits<double>::quiet_NaN())));
}

// --- what strangers send ---

class Hostile {
 public:
  Hostile(Random& random, const Arena& arena) : random_(random), arena_(arena) {}

  Primitive Any() {
    switch (random_.Below(8)) {
      case 0:
        return AnyConvolution();
      case 4:
        return AnyNetwork();
      case 5:
        return AnyTransform();
      case 6:
        return AnyRoutine();
      case 1: {
        Pooling p;
        p.kind = static_cast<PoolingKind>(random_.Below(4));
        p.x = AnyTensor();
        p.y = Like(p.x);
        for (int i = 0; i < kSpatialDims; ++i) {
          Window(p.x.dims[i + 2], &p.window[i], &p.padding[i], &p.stride[i], nullptr, &p.y.dims[i + 2]);
        }
        p.beta = random_.Below(2);
        return p;
      }
      case 2: {
        BatchNorm n;
        n.x = AnyTensor();
        n.y = Like(n.x);
        n.scale = Like(n.x);
        n.scale.dims[0] = 1;
        if (random_.Chance(0.7)) n.scale.dims = {1, n.x.dims[1], 1, 1, 1};
        n.shift = Address(n.scale.type), n.mean = Address(n.scale.type), n.variance = Address(n.scale.type);
        return n;
      }
      case 3: {
        device::Softmax s;
        s.x = AnyTensor();
        s.y = Like(s.x);
        s.over_all = random_.Chance(0.5);
        s.log = random_.Chance(0.5);
        return s;
      }
      default: {
        Pointwise p;
        p.kind = static_cast<PointwiseKind>(random_.Below(10));
        p.y = AnyTensor();
        p.a = Like(p.y), p.b = Like(p.y);
        for (int32_t& dim : p.a.dims) dim = random_.Chance(0.2) ? 1 : dim;
        for (int32_t& dim : p.b.dims) dim = random_.Chance(0.2) ? 1 : dim;
        p.activation.kind = static_cast<Activation>(random_.Below(10));
        p.beta = random_.Below(2);
        return p;
      }
    }
  }

 private:
  Primitive AnyConvolution() {
    Convolution c;
    c.x = AnyTensor();
    c.filter = Like(c.x), c.y = Like(c.x);
    c.groups = random_.Chance(0.5) ? 1 : random_.Between(1, 4);
    c.filter.dims[0] = c.y.dims[1] = random_.Between(1, 4) * c.groups;
    c.filter.dims[1] = std::max(1, c.x.dims[1] / std::max(1, c.groups));
    for (int i = 0; i < kSpatialDims; ++i) {
      Window(c.x.dims[i + 2], &c.filter.dims[i + 2], &c.padding[i], &c.stride[i], &c.dilation[i], &c.y.dims[i + 2]);
    }
    c.transposed = random_.Chance(0.5);
    c.flipped = random_.Chance(0.3);
    if (random_.Chance(0.3)) c.added = Like(c.transposed ? c.x : c.y), c.beta = 1;
    if (random_.Chance(0.3)) c.bias = Address(c.bias_type);
    c.activation.kind = static_cast<Activation>(random_.Below(10));
    return c;
  }
  Primitive AnyNetwork() {
    Recurrent r;
    r.cell = static_cast<RecurrentCell>(random_.Below(4));
    r.bias = static_cast<RecurrentBias>(random_.Below(4));
    r.layout = static_cast<SequenceLayout>(random_.Below(3));
    r.type = kTypes[random_.Below(std::size(kTypes))];
    r.both_directions = random_.Chance(0.5);
    r.fills = random_.Chance(0.5);
    r.inputs = Number(9), r.hidden = Number(9), r.layers = Number(3), r.steps = Number(9), r.batch = Number(5);
    r.outputs = r.cell == RecurrentCell::kLstm && random_.Chance(0.5) ? Number(9) : r.hidden;
    if (random_.Chance(0.2)) r.skips_input = true, r.inputs = r.hidden;
    if (random_.Chance(0.6) && r.batch > 0 && r.batch < 100) {
      for (int i = 0; i < r.batch; ++i) r.lengths.push_back(random_.Between(0, std::max(1, std::min(r.steps, 9))));
      if (random_.Chance(0.9)) std::sort(r.lengths.rbegin(), r.lengths.rend());
    }
    for (DeviceAddress* const address : {&r.x, &r.y, &r.weights}) *address = Address(r.type);
    for (DeviceAddress* const address : {&r.hx, &r.hy, &r.cx, &r.cy}) {
      if (random_.Chance(0.7)) *address = Address(r.type);
    }
    return r;
  }
  Primitive AnyTransform() {
    Fourier f;
    f.kind = static_cast<FourierKind>(random_.Below(4));
    f.inverse = random_.Chance(0.5);
    f.type = random_.Chance(0.5) ? ElementType::kF32 : ElementType::kF64;
    for (int64_t& size : f.sizes) size = random_.Chance(0.4) ? 1 : Number(12);
    f.batch = Number(4);
    for (FourierSide* const side : {&f.in, &f.out}) {
      side->address = Address(f.type);
      side->rows = Number(12), side->columns = Number(12), side->stride = Number(3);
      side->distance = random_.Chance(0.9) ? 3 * 12 * 12 * 12 : Number(99);
    }
    if (random_.Chance(0.3)) f.out.address = f.in.address;
    return f;
  }
  Primitive AnyRoutine() {
    Lapack l;
    l.routine = static_cast<LapackRoutine>(random_.Below(17));
    constexpr ElementType kOfRoutines[] = {ElementType::kF32, ElementType::kF64, ElementType::kC32, ElementType::kC64};
    l.type = random_.Chance(0.98) ? kOfRoutines[random_.Below(4)] : ElementType::kF16;
    l.m = Number(9), l.n = Number(9), l.batch = random_.Chance(0.7) ? 1 : Number(4);
    l.k = l.routine == LapackRoutine::kSygvd ? Number(3) : Number(6);
    for (LapackOperand& operand : l.operands) {
      operand.address = random_.Chance(0.95) ? Address(l.type) : 0;
      operand.leading = random_.Chance(0.95) ? random_.Between(9, 12) : Number(12);
      operand.stride = random_.Chance(0.95) ? 12 * 9 : Number(99);
    }
    if (random_.Chance(0.9)) l.info = Address(ElementType::kF32);
    l.wide_pivots = random_.Chance(0.5), l.upper = random_.Chance(0.5), l.right = random_.Chance(0.5);
    l.transpose = static_cast<LapackTranspose>(random_.Below(random_.Chance(0.98) ? 3 : 5));
    l.left = static_cast<LapackVectors>(random_.Below(random_.Chance(0.9) ? 3 : 5));
    l.right_vectors = random_.Chance(0.7) ? l.left : static_cast<LapackVectors>(random_.Below(4));
    return l;
  }
  // A window that fits, mostly.
  void Window(int32_t in, int32_t* window, int32_t* padding, int32_t* stride, int32_t* dilation, int32_t* out) {
    *window = Number(4);
    *padding = random_.Below(*window > 0 ? std::min(*window, 3) : 1);
    *stride = Number(3);
    if (dilation != nullptr) *dilation = Number(2);
    const int64_t reach = (int64_t{*window} - 1) * (dilation == nullptr ? 1 : *dilation) + 1;
    if (*stride < 1 || reach < 1) return;
    *out = random_.Chance(0.95) ? static_cast<int32_t>((in + 2 * int64_t{*padding} - reach) / *stride + 1) : Number(5);
  }
  int32_t Number(int most) {
    constexpr int32_t kEdges[] = {0, -1, 0x7fffffff, -0x7fffffff - 1, 1 << 16, 1 << 20};
    return random_.Chance(0.97) ? random_.Between(1, most) : kEdges[random_.Below(std::size(kEdges))];
  }
  DeviceAddress Address(ElementType type) {
    const DeviceAddress address = arena_.begin() + static_cast<uint64_t>(random_.Below(Arena::kBytes + 4096));
    return random_.Chance(0.97) ? address / 8 * 8 : address + (type == ElementType::kF64 ? 1 : 0);
  }
  Tensor AnyTensor() {
    Tensor tensor;
    tensor.type = kTypes[random_.Below(std::size(kTypes))];
    for (int32_t& dim : tensor.dims) dim = random_.Chance(0.3) ? 1 : Number(6);
    return Like(tensor);
  }
  // Of the same type and shape, at another place; its strides are chosen when dims are known, so by the first use.
  Tensor Like(const Tensor& other) {
    Tensor tensor = other;
    tensor.address = Address(tensor.type);
    std::array<int, kTensorDims> order{};
    std::iota(order.begin(), order.end(), 0);
    for (int i = kTensorDims - 1; i > 0; --i) std::swap(order[i], order[random_.Below(i + 1)]);
    int64_t stride = random_.Between(1, 2);
    for (const int i : order) {
      tensor.strides[i] =
          random_.Chance(0.98) ? static_cast<int32_t>(std::min<int64_t>(stride, 0x7fffffff)) : Number(9);
      stride *= 8;  // more than any size that is usual here
    }
    return tensor;
  }

  Random& random_;
  const Arena& arena_;
};

// Whatever is accepted runs, and changes nothing but its result's memory.
TEST(SoftPrimitivesTest, WhatIsAcceptedKeepsToItsMemory) {
  Arena arena;
  int accepted = 0;
  const uint64_t seed = FromEnvironment("WHARF_SEED", 1);
  const uint64_t rounds = FromEnvironment("WHARF_HOSTILE_PRIMITIVES", 20'000);
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random(seed + round);
    const Primitive primitive = Hostile(random, arena).Any();
    if (!CheckPrimitive(primitive, [&](DeviceAddress a, uint64_t n) { return arena.Contains(a, n); }).ok()) continue;
    if (!CheckLimits(primitive).ok()) continue;
    ++accepted;
    const bool look = accepted % 16 == 0;
    std::vector<std::byte> before;
    if (look) before = arena.Contents();
    RunPrimitive(primitive);
    if (!look) continue;
    const std::vector<std::byte> after = arena.Contents();
    // But for the results' memory.
    for (const PrimitiveOperand& operand : OperandsOf(primitive)) {
      if (!operand.written) continue;
      const size_t begin = operand.address - arena.begin();
      std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(begin), operand.bytes,
                  before.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    ASSERT_EQ(std::memcmp(before.data(), after.data(), after.size()), 0)
        << NameOf(primitive) << ", seed " << seed + round;
  }
  EXPECT_GT(accepted, static_cast<int>(rounds / 20));
}

}  // namespace
}  // namespace wharf::device::soft
