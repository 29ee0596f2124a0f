#include "wharf/device/soft/driver/gemm.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "wharf/device/soft/primitives/half.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kBytes = uint64_t{1} << 20;

// Operands at fixed places in device memory, filled with small integers, so that every product is exact.
class GemmTest : public ::testing::Test {
 protected:
  GemmTest() {
    memory_ = *Memory::Create(uint64_t{64} << 20);
    base_ = memory_->Arena().base;
    EXPECT_TRUE(memory_->Map(base_, 6 * kBytes).ok());
    std::mt19937 random(1);
    for (float& value : values_) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
  }

  DeviceAddress Place(int index) const { return base_ + index * kBytes; }
  template <typename T>
  T* At(int place) {
    return reinterpret_cast<T*>(Place(place));
  }
  float Value(int place, size_t index) const { return values_[(index + 131 * place) % values_.size()]; }

  // Encodes `value` as `type` at element `index` of a place, and back.
  void Put(int place, size_t index, ElementType type, float value) {
    switch (type) {
      case ElementType::kF16:
        At<uint16_t>(place)[index] = FloatToHalf(value);
        break;
      case ElementType::kBF16:
        At<uint16_t>(place)[index] = FloatToBrain(value);
        break;
      case ElementType::kI8:
        At<int8_t>(place)[index] = static_cast<int8_t>(value);
        break;
      case ElementType::kI32:
        At<int32_t>(place)[index] = static_cast<int32_t>(value);
        break;
      case ElementType::kF64:
        At<double>(place)[index] = value;
        break;
      default:
        At<float>(place)[index] = value;
    }
  }
  float Get(int place, size_t index, ElementType type) {
    switch (type) {
      case ElementType::kF16:
        return HalfToFloat(At<uint16_t>(place)[index]);
      case ElementType::kBF16:
        return BrainToFloat(At<uint16_t>(place)[index]);
      case ElementType::kI32:
        return static_cast<float>(At<int32_t>(place)[index]);
      case ElementType::kF64:
        return static_cast<float>(At<double>(place)[index]);
      default:
        return At<float>(place)[index];
    }
  }
  void Fill(ElementType a, ElementType b, ElementType c, size_t count = 4000) {
    for (size_t i = 0; i < count; ++i) {
      Put(0, i, a, Value(0, i));
      Put(1, i, b, Value(1, i));
      Put(2, i, c, Value(2, i));
      Put(3, i, c, -77);
    }
  }
  absl::Status Run(const Gemm& gemm) {
    WHARF_RETURN_IF_ERROR(CheckGemm(gemm, *memory_));
    return RunGemm(gemm, *memory_);
  }
  // What element (i, j) of batch `s` must be, before an epilogue.
  float Expected(const Gemm& g, int64_t i, int64_t j, int64_t s) const {
    double sum = 0;
    for (int64_t l = 0; l < g.k; ++l) {
      const int64_t x = g.transpose_a == Transpose::kNone ? l * g.lda + i : i * g.lda + l;
      const int64_t y = g.transpose_b == Transpose::kNone ? j * g.ldb + l : l * g.ldb + j;
      sum += static_cast<double>(Value(0, s * g.stride_a + x)) * Value(1, s * g.stride_b + y);
    }
    return static_cast<float>(g.alpha[0] * sum + g.beta[0] * Value(2, s * g.stride_c + j * g.ldc + i));
  }
  Gemm Base(ElementType a, ElementType c, ElementType compute) const {
    return {.m = 5,
            .n = 4,
            .k = 6,
            .type_a = a,
            .type_b = a,
            .type_c = c,
            .compute = compute,
            .a = Place(0),
            .b = Place(1),
            .c = Place(2),
            .lda = 9,
            .ldb = 8,
            .ldc = 7,
            .alpha = {2, 0},
            .beta = {3, 0}};
  }
  void ExpectRight(const Gemm& g) {
    const int place = g.d != 0 ? 3 : 2;
    const int64_t ld = g.d != 0 ? g.ldd : g.ldc, stride = g.d != 0 ? g.stride_d : g.stride_c;
    for (int64_t s = 0; s < g.batch; ++s) {
      for (int64_t j = 0; j < g.n; ++j) {
        for (int64_t i = 0; i < g.m; ++i) {
          ASSERT_EQ(Get(place, s * stride + j * ld + i, g.type_c), Expected(g, i, j, s)) << i << "," << j << "," << s;
        }
      }
    }
  }

  std::unique_ptr<Memory> memory_;
  DeviceAddress base_ = 0;
  std::vector<float> values_ = std::vector<float>(997);
};

TEST_F(GemmTest, EveryTypeAndTransposition) {
  using enum ElementType;
  struct Types {
    ElementType a, c, compute;
  };
  for (const Types& t : {Types{kF32, kF32, kF32},
                         {kF64, kF64, kF64},
                         {kF16, kF16, kF32},
                         {kF16, kF32, kF32},
                         {kF16, kF16, kF16},
                         {kBF16, kBF16, kF32},
                         {kBF16, kF32, kF32},
                         {kI8, kI32, kI32},
                         {kI8, kF32, kF32}}) {
    for (const Transpose ta : {Transpose::kNone, Transpose::kTranspose, Transpose::kConjugate}) {
      for (const Transpose tb : {Transpose::kNone, Transpose::kTranspose}) {
        Fill(t.a, t.a, t.c);
        Gemm g = Base(t.a, t.c, t.compute);
        g.transpose_a = ta;
        g.transpose_b = tb;
        ASSERT_EQ(Run(g), absl::OkStatus());
        ExpectRight(g);
      }
    }
  }
}

TEST_F(GemmTest, SeparateDestination) {
  using enum ElementType;
  for (const ElementType type : {kF32, kF16}) {
    for (const double beta : {0.0, 3.0}) {
      Fill(type, type, type);
      Gemm g = Base(type, type, kF32);
      g.d = Place(3);
      g.ldd = 10;
      g.beta = {beta, 0};
      ASSERT_EQ(Run(g), absl::OkStatus());
      ExpectRight(g);
      EXPECT_EQ(Get(2, 0, type), Value(2, 0));  // C is left alone
      EXPECT_EQ(Get(3, 5, type), -77);          // and what lies between D's columns
    }
  }
}

TEST_F(GemmTest, StridedBatch) {
  using enum ElementType;
  for (const ElementType type : {kF32, kBF16}) {
    Fill(type, type, type);
    Gemm g = Base(type, type, kF32);
    g.batch = 5;
    g.stride_a = 60;
    g.stride_b = 0;
    g.stride_c = 40;
    ASSERT_EQ(Run(g), absl::OkStatus());
    ExpectRight(g);
  }
}

TEST_F(GemmTest, PointerArraysAndDeviceScalars) {
  Fill(ElementType::kF32, ElementType::kF32, ElementType::kF32);
  Gemm g = Base(ElementType::kF32, ElementType::kF32, ElementType::kF32);
  g.batch = 3;
  g.stride_a = 60, g.stride_b = 50, g.stride_c = 40;
  auto* pointers = At<DeviceAddress>(4);
  for (int i = 0; i < 3; ++i) {
    pointers[i] = Place(0) + i * 60 * 4;
    pointers[8 + i] = Place(1) + i * 50 * 4;
    pointers[16 + i] = Place(2) + i * 40 * 4;
  }
  At<float>(5)[0] = 2;
  At<float>(5)[1] = 3;
  g.a = Place(4), g.b = Place(4) + 64, g.c = Place(4) + 128;
  g.pointer_arrays = true;
  g.scalars_on_device = true;
  g.alpha_address = Place(5), g.beta_address = Place(5) + 4;
  ASSERT_EQ(Run(g), absl::OkStatus());
  ExpectRight(g);
  pointers[1] = 4096;
  EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kIllegalAddress);
  g.alpha_address = 0;
  EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kInvalidValue);
}

TEST_F(GemmTest, BetaZeroIgnoresWhatWasThere) {
  for (const ElementType type : {ElementType::kF32, ElementType::kF16}) {
    Fill(type, type, type);
    for (size_t i = 0; i < 100; ++i) Put(2, i, type, std::nanf(""));
    Gemm g = Base(type, type, ElementType::kF32);
    g.beta = {0, 0};
    ASSERT_EQ(Run(g), absl::OkStatus());
    ExpectRight(g);
  }
}

TEST_F(GemmTest, ZeroInnerDimensionScalesC) {
  Fill(ElementType::kF32, ElementType::kF32, ElementType::kF32);
  Gemm g = Base(ElementType::kF32, ElementType::kF32, ElementType::kF32);
  g.k = 0;
  ASSERT_EQ(Run(g), absl::OkStatus());
  ExpectRight(g);
}

// Nothing is read of A and B, wherever their pointers would lie; those of C are read and checked.
TEST_F(GemmTest, ZeroInnerDimensionOfPointerArrays) {
  for (const DeviceAddress nowhere : {DeviceAddress{0}, DeviceAddress{4096}, ~DeviceAddress{7}}) {
    Fill(ElementType::kF32, ElementType::kF32, ElementType::kF32);
    Gemm g = Base(ElementType::kF32, ElementType::kF32, ElementType::kF32);
    g.k = 0;
    g.batch = 2;
    g.stride_c = 40;
    auto* pointers = At<DeviceAddress>(4);
    pointers[0] = Place(2), pointers[1] = Place(2) + 40 * 4;
    g.a = g.b = nowhere;
    g.c = Place(4);
    g.pointer_arrays = true;
    ASSERT_EQ(Run(g), absl::OkStatus());
    ExpectRight(g);
    pointers[1] = nowhere;
    EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kIllegalAddress);
    g.c = nowhere;
    EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kInvalidValue);
  }
}

TEST_F(GemmTest, IntegersAreExactOverManyPanels) {
  Gemm g = Base(ElementType::kI8, ElementType::kI32, ElementType::kI32);
  g.m = g.n = 2;
  g.k = 5000;
  g.lda = 2, g.ldb = 5000, g.ldc = 2;
  g.alpha = {1, 0}, g.beta = {0, 0};
  for (int i = 0; i < 10000; ++i) At<int8_t>(0)[i] = -128, At<int8_t>(1)[i] = i == 4999 ? -127 : -128;
  ASSERT_EQ(Run(g), absl::OkStatus());
  EXPECT_EQ(At<int32_t>(2)[0], 5000 * 16384 - 128);
  EXPECT_EQ(At<int32_t>(2)[2], 5000 * 16384);
}

TEST_F(GemmTest, Complex) {
  using C = std::complex<float>;
  const C a[2] = {{1, 2}, {3, -1}}, b[2] = {{0, 1}, {2, 2}};
  std::memcpy(At<C>(0), a, sizeof a);
  std::memcpy(At<C>(1), b, sizeof b);
  At<C>(2)[0] = {1, 1};
  Gemm g{.transpose_a = Transpose::kConjugate,
         .m = 1,
         .n = 1,
         .k = 2,
         .type_a = ElementType::kC32,
         .type_b = ElementType::kC32,
         .type_c = ElementType::kC32,
         .compute = ElementType::kC32,
         .a = Place(0),
         .b = Place(1),
         .c = Place(2),
         .lda = 2,
         .ldb = 2,
         .ldc = 1,
         .alpha = {0, 1},
         .beta = {2, 0}};
  ASSERT_EQ(Run(g), absl::OkStatus());
  const C sum = std::conj(a[0]) * b[0] + std::conj(a[1]) * b[1];
  EXPECT_EQ(At<C>(2)[0], C(0, 1) * sum + C(2, 2));
}

TEST_F(GemmTest, Epilogues) {
  for (const ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kF64}) {
    const ElementType compute = type == ElementType::kF64 ? type : ElementType::kF32;
    for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kRelu, Epilogue::kGelu}) {
      Fill(type, type, type);
      Gemm g = Base(type, type, compute);
      g.alpha = {0.25, 0};
      g.beta = {0, 0};
      g.epilogue = epilogue;
      g.bias = Place(5);
      for (int i = 0; i < 5; ++i) Put(5, i, type, static_cast<float>(i) - 2);
      ASSERT_EQ(Run(g), absl::OkStatus());
      for (int64_t j = 0; j < g.n; ++j) {
        for (int64_t i = 0; i < g.m; ++i) {
          const double x = Expected(g, i, j, 0) + static_cast<double>(i) - 2;
          double expected = x;
          if (epilogue == Epilogue::kRelu) expected = std::max(x, 0.0);
          if (epilogue == Epilogue::kGelu)
            expected = 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
          EXPECT_NEAR(Get(2, j * 7 + i, type), expected, type == ElementType::kF16 ? 4e-3 : 1e-5);
        }
      }
    }
  }
}

TEST_F(GemmTest, RefusesMixturesOfTypes) {
  using enum ElementType;
  EXPECT_EQ(CudaErrorOf(Run(Base(kF32, kF64, kF64))), CudaError::kNotSupported);
  EXPECT_EQ(CudaErrorOf(Run(Base(kF64, kF64, kF32))), CudaError::kNotSupported);
  EXPECT_EQ(CudaErrorOf(Run(Base(kI8, kI32, kF32))), CudaError::kNotSupported);
  Gemm g = Base(kC32, kC32, kC32);
  g.epilogue = Epilogue::kRelu;
  EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kNotSupported);
}

// Leading dimensions and columns below 2^31 whose bytes are 2^64: an operand that reaches everywhere must not pass as
// one of no bytes, wherever it is said to lie.
TEST_F(GemmTest, RefusesOperandsLargerThanAllAddresses) {
  constexpr int64_t kLeading = 0x7ffffffe, kColumns = 0x40000002;
  static_assert(static_cast<unsigned __int128>(kLeading * (kColumns - 1) + 2) * 8 == static_cast<unsigned __int128>(1)
                                                                                         << 64);
  double outside[2] = {1, 2};
  Gemm g = Base(ElementType::kF64, ElementType::kF64, ElementType::kF64);
  g.m = 2;
  g.n = kColumns;
  g.k = 0;
  g.ldc = kLeading;
  g.c = reinterpret_cast<DeviceAddress>(outside);
  EXPECT_EQ(CudaErrorOf(CheckGemm(g, *memory_)), CudaError::kInvalidValue);
  g = Base(ElementType::kF64, ElementType::kF64, ElementType::kF64);
  g.m = 2;
  g.k = kColumns;
  g.lda = g.ldb = kLeading;
  g.n = 2;
  g.transpose_b = Transpose::kTranspose;
  EXPECT_EQ(CudaErrorOf(CheckGemm(g, *memory_)), CudaError::kInvalidValue);
  // Through pointers too, which are looked at when it runs, and of the other types that are as wide or wider.
  g.batch = 1;
  g.pointer_arrays = true;
  EXPECT_EQ(CudaErrorOf(Run(g)), CudaError::kInvalidValue);
  g = Base(ElementType::kC64, ElementType::kC64, ElementType::kC64);
  g.m = 4;
  g.n = 0x20000002;
  g.k = 0;
  g.ldc = 0x7ffffffc;
  EXPECT_EQ(CudaErrorOf(CheckGemm(g, *memory_)), CudaError::kInvalidValue);
}

TEST(HalfTest, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
      EXPECT_TRUE(std::isnan(BrainToFloat(FloatToBrain(value))));
      continue;
    }
    ASSERT_EQ(FloatToHalf(value), half);
    ASSERT_EQ(FloatToBrain(BrainToFloat(half)), std::isnan(BrainToFloat(half)) ? half | 0x40 : half);
  }
}

TEST(HalfTest, ArraysAgreeWithSingleValues) {
  std::mt19937 random(2);
  std::vector<float> values;
  for (int i = 0; i < 100'003; ++i) {
    const uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    // Mostly in the range of a half, where rounding matters.
    values.push_back(i % 4 == 0 ? value
                                : std::ldexp(static_cast<float>(bits) / 4e9F - 0.5F, static_cast<int>(bits % 46) - 28));
  }
  std::vector<uint16_t> halves(values.size()), brains(values.size());
  std::vector<float> back(values.size());
  FloatToHalf(values.data(), halves.data(), values.size());
  FloatToBrain(values.data(), brains.data(), values.size());
  HalfToFloat(halves.data(), back.data(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    ASSERT_EQ(halves[i], FloatToHalf(values[i])) << values[i];
    ASSERT_EQ(brains[i], FloatToBrain(values[i]));
    ASSERT_EQ(back[i], HalfToFloat(halves[i]));
  }
}

}  // namespace
}  // namespace wharf::device::soft
