// Plans: made, described, destroyed. They take no work area: the library on the server has its own.
#include <vector>

#include "wharf/cudashim/client/dnn/primitive.h"
#include "wharf/cudashim/cufft/fft.h"

namespace wharf::cudashim {

FftPlans& FftPlans::Get() {
  static auto* const plans = new FftPlans();
  return *plans;
}

cufftHandle FftPlans::Add(FftPlan plan) {
  const std::lock_guard lock(mutex_);
  plans_.emplace(++last_, std::move(plan));
  return last_;
}

bool FftPlans::Remove(cufftHandle handle) {
  const std::lock_guard lock(mutex_);
  return plans_.erase(handle) > 0;
}

cufftResult ResultOf(CudaError error) {
  switch (error) {
    case CudaError::kSuccess:
      return CUFFT_SUCCESS;
    case CudaError::kInvalidValue:
      return CUFFT_INVALID_VALUE;
    case CudaError::kNotSupported:
      return CUFFT_NOT_SUPPORTED;
    case CudaError::kOutOfMemory:
      return CUFFT_ALLOC_FAILED;
    case CudaError::kNoDevice:
    case CudaError::kNotInitialized:
      return CUFFT_INTERNAL_ERROR;
    default:
      return CUFFT_EXEC_FAILED;
  }
}

namespace {

// The size of what works, which is none.
cufftResult StoreWorkSize(size_t* place) { return StoreTo(place, size_t{0}); }

// A form of which all is known but the addresses.
cufftResult CheckForm(const PlanForm& form) {
  std::string why;
  return ResultOf(client::CheckPrimitive(form.fourier, &why));
}

template <typename Integer>
cufftResult Describe(cufftType type, const PlanRequest<Integer>& request, PlanForm* form) {
  WHARF_FFT_RETURN_IF_ERROR(SetType(type, form));
  WHARF_FFT_RETURN_IF_ERROR(SetLayout(request, form));
  return CheckForm(*form);
}

// Refuses a plan that is none, or is made already, before `describe(&form)` looks at anything else.
template <typename Describe>
cufftResult Make(cufftHandle handle, size_t* work, bool keep, Describe&& describe) {
  if (work == nullptr) return CUFFT_INVALID_VALUE;
  return FftPlans::Get().With(handle, [&](FftPlan& plan) {
    if (plan.form.has_value()) return CUFFT_INVALID_PLAN;
    PlanForm form;
    WHARF_FFT_RETURN_IF_ERROR(describe(&form));
    if (keep) plan.form = form;
    return StoreWorkSize(work);
  });
}

template <typename Integer>
cufftResult MakeOf(cufftHandle handle, cufftType type, const PlanRequest<Integer>& request, size_t* work) {
  return Make(handle, work, true, [&](PlanForm* form) { return Describe(type, request, form); });
}
template <typename Integer>
cufftResult SizeOf(cufftHandle handle, cufftType type, const PlanRequest<Integer>& request, size_t* work) {
  return Make(handle, work, false, [&](PlanForm* form) { return Describe(type, request, form); });
}
template <typename Integer>
cufftResult EstimateOf(cufftType type, const PlanRequest<Integer>& request, size_t* work) {
  PlanForm form;
  WHARF_FFT_RETURN_IF_ERROR(Describe(type, request, &form));
  return StoreWorkSize(work);
}
template <typename Integer>
cufftResult PlanOf(cufftHandle* handle, cufftType type, const PlanRequest<Integer>& request) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  FftPlan plan;
  WHARF_FFT_RETURN_IF_ERROR(Describe(type, request, &plan.form.emplace()));
  return StoreTo(handle, FftPlans::Get().Add(std::move(plan)));
}

template <typename Integer>
PlanRequest<Integer> Many(int rank, const Integer* sizes, const Integer* in_embed, Integer in_stride,
                          Integer in_distance, const Integer* out_embed, Integer out_stride, Integer out_distance,
                          Integer batch) {
  return {rank, sizes, {in_embed, in_stride, in_distance}, {out_embed, out_stride, out_distance}, batch};
}
// Packed; `sizes` must live as long.
struct Packed {
  explicit Packed(std::vector<int> of, int batch = 1) : sizes(std::move(of)) {
    request.rank = static_cast<int>(sizes.size());
    request.sizes = sizes.data();
    request.batch = batch;
  }
  std::vector<int> sizes;
  PlanRequest<int> request;
};

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  return WHARF_FFT_ON_DEVICE(
      cufftCreate, [&] { return handle == nullptr ? CUFFT_INVALID_VALUE : StoreTo(handle, FftPlans::Get().Add({})); });
}

cufftResult cufftDestroy(cufftHandle handle) {
  return WHARF_FFT_LOCAL(cufftDestroy, [&] {
    return handle == CUFFT_PLAN_NULL || FftPlans::Get().Remove(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
  });
}

cufftResult cufftPlan1d(cufftHandle* handle, int nx, cufftType type, int batch) {
  return WHARF_FFT_ON_DEVICE(cufftPlan1d, [&] { return PlanOf(handle, type, Packed({nx}, batch).request); });
}
cufftResult cufftPlan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  return WHARF_FFT_ON_DEVICE(cufftPlan2d, [&] { return PlanOf(handle, type, Packed({nx, ny}).request); });
}
cufftResult cufftPlan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  return WHARF_FFT_ON_DEVICE(cufftPlan3d, [&] { return PlanOf(handle, type, Packed({nx, ny, nz}).request); });
}
cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                          int ostride, int odist, cufftType type, int batch) {
  return WHARF_FFT_ON_DEVICE(cufftPlanMany, [&] {
    return PlanOf(handle, type, Many<int>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch));
  });
}

cufftResult cufftMakePlan1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftMakePlan1d, [&] { return MakeOf(handle, type, Packed({nx}, batch).request, work); });
}
cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftMakePlan2d, [&] { return MakeOf(handle, type, Packed({nx, ny}).request, work); });
}
cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftMakePlan3d, [&] { return MakeOf(handle, type, Packed({nx, ny, nz}).request, work); });
}
cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftMakePlanMany, [&] {
    return MakeOf(handle, type, Many<int>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), work);
  });
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, Long* n, Long* inembed, Long istride, Long idist,
                                Long* onembed, Long ostride, Long odist, cufftType type, Long batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftMakePlanMany64, [&] {
    return MakeOf(handle, type, Many<Long>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), work);
  });
}
cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, Long* n, Long* inembed, Long istride, Long idist,
                                cudaDataType in, Long* onembed, Long ostride, Long odist, cudaDataType out, Long batch,
                                size_t* work, cudaDataType compute) {
  return WHARF_FFT_LOCAL(cufftXtMakePlanMany, [&] {
    return Make(handle, work, true, [&](PlanForm* form) {
      const cufftResult result = SetTypes(in, out, compute, form);
      if (result == CUFFT_NOT_SUPPORTED) client::ReportUnsupported("cufftXtMakePlanMany of half precision");
      WHARF_FFT_RETURN_IF_ERROR(result);
      WHARF_FFT_RETURN_IF_ERROR(
          SetLayout(Many<Long>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), form));
      return CheckForm(*form);
    });
  });
}

cufftResult cufftGetSize1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSize1d, [&] { return SizeOf(handle, type, Packed({nx}, batch).request, work); });
}
cufftResult cufftGetSize2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSize2d, [&] { return SizeOf(handle, type, Packed({nx, ny}).request, work); });
}
cufftResult cufftGetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSize3d, [&] { return SizeOf(handle, type, Packed({nx, ny, nz}).request, work); });
}
cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                             int ostride, int odist, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSizeMany, [&] {
    return SizeOf(handle, type, Many<int>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), work);
  });
}
cufftResult cufftGetSizeMany64(cufftHandle handle, int rank, Long* n, Long* inembed, Long istride, Long idist,
                               Long* onembed, Long ostride, Long odist, cufftType type, Long batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSizeMany64, [&] {
    return SizeOf(handle, type, Many<Long>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), work);
  });
}
cufftResult cufftXtGetSizeMany(cufftHandle handle, int rank, Long* n, Long* inembed, Long istride, Long idist,
                               cudaDataType in, Long* onembed, Long ostride, Long odist, cudaDataType out, Long batch,
                               size_t* work, cudaDataType compute) {
  return WHARF_FFT_LOCAL(cufftXtGetSizeMany, [&] {
    return Make(handle, work, false, [&](PlanForm* form) {
      WHARF_FFT_RETURN_IF_ERROR(SetTypes(in, out, compute, form));
      WHARF_FFT_RETURN_IF_ERROR(
          SetLayout(Many<Long>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), form));
      return CheckForm(*form);
    });
  });
}
cufftResult cufftGetSize(cufftHandle handle, size_t* work) {
  return WHARF_FFT_LOCAL(cufftGetSize,
                         [&] { return FftPlans::Get().With(handle, [&](FftPlan&) { return StoreWorkSize(work); }); });
}

cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftEstimate1d, [&] { return EstimateOf(type, Packed({nx}, batch).request, work); });
}
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftEstimate2d, [&] { return EstimateOf(type, Packed({nx, ny}).request, work); });
}
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t* work) {
  return WHARF_FFT_LOCAL(cufftEstimate3d, [&] { return EstimateOf(type, Packed({nx, ny, nz}).request, work); });
}
cufftResult cufftEstimateMany(int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                              int odist, cufftType type, int batch, size_t* work) {
  return WHARF_FFT_LOCAL(cufftEstimateMany, [&] {
    return EstimateOf(type, Many<int>(rank, n, inembed, istride, idist, onembed, ostride, odist, batch), work);
  });
}

}  // extern "C"
