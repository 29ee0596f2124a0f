// Discrete Fourier transforms as cuFFT has them: of one to three dimensions, many at once, complex or with one side
// real, unnormalised in both directions:
//
//   out[k] = sum over j of in[j] * exp(s * 2 pi i * (j0 k0 / n0 + j1 k1 / n1 + j2 k2 / n2)), s = -1 forward, +1 inverse
//
// A real side has n0 n1 n2 elements. The complex side across from it has n0 n1 (n2 / 2 + 1), for the others are their
// conjugates. A transform from complex to real may overwrite its input.
#pragma once

#include <array>
#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/element_type.h"

namespace wharf::device {

using DeviceAddress = uint64_t;

inline constexpr int kFourierDims = 3;

enum class FourierKind : uint8_t { kComplex, kRealToComplex, kComplexToReal };

// Where one side's elements are: element (i0, i1, i2) of transform b is the (b * distance + ((i0 * rows + i1) * columns
// + i2) * stride)-th behind `address`. In cuFFT's words rows and columns are inembed[] or onembed[] but for the first.
struct FourierSide {
  DeviceAddress address = 0;
  int64_t rows = 1, columns = 1, stride = 1, distance = 1;
};

struct Fourier {
  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;                              // of kComplex; the others go one way each
  ElementType type = ElementType::kF32;              // of real and of imaginary parts
  std::array<int64_t, kFourierDims> sizes{1, 1, 1};  // the innermost last; those that there are not are 1
  int64_t batch = 1;
  FourierSide in, out;  // of the same address: in place

  bool IsInverse() const { return kind == FourierKind::kComplex ? inverse : kind == FourierKind::kComplexToReal; }
  // Elements of one transform along each dimension of a side: all, or of n2 those that are kept.
  std::array<int64_t, kFourierDims> InSizes() const { return SizesOf(kind == FourierKind::kComplexToReal); }
  std::array<int64_t, kFourierDims> OutSizes() const { return SizesOf(kind == FourierKind::kRealToComplex); }
  uint64_t InBytes() const { return ElementOf(kind == FourierKind::kRealToComplex); }
  uint64_t OutBytes() const { return ElementOf(kind == FourierKind::kComplexToReal); }

 private:
  std::array<int64_t, kFourierDims> SizesOf(bool half) const {
    return {sizes[0], sizes[1], half ? sizes[2] / 2 + 1 : sizes[2]};
  }
  uint64_t ElementOf(bool real) const { return ElementBytes(type) * (real ? 1 : 2); }
};

// Elements between neighbours along the batch and each dimension; 0 along those of one element. REQUIRES: CheckShape
// accepted what the side is of.
std::array<int64_t, kFourierDims + 1> StridesOf(const FourierSide& side, const std::array<int64_t, kFourierDims>& sizes,
                                                int64_t batch);
// Elements from the first to behind the last; likewise.
int64_t ExtentOf(const FourierSide& side, const std::array<int64_t, kFourierDims>& sizes, int64_t batch);
// Transforms times their sizes; likewise.
int64_t CountPoints(const Fourier& fourier);

// What a stranger says of sizes and places: kInvalidValue, or kNotSupported for types that none computes, dimensions of
// more than kLongestDimension, and results whose elements share memory. Afterwards sums and products of sizes, strides
// and positions stay below 63 bits, and there are no more results than their memory holds; inputs may share memory.
// CheckPrimitive calls it.
inline constexpr int64_t kLongestDimension = int64_t{1} << 28;
absl::Status CheckShape(const Fourier& fourier);

}  // namespace wharf::device
