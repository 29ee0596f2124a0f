#include "wharf/device/cuda/fft/fft.h"

#include <algorithm>

#include "wharf/device/cuda/library/library.h"
#include "wharf/device/cuda_error.h"

namespace wharf::device::cuda {
namespace {

// cufftResult
constexpr int kOutOfMemory = 2, kInvalidType = 3, kInvalidValue = 4, kInvalidSize = 8, kNotImplemented = 14,
              kUnsupported = 16;
constexpr int kForward = -1, kInverse = 1;

using Long = long long;  // NOLINT: cuFFT's

absl::Status CheckFft(int status, const char* what) {
  switch (status) {
    case 0:
      return absl::OkStatus();
    case kOutOfMemory:
      return CudaStatus(CudaError::kOutOfMemory, "{}: cuFFT is out of memory", what);
    case kInvalidValue:
      return CudaStatus(CudaError::kInvalidValue, "{}: cuFFT refuses an argument", what);
    case kInvalidType:
    case kInvalidSize:
    case kNotImplemented:
    case kUnsupported:
      return CudaStatus(CudaError::kNotSupported, "{}: cuFFT does not have it (result {})", what, status);
    default:
      return CudaStatus(CudaError::kLaunchFailure, "{}: cuFFT result {}", what, status);
  }
}

// cufftType
int TypeOf(const Fourier& f) {
  const bool wide = f.type == ElementType::kF64;
  switch (f.kind) {
    case FourierKind::kRealToComplex:
      return wide ? 0x6a : 0x2a;
    case FourierKind::kComplexToReal:
      return wide ? 0x6c : 0x2c;
    default:
      return wide ? 0x69 : 0x29;
  }
}

// As cuFFT describes a side.
struct Layout {
  Layout(const FourierSide& side, const std::array<int64_t, kFourierDims>& sizes, int rank)
      : embed{side.rows, side.rows, side.columns}, stride(side.stride), distance(std::max<int64_t>(side.distance, 1)) {
    embed[kFourierDims - rank] = sizes[kFourierDims - rank];  // the first says nothing
  }
  std::array<Long, kFourierDims> embed;
  Long stride, distance;
};

}  // namespace

struct Fft::Functions {
  using Execute = int(int plan, void* in, void* out);
  using ExecuteDirected = int(int plan, void* in, void* out, int direction);
  int (*create)(int* plan) = nullptr;
  int (*destroy)(int plan) = nullptr;
  int (*set_stream)(int plan, void* stream) = nullptr;
  int (*make)(int plan, int rank, Long* sizes, Long* in_embed, Long in_stride, Long in_distance, Long* out_embed,
              Long out_stride, Long out_distance, int type, Long batch, size_t* work) = nullptr;
  ExecuteDirected *c2c = nullptr, *z2z = nullptr;
  Execute *r2c = nullptr, *c2r = nullptr, *d2z = nullptr, *z2d = nullptr;
};

const std::vector<std::string>& Fft::Libraries() {
  static const auto* const libraries = new std::vector<std::string>{"libcufft.so.12", "libcufft.so.11"};
  return *libraries;
}

absl::StatusOr<std::unique_ptr<Fft>> Fft::Create(const std::vector<std::string>& libraries) {
  std::string why;
  for (const std::string& name : libraries) {
    const absl::StatusOr<void*> library = OpenLibrary(name);
    if (!library.ok()) {
      if (why.empty()) why = Message(library.status());
      continue;
    }
    std::unique_ptr<Fft> fft(new Fft());
    WHARF_RETURN_IF_ERROR(fft->Find(*library));
    return fft;
  }
  return CudaStatus(CudaError::kNotSupported, "Fourier transforms need cuFFT on the server: {}", why);
}

Fft::Fft() : functions_(std::make_unique<Functions>()) {}

Fft::~Fft() {
  for (const auto& [key, plan] : plans_) functions_->destroy(plan.handle);
}

absl::Status Fft::Find(void* library) {
  FunctionFinder find(library);
  Functions& f = *functions_;
  find(f.create, "cufftCreate");
  find(f.destroy, "cufftDestroy");
  find(f.set_stream, "cufftSetStream");
  find(f.make, "cufftMakePlanMany64");
  find(f.c2c, "cufftExecC2C");
  find(f.r2c, "cufftExecR2C");
  find(f.c2r, "cufftExecC2R");
  find(f.z2z, "cufftExecZ2Z");
  find(f.d2z, "cufftExecD2Z");
  find(f.z2d, "cufftExecZ2D");
  if (find.missing() != nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuFFT has no {}", find.missing());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Fft::MakePlan(const Fourier& f, void* stream) const {
  int handle = 0;
  WHARF_RETURN_IF_ERROR(CheckFft(functions_->create(&handle), "cufftCreate"));
  const int rank = f.sizes[0] > 1 ? 3 : f.sizes[1] > 1 ? 2 : 1;
  std::array<Long, kFourierDims> sizes{f.sizes[0], f.sizes[1], f.sizes[2]};
  const int first = kFourierDims - rank;
  Layout in(f.in, f.InSizes(), rank), out(f.out, f.OutSizes(), rank);
  size_t work = 0;
  absl::Status status =
      CheckFft(functions_->make(handle, rank, &sizes[first], &in.embed[first], in.stride, in.distance,
                                &out.embed[first], out.stride, out.distance, TypeOf(f), f.batch, &work),
               "cufftMakePlanMany64");
  if (status.ok()) status = CheckFft(functions_->set_stream(handle, stream), "cufftSetStream");
  if (status.ok()) return handle;
  functions_->destroy(handle);
  return status;
}

absl::StatusOr<int> Fft::PlanOf(const Fourier& f, void* stream) {
  Key key{reinterpret_cast<int64_t>(stream),
          static_cast<int64_t>(f.kind),
          static_cast<int64_t>(f.type),
          f.sizes[0],
          f.sizes[1],
          f.sizes[2],
          f.batch};
  for (const FourierSide* const side : {&f.in, &f.out}) {
    key.insert(key.end(), {side->rows, side->columns, side->stride, side->distance});
  }
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    if (plans_.size() >= kMostPlans) {
      const auto oldest = std::min_element(plans_.begin(), plans_.end(),
                                           [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
      functions_->destroy(oldest->second.handle);  // waits for what it works on
      plans_.erase(oldest);
    }
    WHARF_ASSIGN_OR_RETURN(const int handle, MakePlan(f, stream));
    found = plans_.emplace(std::move(key), Plan{handle, 0}).first;
  }
  found->second.used = ++uses_;
  return found->second.handle;
}

absl::Status Fft::Run(const Fourier& f, void* stream) {
  WHARF_ASSIGN_OR_RETURN(const int plan, PlanOf(f, stream));
  const bool wide = f.type == ElementType::kF64;
  auto* const in = reinterpret_cast<void*>(f.in.address);
  auto* const out = reinterpret_cast<void*>(f.out.address);
  switch (f.kind) {
    case FourierKind::kRealToComplex:
      return CheckFft((wide ? functions_->d2z : functions_->r2c)(plan, in, out), "cuFFT");
    case FourierKind::kComplexToReal:
      return CheckFft((wide ? functions_->z2d : functions_->c2r)(plan, in, out), "cuFFT");
    default:
      return CheckFft((wide ? functions_->z2z : functions_->c2c)(plan, in, out, f.inverse ? kInverse : kForward),
                      "cuFFT");
  }
}

}  // namespace wharf::device::cuda
