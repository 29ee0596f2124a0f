#include "wharf/device/fourier.h"

#include <algorithm>
#include <limits>

#include "wharf/device/cuda_error.h"

namespace wharf::device {
namespace {

using Wide = __int128;
using Sizes = std::array<int64_t, kFourierDims>;

// What addresses are made of stays below.
constexpr int64_t kMost = int64_t{1} << 58;

struct Axis {
  int64_t stride, size;
};

absl::Status TooLarge(const char* name) {
  return CudaStatus(CudaError::kInvalidValue, "{} is larger than memory can be", name);
}

// `distinct`: no two elements in one place.
absl::Status CheckSide(const char* name, const FourierSide& side, const Sizes& sizes, int64_t batch, bool distinct) {
  if (side.rows < 1 || side.columns < 1 || side.stride < 1 || side.distance < 0) {
    return CudaStatus(CudaError::kInvalidValue, "{} lies in rows of {} by {}, {} apart, transforms {} apart", name,
                      side.rows, side.columns, side.stride, side.distance);
  }
  const Wide row = Wide{side.columns} * side.stride;
  if (sizes[1] > 1 && row > kMost) return TooLarge(name);
  if (sizes[0] > 1 && (row > kMost || row * side.rows > kMost)) return TooLarge(name);
  if (side.stride > kMost || side.distance > kMost) return TooLarge(name);
  const auto strides = StridesOf(side, sizes, batch);
  std::array<Axis, kFourierDims + 1> axes{
      {{strides[0], batch}, {strides[1], sizes[0]}, {strides[2], sizes[1]}, {strides[3], sizes[2]}}};
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  Wide extent = 1;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (distinct && axis.stride < extent) {
      return CudaStatus(CudaError::kNotSupported, "elements of {} share memory", name);
    }
    extent += Wide{axis.size - 1} * axis.stride;
  }
  return extent > kMost ? TooLarge(name) : absl::OkStatus();
}

}  // namespace

std::array<int64_t, kFourierDims + 1> StridesOf(const FourierSide& side, const Sizes& sizes, int64_t batch) {
  return {batch > 1 ? side.distance : 0, sizes[0] > 1 ? side.rows * side.columns * side.stride : 0,
          sizes[1] > 1 ? side.columns * side.stride : 0, sizes[2] > 1 ? side.stride : 0};
}

int64_t ExtentOf(const FourierSide& side, const Sizes& sizes, int64_t batch) {
  const auto strides = StridesOf(side, sizes, batch);
  return 1 + (batch - 1) * strides[0] + (sizes[0] - 1) * strides[1] + (sizes[1] - 1) * strides[2] +
         (sizes[2] - 1) * strides[3];
}

int64_t CountPoints(const Fourier& fourier) {
  return fourier.batch * fourier.sizes[0] * fourier.sizes[1] * fourier.sizes[2];
}

absl::Status CheckShape(const Fourier& f) {
  if (f.kind > FourierKind::kComplexToReal) {
    return CudaStatus(CudaError::kNotSupported, "there is no kind {}", static_cast<int>(f.kind));
  }
  if (f.type != ElementType::kF32 && f.type != ElementType::kF64) {
    return CudaStatus(CudaError::kNotSupported, "a type that none computes");
  }
  for (const int64_t size : f.sizes) {
    if (size < 1) return CudaStatus(CudaError::kInvalidValue, "a dimension of {}", size);
    if (size > kLongestDimension) return CudaStatus(CudaError::kNotSupported, "a dimension of {}", size);
  }
  if (f.batch < 1) return CudaStatus(CudaError::kInvalidValue, "{} transforms", f.batch);
  if (f.batch > kMost || Wide{f.sizes[0]} * f.sizes[1] > kMost || Wide{f.sizes[0]} * f.sizes[1] * f.sizes[2] > kMost ||
      Wide{f.sizes[0]} * f.sizes[1] * f.sizes[2] * f.batch > kMost) {
    return TooLarge("the result");
  }
  WHARF_RETURN_IF_ERROR(CheckSide("the result", f.out, f.OutSizes(), f.batch, true));
  // Of these all dimensions but the last are transformed where they are.
  const bool overwritten = f.kind == FourierKind::kComplexToReal && (f.sizes[0] > 1 || f.sizes[1] > 1);
  return CheckSide("the input", f.in, f.InSizes(), f.batch, overwritten);
}

}  // namespace wharf::device
