// What computes: one operation each.
#include "wharf/cudashim/client/dnn/primitive.h"
#include "wharf/cudashim/cufft/fft.h"

namespace wharf::cudashim {
namespace {

using device::ElementType;
using device::FourierKind;

// `fits(fourier)` says whether the plan is of the call's type.
template <typename Fits>
cufftResult Execute(Call call, cufftHandle handle, const void* in, const void* out, int direction, Fits&& fits) {
  cufftResult result = CUFFT_SUCCESS;
  const CudaError error = client::Run(call, [&] {
    PlanForm form;
    cudaStream_t stream = nullptr;
    result = FftPlans::Get().With(handle, [&](const FftPlan& plan) {
      if (!plan.form.has_value()) return CUFFT_INVALID_PLAN;
      form = *plan.form;
      stream = plan.stream;
      return CUFFT_SUCCESS;
    });
    if (result != CUFFT_SUCCESS) return CudaError::kSuccess;
    const bool directed = form.fourier.kind == FourierKind::kComplex;
    if (!fits(form.fourier)) {
      result = CUFFT_INVALID_TYPE;
    } else if (in == nullptr || out == nullptr ||
               (directed && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)) {
      result = CUFFT_INVALID_VALUE;
    }
    if (result != CUFFT_SUCCESS) return CudaError::kSuccess;
    std::string why;
    return client::RunPrimitive(reinterpret_cast<client::StreamHandle>(stream), TransformOf(form, in, out, direction),
                                &why);
  });
  return result != CUFFT_SUCCESS ? result : ResultOf(error);
}

auto IsOf(FourierKind kind, ElementType type) {
  return [=](const device::Fourier& fourier) { return fourier.kind == kind && fourier.type == type; };
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT
using device::ElementType;
using device::FourierKind;

extern "C" {

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  return Execute(Call::k_cufftExecC2C, plan, in, out, direction, IsOf(FourierKind::kComplex, ElementType::kF32));
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return Execute(Call::k_cufftExecZ2Z, plan, in, out, direction, IsOf(FourierKind::kComplex, ElementType::kF64));
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  return Execute(Call::k_cufftExecR2C, plan, in, out, 0, IsOf(FourierKind::kRealToComplex, ElementType::kF32));
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return Execute(Call::k_cufftExecD2Z, plan, in, out, 0, IsOf(FourierKind::kRealToComplex, ElementType::kF64));
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  return Execute(Call::k_cufftExecC2R, plan, in, out, 0, IsOf(FourierKind::kComplexToReal, ElementType::kF32));
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return Execute(Call::k_cufftExecZ2D, plan, in, out, 0, IsOf(FourierKind::kComplexToReal, ElementType::kF64));
}
// Of whatever type the plan is.
cufftResult cufftXtExec(cufftHandle plan, void* in, void* out, int direction) {
  return Execute(Call::k_cufftXtExec, plan, in, out, direction, [](const device::Fourier&) { return true; });
}

}  // extern "C"
