#include "wharf/device/soft/primitives/primitives.h"

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/primitives/fourier_line.h"

namespace wharf::device::soft {
namespace {

// Some ten microseconds.
constexpr int64_t kBriefWork = 64 * 64;

template <typename T>
struct Run {
  void operator()(const Convolution& what) const { Convolve<T>(what); }
  void operator()(const Pooling& what) const { Pool<T>(what); }
  void operator()(const BatchNorm& what) const { Normalize<T>(what); }
  void operator()(const Softmax& what) const { RunSoftmax<T>(what); }
  void operator()(const Pointwise& what) const { RunPointwise<T>(what); }
  void operator()(const Recurrent& what) const { RunRecurrent<T>(what); }
  void operator()(const Fourier& what) const { RunFourier<T>(what); }
  void operator()(const Lapack& what) const { RunLapack(what); }
  void operator()(const DnnGraph&) const {}  // CheckLimits refuses it
};

struct TypeOf {
  ElementType operator()(const auto& what) const { return what.y.type; }
  ElementType operator()(const Recurrent& what) const { return what.type; }
  ElementType operator()(const Fourier& what) const { return what.type; }
  ElementType operator()(const Lapack& what) const { return what.type; }
  ElementType operator()(const DnnGraph&) const { return ElementType::kF32; }
};

}  // namespace

void RunPrimitive(const Primitive& primitive) {
  if (std::visit(TypeOf(), primitive) == ElementType::kF64) {
    std::visit(Run<double>(), primitive);
  } else {
    std::visit(Run<float>(), primitive);
  }
}

absl::Status CheckLimits(const Primitive& primitive) {
  if (const auto* const lapack = std::get_if<Lapack>(&primitive)) return CheckLapackLimits(*lapack);
  if (std::holds_alternative<DnnGraph>(primitive)) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN graph: the software device has no cuDNN");
  }
  const auto* const fourier = std::get_if<Fourier>(&primitive);
  if (fourier == nullptr) return absl::OkStatus();
  for (const int64_t size : fourier->sizes) {
    if (HasFourierLine(size)) continue;
    return CudaStatus(CudaError::kNotSupported, "Fourier transform: {} is too long for the software device", size);
  }
  return absl::OkStatus();
}

bool IsBrief(const Primitive& primitive) { return WorkOf(primitive) <= kBriefWork; }

}  // namespace wharf::device::soft
