// Fourier transforms against the sums that define them, in double: every kind, in all layouts, in place and out of it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/primitives/fourier_line.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

using Value = std::complex<double>;
using Values = std::vector<Value>;
using Places = std::vector<int64_t>;
using Sizes = std::array<int64_t, kFourierDims>;

// Where the elements of a side are, in the order of batch and dimensions.
Places PlacesOf(const FourierSide& side, const Sizes& sizes, int64_t batch) {
  Places places;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < sizes[0]; ++i) {
      for (int64_t j = 0; j < sizes[1]; ++j) {
        for (int64_t k = 0; k < sizes[2]; ++k) {
          places.push_back(b * side.distance + ((i * side.rows + j) * side.columns + k) * side.stride);
        }
      }
    }
  }
  return places;
}

// One transform by the sum, dimension by dimension.
Values Transform(Values values, const Sizes& sizes, double sign) {
  int64_t after = 1;
  for (int dim = kFourierDims - 1; dim >= 0; --dim) {
    const int64_t n = sizes[dim];
    Values result(values.size());
    for (int64_t at = 0; at < static_cast<int64_t>(values.size()); ++at) {
      const int64_t k = at / after % n, first = at - k * after;
      for (int64_t j = 0; j < n; ++j) {
        const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
        result[at] += values[first + j * after] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
      }
    }
    values = std::move(result);
    after *= n;
  }
  return values;
}

// The whole spectrum of what is real, from the half that is kept.
Values Whole(const Values& half, const Sizes& sizes) {
  const int64_t kept = sizes[2] / 2 + 1;
  Values whole;
  for (int64_t i = 0; i < sizes[0]; ++i) {
    for (int64_t j = 0; j < sizes[1]; ++j) {
      for (int64_t k = 0; k < sizes[2]; ++k) {
        const int64_t mi = (sizes[0] - i) % sizes[0], mj = (sizes[1] - j) % sizes[1];
        whole.push_back(k < kept ? half[(i * sizes[1] + j) * kept + k]
                                 : std::conj(half[(mi * sizes[1] + mj) * kept + sizes[2] - k]));
      }
    }
  }
  return whole;
}
Values Half(const Values& whole, const Sizes& sizes) {
  Values half;
  for (int64_t at = 0; at < static_cast<int64_t>(whole.size()); ++at) {
    if (at % sizes[2] <= sizes[2] / 2) half.push_back(whole[at]);
  }
  return half;
}

// Memory of T, of elements that are real or complex.
template <typename T>
class Memory {
 public:
  explicit Memory(int64_t numbers) : numbers_(static_cast<size_t>(numbers)) {}
  DeviceAddress address() const { return reinterpret_cast<DeviceAddress>(numbers_.data()); }
  void Set(int64_t place, bool real, Value value) {
    if (real) {
      numbers_[place] = static_cast<T>(value.real());
    } else {
      numbers_[2 * place] = static_cast<T>(value.real());
      numbers_[2 * place + 1] = static_cast<T>(value.imag());
    }
  }
  Value Get(int64_t place, bool real) const {
    return real ? Value(numbers_[place]) : Value(numbers_[2 * place], numbers_[2 * place + 1]);
  }
  std::vector<T>& numbers() { return numbers_; }

 private:
  std::vector<T> numbers_;
};

double Noise(uint64_t seed) {
  seed = (seed + 1) * 0x9e3779b97f4a7c15;
  seed ^= seed >> 31;
  return static_cast<double>(seed * 0xbf58476d1ce4e5b9 >> 11) * 0x1p-52 - 1;
}

// What comes out of a transform of some numbers differs from the sums by no more than rounding; what lies between the
// results stays as it was.
template <typename T>
void Compare(Fourier f, bool in_place) {
  f.type = sizeof(T) == 4 ? ElementType::kF32 : ElementType::kF64;
  ASSERT_EQ(CheckShape(f), absl::OkStatus());
  const bool in_real = f.kind == FourierKind::kRealToComplex, out_real = f.kind == FourierKind::kComplexToReal;
  const auto numbers = [&](const FourierSide& side, const Sizes& sizes, bool real) {
    return ExtentOf(side, sizes, f.batch) * (real ? 1 : 2);
  };
  const int64_t in_numbers = numbers(f.in, f.InSizes(), in_real), out_numbers = numbers(f.out, f.OutSizes(), out_real);
  Memory<T> first(in_place ? std::max(in_numbers, out_numbers) : in_numbers), second(out_numbers);
  Memory<T>& result = in_place ? first : second;
  constexpr T kUntouched = T{-77};
  for (Memory<T>* const memory : {&first, &second}) {
    std::fill(memory->numbers().begin(), memory->numbers().end(), kUntouched);
  }
  const Places in = PlacesOf(f.in, f.InSizes(), f.batch), out = PlacesOf(f.out, f.OutSizes(), f.batch);
  const auto each = static_cast<int64_t>(in.size()) / f.batch;
  Values want;
  for (int64_t b = 0; b < f.batch; ++b) {
    Values values;
    for (int64_t i = 0; i < each; ++i) {
      const auto seed = static_cast<uint64_t>(in[b * each + i]);  // those that share memory are the same
      values.push_back(in_real ? Value(Noise(seed)) : Value(Noise(seed), Noise(~seed)));
    }
    // A spectrum of real numbers.
    if (out_real) {
      Values real = Transform(Whole(values, f.sizes), f.sizes, 1);
      for (Value& value : real) value = value.real() / static_cast<double>(real.size());
      values = Half(Transform(real, f.sizes, -1), f.sizes);
    }
    for (int64_t i = 0; i < each; ++i) first.Set(in[b * each + i], in_real, values[i]);
    // As it is stored.
    for (int64_t i = 0; i < each; ++i) values[i] = first.Get(in[b * each + i], in_real);
    if (out_real) values = Whole(values, f.sizes);
    values = Transform(values, f.sizes, f.IsInverse() ? 1 : -1);
    if (in_real) values = Half(values, f.sizes);
    want.insert(want.end(), values.begin(), values.end());
  }
  f.in.address = first.address();
  f.out.address = result.address();
  Memory<T> between = result;
  RunPrimitive(f);
  double scale = 1;
  for (const Value& value : want) scale = std::max(scale, std::abs(value));
  const double tolerance = 16 * scale * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (size_t i = 0; i < want.size(); ++i) {
    const Value got = result.Get(out[i], out_real), expected = out_real ? Value(want[i].real()) : want[i];
    ASSERT_LE(std::abs(got - expected), tolerance) << "result " << i << ": " << got << ", not " << expected;
    between.Set(out[i], out_real, got);
  }
  if (in_place) return;
  EXPECT_EQ(between.numbers(), result.numbers()) << "something between the results has changed";
}

Fourier Packed(FourierKind kind, Sizes sizes, int64_t batch = 1, bool inverse = false) {
  Fourier f;
  f.kind = kind;
  f.inverse = inverse;
  f.sizes = sizes;
  f.batch = batch;
  for (const auto& [side, of] : {std::pair{&f.in, f.InSizes()}, std::pair{&f.out, f.OutSizes()}}) {
    *side = {0, of[1], of[2], 1, of[0] * of[1] * of[2]};
  }
  return f;
}

constexpr FourierKind kKinds[] = {FourierKind::kComplex, FourierKind::kRealToComplex, FourierKind::kComplexToReal};

TEST(SoftFourierTest, EveryLength) {
  for (const FourierKind kind : kKinds) {
    for (int64_t n = 1; n <= 70; ++n) {
      SCOPED_TRACE(n);
      Compare<float>(Packed(kind, {1, 1, n}), false);
      Compare<double>(Packed(kind, {1, 1, n}, 1, true), false);
    }
    for (const int64_t n : {101, 127, 202, 254, 256, 331, 360, 1018}) {  // primes and their doubles among them
      SCOPED_TRACE(n);
      Compare<float>(Packed(kind, {1, 1, n}), false);
      Compare<double>(Packed(kind, {1, 1, n}, 1, true), false);
    }
  }
}

TEST(SoftFourierTest, LongLinesKeepTheirEnergy) {
  for (const int64_t n : {int64_t{1} << 17, int64_t{65537}, int64_t{100003}, int64_t{3 * 5 * 7 * 11 * 13}}) {
    ComplexLine<float> forward(n, false), back(n, true);
    std::vector<std::complex<float>> from(n), to(n), again(n);
    for (int64_t i = 0; i < n; ++i) {
      from[i] = std::complex<float>(Value(Noise(static_cast<uint64_t>(i)), Noise(~static_cast<uint64_t>(i))));
    }
    forward.Run(from.data(), to.data());
    back.Run(to.data(), again.data());
    double before = 0, after = 0, off = 0;
    for (int64_t i = 0; i < n; ++i) {
      before += std::norm(from[i]);
      after += std::norm(to[i]);
      off = std::max(off, std::abs(Value(again[i]) / static_cast<double>(n) - Value(from[i])));
    }
    EXPECT_NEAR(after / before / static_cast<double>(n), 1, 1e-5) << n;
    EXPECT_LT(off, 1e-5) << n;
  }
}

TEST(SoftFourierTest, WhatIsNotFiniteStaysInItsTransform) {
  Fourier f = Packed(FourierKind::kRealToComplex, {1, 1, 8}, 2);
  std::vector<float> in(16, 1), out(20);
  in[3] = std::numeric_limits<float>::infinity();
  f.in.address = reinterpret_cast<DeviceAddress>(in.data());
  f.out.address = reinterpret_cast<DeviceAddress>(out.data());
  RunPrimitive(f);
  EXPECT_FALSE(std::isfinite(out[0]));
  EXPECT_EQ(out[10], 8);
  for (int i = 11; i < 20; ++i) EXPECT_EQ(out[i], 0) << i;
}

// Imaginary parts that spectra of real numbers do not have.
TEST(SoftFourierTest, OfSelfConjugateElementsRealPartsCount) {
  for (const int64_t n : {6, 7}) {
    Fourier f = Packed(FourierKind::kComplexToReal, {1, 1, n});
    std::vector<float> in(n / 2 * 2 + 2), plain, out(n), other(n);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(Noise(i));
    plain = in;
    plain[1] = 0;
    if (n % 2 == 0) plain[n + 1] = 0;
    f.in.address = reinterpret_cast<DeviceAddress>(in.data());
    f.out.address = reinterpret_cast<DeviceAddress>(out.data());
    RunPrimitive(f);
    f.in.address = reinterpret_cast<DeviceAddress>(plain.data());
    f.out.address = reinterpret_cast<DeviceAddress>(other.data());
    RunPrimitive(f);
    EXPECT_EQ(out, other);
  }
}

TEST(SoftFourierTest, WhatTakesTooMuchMemoryIsRefused) {
  EXPECT_TRUE(HasFourierLine(int64_t{1} << 26));
  EXPECT_TRUE(HasFourierLine(1999993));    // a prime
  EXPECT_FALSE(HasFourierLine(10000019));  // another
  EXPECT_FALSE(HasFourierLine(int64_t{1} << 27));
  const Fourier f = Packed(FourierKind::kComplex, {1, 1, 10000019});
  EXPECT_EQ(CheckShape(f), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(CheckLimits(f)), CudaError::kNotSupported);
}

int64_t Size() { return *rc::gen::element<int64_t>(1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12); }

// Sides with gaps in and between rows and transforms, interleaved or one behind the other.
void Spread(FourierSide& side, const Sizes& sizes, int64_t batch) {
  side.columns = sizes[2] + *rc::gen::inRange<int64_t>(0, 3);
  side.rows = sizes[1] + *rc::gen::inRange<int64_t>(0, 2);
  const int64_t one = sizes[0] * side.rows * side.columns;
  if (*rc::gen::arbitrary<bool>()) {
    side.stride = batch + *rc::gen::inRange<int64_t>(0, 2);
    side.distance = 1;
  } else {
    side.stride = *rc::gen::inRange<int64_t>(1, 4);
    side.distance = one * side.stride + *rc::gen::inRange<int64_t>(0, 3);
  }
}

RC_GTEST_PROP(SoftFourierProperty, AnyLayout, ()) {
  Fourier f = Packed(*rc::gen::elementOf(std::vector<FourierKind>(std::begin(kKinds), std::end(kKinds))),
                     {Size(), Size(), Size()}, *rc::gen::inRange<int64_t>(1, 5), *rc::gen::arbitrary<bool>());
  Spread(f.in, f.InSizes(), f.batch);
  Spread(f.out, f.OutSizes(), f.batch);
  // Windows of a signal that overlap.
  const bool overwrites = f.kind == FourierKind::kComplexToReal;
  if (!overwrites && *rc::gen::inRange(0, 4) == 0) f.in.distance = *rc::gen::inRange<int64_t>(0, 3);
  *rc::gen::arbitrary<bool>() ? Compare<float>(f, false) : Compare<double>(f, false);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

// In place both sides lie alike, a real one in rows that have room for the complex ones.
RC_GTEST_PROP(SoftFourierProperty, InPlace, ()) {
  Fourier f = Packed(*rc::gen::elementOf(std::vector<FourierKind>(std::begin(kKinds), std::end(kKinds))),
                     {Size(), Size(), Size()}, *rc::gen::inRange<int64_t>(1, 5), *rc::gen::arbitrary<bool>());
  FourierSide& complex = f.kind == FourierKind::kRealToComplex ? f.out : f.in;
  FourierSide& other = f.kind == FourierKind::kRealToComplex ? f.in : f.out;
  const Sizes sizes = f.kind == FourierKind::kRealToComplex ? f.OutSizes() : f.InSizes();
  Spread(complex, sizes, f.batch);
  if (f.kind != FourierKind::kComplex) {
    complex.stride = 1;
    complex.distance = sizes[0] * complex.rows * complex.columns;
  }
  const int64_t factor = f.kind == FourierKind::kComplex ? 1 : 2;
  other = complex;
  other.columns *= factor;
  other.distance *= factor;
  *rc::gen::arbitrary<bool>() ? Compare<float>(f, true) : Compare<double>(f, true);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

}  // namespace
}  // namespace wharf::device::soft
