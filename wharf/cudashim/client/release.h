// Which release of CUDA a drop-in library is of: the sources are the same, compiled once for each (WHARF_CUDA_12).
#pragma once

#include <cublas_api.h>
#include <cuda_runtime_api.h>

namespace wharf::cudashim {

#ifdef WHARF_CUDA_12
inline constexpr int kRuntimeVersion = 12080;
inline constexpr int kBlasVersion[] = {12, 8, 4};
#else
inline constexpr int kRuntimeVersion = CUDART_VERSION;
inline constexpr int kBlasVersion[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
#endif
inline constexpr int kBlasVersionNumber = kBlasVersion[0] * 10000 + kBlasVersion[1] * 100 + kBlasVersion[2];

}  // namespace wharf::cudashim
