// What a matrix product must satisfy before cuBLAS sees it: a product over memory that is not the session's would be a
// fault that ends it, not an error of the call.
#pragma once

#include <functional>

#include "wharf/device/device.h"

namespace wharf::device::cuda {

// kInvalidValue if a size, a leading dimension or a stride is out of range or an operand does not lie in memory that
// `mapped` (address, bytes) knows. Batches by pointers: only the arrays of pointers are looked at.
absl::Status CheckGemm(const Gemm& gemm, const std::function<bool(DeviceAddress, uint64_t)>& mapped);

}  // namespace wharf::device::cuda
