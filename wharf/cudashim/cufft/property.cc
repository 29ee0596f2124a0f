// What plans carry beside their form; versions.
#include "wharf/cudashim/cufft/fft.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

namespace {

// Of the release whose library this is.
#ifdef WHARF_CUDA_12
constexpr int kVersion[] = {11, 3, 3};
#else
constexpr int kVersion[] = {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH};
#endif
constexpr int kVersionNumber = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];

// Calls `look` with the property's place.
template <typename Look>
cufftResult WithProperty(cufftHandle handle, cufftProperty property, Look&& look) {
  return FftPlans::Get().With(handle, [&](FftPlan& plan) {
    if (property != NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT &&
        property != NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS) {
      return CUFFT_NOT_SUPPORTED;
    }
    return look(plan, plan.properties[property - NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT]);
  });
}

}  // namespace

extern "C" {

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return WHARF_FFT_LOCAL(cufftSetStream, [&] {
    return FftPlans::Get().With(handle, [&](FftPlan& plan) { return StoreTo(&plan.stream, stream); });
  });
}

// Whatever a program gives for a work area is not used.
cufftResult cufftSetWorkArea(cufftHandle handle, void*) {
  return WHARF_FFT_LOCAL(cufftSetWorkArea,
                         [&] { return FftPlans::Get().With(handle, [](FftPlan&) { return CUFFT_SUCCESS; }); });
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int) {
  return WHARF_FFT_LOCAL(cufftSetAutoAllocation,
                         [&] { return FftPlans::Get().With(handle, [](FftPlan&) { return CUFFT_SUCCESS; }); });
}
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t*) {
  return WHARF_FFT_LOCAL(cufftXtSetWorkAreaPolicy, [&] {
    return FftPlans::Get().With(handle, [&](FftPlan&) {
      return static_cast<unsigned>(policy) > CUFFT_WORKAREA_PERFORMANCE ? CUFFT_INVALID_VALUE : CUFFT_SUCCESS;
    });
  });
}

// They say how NVIDIA's library makes plans, and change nothing here; they are kept for who asks.
cufftResult cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property, const Long value) {
  return WHARF_FFT_LOCAL(cufftSetPlanPropertyInt64, [&] {
    return WithProperty(handle, property, [&](const FftPlan& plan, Long& place) {
      return plan.form.has_value() ? CUFFT_NOT_SUPPORTED : StoreTo(&place, Long{value});
    });
  });
}
cufftResult cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property, Long* value) {
  return WHARF_FFT_LOCAL(cufftGetPlanPropertyInt64, [&] {
    return WithProperty(handle, property, [&](const FftPlan&, Long& place) { return StoreTo(value, place); });
  });
}
cufftResult cufftResetPlanProperty(cufftHandle handle, cufftProperty property) {
  return WHARF_FFT_LOCAL(cufftResetPlanProperty, [&] {
    return WithProperty(handle, property, [](const FftPlan& plan, Long& place) {
      return plan.form.has_value() ? CUFFT_NOT_SUPPORTED : StoreTo(&place, Long{0});
    });
  });
}

cufftResult cufftGetVersion(int* version) {
  return WHARF_FFT_LOCAL(cufftGetVersion, [&] { return StoreTo(version, kVersionNumber); });
}
cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  return WHARF_FFT_LOCAL(cufftGetProperty, [&] {
    return type < MAJOR_VERSION || type > PATCH_LEVEL ? CUFFT_INVALID_TYPE : StoreTo(value, kVersion[type]);
  });
}

}  // extern "C"
