// Answers of libraries that have a status of their own, such as cuFFT's cufftResult: success is 0 in each.
#pragma once

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// An intercepted call that `body` answers, which returns a status; it needs the device if `on_device`. `status_of`
// makes a status of a CudaError: what kept the call from its body, or what the session has met since.
template <typename StatusOf, typename Body>
auto Answer(Call call, bool on_device, StatusOf status_of, Body&& body) {
  const auto success = status_of(CudaError::kSuccess);
  auto status = success;
  const auto run = [&] {
    status = body();
    return CudaError::kSuccess;
  };
  const CudaError error = on_device ? Run(call, run) : RunLocal(call, run);
  return status != success ? status : status_of(error);
}

// What a getter does: `if_null` without a place.
template <typename Status, typename T>
Status StoreOr(Status if_null, T* place, T value) {
  if (place == nullptr) return if_null;
  *place = value;
  return Status{};
}

}  // namespace wharf::client
