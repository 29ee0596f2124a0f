// How the vendor's BLAS types are written in device::Gemm. Shared by both BLAS shims; header only.
#pragma once

#include <cublas_api.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <optional>

#include "wharf/device/cuda_error.h"
#include "wharf/device/device.h"

namespace wharf::cudashim {

// Of the release whose library this is: the sources are the same, compiled once for each.
#ifdef WHARF_CUDA_12
inline constexpr int kRuntimeVersion = WHARF_CUDA_12;
inline constexpr int kBlasVersion[] = {12, 8, 4};
#else
inline constexpr int kRuntimeVersion = CUDART_VERSION;
inline constexpr int kBlasVersion[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
#endif
inline constexpr int kBlasVersionNumber = kBlasVersion[0] * 10000 + kBlasVersion[1] * 100 + kBlasVersion[2];

inline std::optional<device::ElementType> TypeOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return device::ElementType::kF16;
    case CUDA_R_16BF:
      return device::ElementType::kBF16;
    case CUDA_R_32F:
      return device::ElementType::kF32;
    case CUDA_R_64F:
      return device::ElementType::kF64;
    case CUDA_C_32F:
      return device::ElementType::kC32;
    case CUDA_C_64F:
      return device::ElementType::kC64;
    case CUDA_R_8I:
      return device::ElementType::kI8;
    case CUDA_R_32I:
      return device::ElementType::kI32;
    default:
      return std::nullopt;
  }
}

// The type products are summed in, which is also that of alpha and beta. `output` tells real from complex.
inline std::optional<device::ElementType> ComputeTypeOf(cublasComputeType_t compute, device::ElementType output) {
  const bool complex = output == device::ElementType::kC32 || output == device::ElementType::kC64;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return device::ElementType::kF16;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return complex ? device::ElementType::kC32 : device::ElementType::kF32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return complex ? device::ElementType::kC64 : device::ElementType::kF64;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return device::ElementType::kI32;
    default:
      return std::nullopt;
  }
}

// Whether the vendor's libraries multiply these (the table of cublasGemmEx): both factors are of one type, and products
// of small types may be summed in larger ones. Said here, and not by the device later, so that the program is told by
// the call itself.
inline bool IsProduct(device::ElementType a, device::ElementType b, device::ElementType c,
                      device::ElementType compute) {
  using enum device::ElementType;
  if (a != b) return false;
  switch (compute) {
    case kI32:
      return a == kI8 && c == kI32;
    case kF32:
      return c == kF32 ? a == kF32 || a == kF16 || a == kBF16 || a == kI8 : c == a && (a == kF16 || a == kBF16);
    default:
      return a == compute && c == compute;
  }
}

inline std::optional<device::Transpose> TransposeOf(cublasOperation_t operation) {
  switch (operation) {
    case CUBLAS_OP_N:
      return device::Transpose::kNone;
    case CUBLAS_OP_T:
      return device::Transpose::kTranspose;
    case CUBLAS_OP_C:
      return device::Transpose::kConjugate;
    default:
      return std::nullopt;
  }
}

// A scalar in host memory.
inline std::array<double, 2> ReadScalar(const void* scalar, device::ElementType type) {
  switch (type) {
    case device::ElementType::kF16:
      return {static_cast<double>(__half2float(*static_cast<const __half*>(scalar))), 0};
    case device::ElementType::kBF16:
      return {static_cast<double>(__bfloat162float(*static_cast<const __nv_bfloat16*>(scalar))), 0};
    case device::ElementType::kF32:
      return {static_cast<double>(*static_cast<const float*>(scalar)), 0};
    case device::ElementType::kF64:
      return {*static_cast<const double*>(scalar), 0};
    case device::ElementType::kC32: {
      const auto* parts = static_cast<const float*>(scalar);
      return {static_cast<double>(parts[0]), static_cast<double>(parts[1])};
    }
    case device::ElementType::kC64: {
      const auto* parts = static_cast<const double*>(scalar);
      return {parts[0], parts[1]};
    }
    case device::ElementType::kI8:
      return {static_cast<double>(*static_cast<const int8_t*>(scalar)), 0};
    case device::ElementType::kI32:
      return {static_cast<double>(*static_cast<const int32_t*>(scalar)), 0};
  }
  return {0, 0};
}

// Puts alpha and beta in: their values, or where they are on the device.
inline void SetScalars(device::Gemm& gemm, const void* alpha, const void* beta, bool on_device) {
  gemm.scalars_on_device = on_device;
  if (on_device) {
    gemm.alpha_address = reinterpret_cast<uint64_t>(alpha);
    gemm.beta_address = reinterpret_cast<uint64_t>(beta);
  } else {
    gemm.alpha = ReadScalar(alpha, gemm.compute);
    gemm.beta = ReadScalar(beta, gemm.compute);
  }
}

inline cublasStatus_t ToStatus(device::CudaError error) {
  switch (error) {
    case device::CudaError::kSuccess:
      return CUBLAS_STATUS_SUCCESS;
    case device::CudaError::kInvalidValue:
    case device::CudaError::kInvalidHandle:
      return CUBLAS_STATUS_INVALID_VALUE;
    case device::CudaError::kOutOfMemory:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case device::CudaError::kNotSupported:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    case device::CudaError::kNoDevice:
    case device::CudaError::kNotInitialized:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

inline const char* StatusName(cublasStatus_t status) {
  switch (status) {
#define WHARF_STATUS(name) \
  case name:               \
    return #name
    WHARF_STATUS(CUBLAS_STATUS_SUCCESS);
    WHARF_STATUS(CUBLAS_STATUS_NOT_INITIALIZED);
    WHARF_STATUS(CUBLAS_STATUS_ALLOC_FAILED);
    WHARF_STATUS(CUBLAS_STATUS_INVALID_VALUE);
    WHARF_STATUS(CUBLAS_STATUS_ARCH_MISMATCH);
    WHARF_STATUS(CUBLAS_STATUS_MAPPING_ERROR);
    WHARF_STATUS(CUBLAS_STATUS_EXECUTION_FAILED);
    WHARF_STATUS(CUBLAS_STATUS_INTERNAL_ERROR);
    WHARF_STATUS(CUBLAS_STATUS_NOT_SUPPORTED);
    WHARF_STATUS(CUBLAS_STATUS_LICENSE_ERROR);
#undef WHARF_STATUS
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

inline const char* StatusSentence(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality is not supported";
    default:
      return "an error of the BLAS library";
  }
}

}  // namespace wharf::cudashim
