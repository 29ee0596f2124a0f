// What every body in libcufft.so.12 starts from: plans, by the numbers that programs have of them.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/cufft/plan.h"

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

struct FftPlan {
  std::optional<PlanForm> form;  // from a cufftMakePlan on
  cudaStream_t stream = nullptr;
  std::array<Long, 2> properties{};
};

// Thread-safe, as the vendor's plans are.
class FftPlans {
 public:
  // Of the process; never destroyed.
  static FftPlans& Get();
  cufftHandle Add(FftPlan plan);
  bool Remove(cufftHandle handle);
  // Calls `look` with the plan, if there is one, and returns what it returns; else CUFFT_INVALID_PLAN.
  template <typename Look>
  cufftResult With(cufftHandle handle, Look&& look) {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(handle);
    return found == plans_.end() ? CUFFT_INVALID_PLAN : look(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<cufftHandle, FftPlan> plans_;
  cufftHandle last_ = 0;
};

cufftResult ResultOf(CudaError error);

// A call that is answered here.
template <typename Body>
cufftResult Local(Call call, Body&& body) {
  return client::Answer(call, false, ResultOf, body);
}
// The same, where there must be a device.
template <typename Body>
cufftResult OnDevice(Call call, Body&& body) {
  return client::Answer(call, true, ResultOf, body);
}
#define WHARF_FFT_LOCAL(function, ...) wharf::cudashim::Local(wharf::client::Call::k_##function, __VA_ARGS__)
#define WHARF_FFT_ON_DEVICE(function, ...) wharf::cudashim::OnDevice(wharf::client::Call::k_##function, __VA_ARGS__)

template <typename T>
cufftResult StoreTo(T* place, T value) {
  return client::StoreOr(CUFFT_INVALID_VALUE, place, value);
}

#define WHARF_FFT_RETURN_IF_ERROR(expression)                                                              \
  do {                                                                                                     \
    if (const cufftResult wharf_result = (expression); wharf_result != CUFFT_SUCCESS) return wharf_result; \
  } while (false)

}  // namespace wharf::cudashim
