// Matrix multiplication on OpenBLAS. Single and double precision, real and complex, go straight to BLAS; half types and
// int8 are converted panel by panel to float, in which int8 products are summed exactly.
#pragma once

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

// How many threads BLAS uses: of the whole process, the last call counts.
void SetGemmThreads(int threads);

// Whether RunGemm can run it: kNotSupported for a combination of types, kInvalidValue for sizes that cannot be or
// operands that are not mapped (in the issue view).
absl::Status CheckGemm(const Gemm& gemm, const Memory& memory);

// Whether RunGemm takes about as long as waking a thread does. BLAS then uses one thread only.
bool IsBrief(const Gemm& gemm);

// Runs it; all of its own errors concern pointers read from device memory: kIllegalAddress if one is not live.
// REQUIRES: CheckGemm accepted it when it was issued.
absl::Status RunGemm(const Gemm& gemm, const Memory& memory);

}  // namespace wharf::device::soft
