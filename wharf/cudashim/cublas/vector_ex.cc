// Vectors and rotations with types as arguments: those of BLAS, computed in themselves, which the functions of each
// type do.
#include <algorithm>
#include <type_traits>

#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

bool AreAll(cudaDataType type, std::initializer_list<cudaDataType> others) {
  return std::all_of(others.begin(), others.end(), [&](cudaDataType other) { return other == type; });
}

// Runs `body` on an element of the type, if it is one of BLAS and what the others are is `supported`.
template <typename Body>
cublasStatus_t OfType(Call call, cublasHandle_t handle, cudaDataType type, bool supported, const Body& body) {
  if (handle == nullptr || handle->magic != cublasContext::kMagic) return CUBLAS_STATUS_NOT_INITIALIZED;
  return client::Answer(call, true, ToStatus, [&]() -> cublasStatus_t {
    if (!supported) return CUBLAS_STATUS_NOT_SUPPORTED;
    switch (type) {
      case CUDA_R_32F:
        return body(float());
      case CUDA_R_64F:
        return body(double());
      case CUDA_C_32F:
        return body(cuComplex());
      case CUDA_C_64F:
        return body(cuDoubleComplex());
      default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  });
}

cudaDataType RealDataType(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

template <typename T>
using RealIn = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, cuComplex>, float, double>;

// The functions of a type, by one name each.
template <typename T>
struct Functions;
#define WHARF_FUNCTIONS(T, letter, small, sum, norm)            \
  template <>                                                   \
  struct Functions<T> {                                         \
    static constexpr auto axpy = cublas##letter##axpy_v2_64;    \
    static constexpr auto scal = cublas##letter##scal_v2_64;    \
    static constexpr auto copy = cublas##letter##copy_v2_64;    \
    static constexpr auto swap = cublas##letter##swap_v2_64;    \
    static constexpr auto amax = cublasI##small##amax_v2;       \
    static constexpr auto amax_64 = cublasI##small##amax_v2_64; \
    static constexpr auto amin = cublasI##small##amin_v2;       \
    static constexpr auto amin_64 = cublasI##small##amin_v2_64; \
    static constexpr auto asum = cublas##sum##asum_v2_64;       \
    static constexpr auto nrm2 = cublas##norm##nrm2_v2_64;      \
    static constexpr auto rot = cublas##letter##rot_v2_64;      \
    static constexpr auto rotg = cublas##letter##rotg_v2;       \
  };
WHARF_FUNCTIONS(float, S, s, S, S)
WHARF_FUNCTIONS(double, D, d, D, D)
WHARF_FUNCTIONS(cuComplex, C, c, Sc, Sc)
WHARF_FUNCTIONS(cuDoubleComplex, Z, z, Dz, Dz)

template <typename T>
const T* As(const void* data) {
  return static_cast<const T*>(data);
}
template <typename T>
T* As(void* data) {
  return static_cast<T*>(data);
}

// By a sine that is of the vectors' type or real.
template <typename T>
cublasStatus_t RotateBy(cublasHandle_t handle, int64_t n, T* x, int64_t step_x, T* y, int64_t step_y, const void* c,
                        const void* s, bool real) {
  const auto* const cosine = As<RealIn<T>>(c);
  if constexpr (std::is_same_v<T, cuComplex>) {
    if (real) return cublasCsrot_v2_64(handle, n, x, step_x, y, step_y, cosine, As<float>(s));
  } else if constexpr (std::is_same_v<T, cuDoubleComplex>) {
    if (real) return cublasZdrot_v2_64(handle, n, x, step_x, y, step_y, cosine, As<double>(s));
  }
  return Functions<T>::rot(handle, n, x, step_x, y, step_y, cosine, As<T>(s));
}

// There are no modified rotations of complex vectors.
template <typename T>
cublasStatus_t RotateModifiedBy(cublasHandle_t handle, int64_t n, T* x, int64_t step_x, T* y, int64_t step_y,
                                const T* parameters) {
  if constexpr (std::is_same_v<T, float>) return cublasSrotm_v2_64(handle, n, x, step_x, y, step_y, parameters);
  if constexpr (std::is_same_v<T, double>) return cublasDrotm_v2_64(handle, n, x, step_x, y, step_y, parameters);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
template <typename T>
cublasStatus_t MakeModifiedBy(cublasHandle_t handle, T* d1, T* d2, T* x1, const T* y1, T* parameters) {
  if constexpr (std::is_same_v<T, float>) return cublasSrotmg_v2(handle, d1, d2, x1, y1, parameters);
  if constexpr (std::is_same_v<T, double>) return cublasDrotmg_v2(handle, d1, d2, x1, y1, parameters);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

// `body` is a call on elements of type T.
#define WHARF_OF_TYPE(name, supported, body)                                 \
  return OfType(Call::k_##name, handle, type, supported, [&](auto element) { \
    using T = decltype(element);                                             \
    return body;                                                             \
  })
#define WHARF_VECTORS_OF_TYPES(suffix, amax_of, amin_of, Int)                                                        \
  cublasStatus_t cublasAxpyEx##suffix(cublasHandle_t handle, Int n, const void* alpha, cudaDataType type_alpha,      \
                                      const void* x, cudaDataType type, Int step_x, void* y, cudaDataType type_y,    \
                                      Int step_y, cudaDataType compute) {                                            \
    WHARF_OF_TYPE(cublasAxpyEx##suffix, AreAll(type, {type_alpha, type_y, compute}),                                 \
                  Functions<T>::axpy(handle, n, As<T>(alpha), As<T>(x), step_x, As<T>(y), step_y));                  \
  }                                                                                                                  \
  cublasStatus_t cublasScalEx##suffix(cublasHandle_t handle, Int n, const void* alpha, cudaDataType type_alpha,      \
                                      void* x, cudaDataType type, Int step, cudaDataType compute) {                  \
    WHARF_OF_TYPE(cublasScalEx##suffix, AreAll(type, {type_alpha, compute}),                                         \
                  Functions<T>::scal(handle, n, As<T>(alpha), As<T>(x), step));                                      \
  }                                                                                                                  \
  cublasStatus_t cublasCopyEx##suffix(cublasHandle_t handle, Int n, const void* x, cudaDataType type, Int step_x,    \
                                      void* y, cudaDataType type_y, Int step_y) {                                    \
    WHARF_OF_TYPE(cublasCopyEx##suffix, AreAll(type, {type_y}),                                                      \
                  Functions<T>::copy(handle, n, As<T>(x), step_x, As<T>(y), step_y));                                \
  }                                                                                                                  \
  cublasStatus_t cublasSwapEx##suffix(cublasHandle_t handle, Int n, void* x, cudaDataType type, Int step_x, void* y, \
                                      cudaDataType type_y, Int step_y) {                                             \
    WHARF_OF_TYPE(cublasSwapEx##suffix, AreAll(type, {type_y}),                                                      \
                  Functions<T>::swap(handle, n, As<T>(x), step_x, As<T>(y), step_y));                                \
  }                                                                                                                  \
  cublasStatus_t cublasAsumEx##suffix(cublasHandle_t handle, Int n, const void* x, cudaDataType type, Int step,      \
                                      void* result, cudaDataType type_result, cudaDataType compute) {                \
    WHARF_OF_TYPE(cublasAsumEx##suffix, AreAll(RealDataType(type), {type_result, RealDataType(compute)}),            \
                  Functions<T>::asum(handle, n, As<T>(x), step, As<RealIn<T>>(result)));                             \
  }                                                                                                                  \
  cublasStatus_t cublasNrm2Ex##suffix(cublasHandle_t handle, Int n, const void* x, cudaDataType type, Int step,      \
                                      void* result, cudaDataType type_result, cudaDataType compute) {                \
    WHARF_OF_TYPE(cublasNrm2Ex##suffix, AreAll(RealDataType(type), {type_result, RealDataType(compute)}),            \
                  Functions<T>::nrm2(handle, n, As<T>(x), step, As<RealIn<T>>(result)));                             \
  }                                                                                                                  \
  cublasStatus_t cublasIamaxEx##suffix(cublasHandle_t handle, Int n, const void* x, cudaDataType type, Int step,     \
                                       Int* result) {                                                                \
    WHARF_OF_TYPE(cublasIamaxEx##suffix, true, Functions<T>::amax_of(handle, n, As<T>(x), step, result));            \
  }                                                                                                                  \
  cublasStatus_t cublasIaminEx##suffix(cublasHandle_t handle, Int n, const void* x, cudaDataType type, Int step,     \
                                       Int* result) {                                                                \
    WHARF_OF_TYPE(cublasIaminEx##suffix, true, Functions<T>::amin_of(handle, n, As<T>(x), step, result));            \
  }                                                                                                                  \
  cublasStatus_t cublasRotEx##suffix(cublasHandle_t handle, Int n, void* x, cudaDataType type, Int step_x, void* y,  \
                                     cudaDataType type_y, Int step_y, const void* c, const void* s,                  \
                                     cudaDataType type_turn, cudaDataType compute) {                                 \
    const bool real = type_turn == RealDataType(type);                                                               \
    WHARF_OF_TYPE(cublasRotEx##suffix, AreAll(type, {type_y, compute}) && (real || type_turn == type),               \
                  RotateBy(handle, n, As<T>(x), step_x, As<T>(y), step_y, c, s, real));                              \
  }                                                                                                                  \
  cublasStatus_t cublasRotmEx##suffix(cublasHandle_t handle, Int n, void* x, cudaDataType type, Int step_x, void* y, \
                                      cudaDataType type_y, Int step_y, const void* parameters,                       \
                                      cudaDataType type_parameters, cudaDataType compute) {                          \
    WHARF_OF_TYPE(cublasRotmEx##suffix, AreAll(type, {type_y, type_parameters, compute}),                            \
                  RotateModifiedBy(handle, n, As<T>(x), step_x, As<T>(y), step_y, As<T>(parameters)));               \
  }
WHARF_VECTORS_OF_TYPES(, amax, amin, int)
WHARF_VECTORS_OF_TYPES(_64, amax_64, amin_64, int64_t)

// c is real: of complex numbers its type is said by that of s.
cublasStatus_t cublasRotgEx(cublasHandle_t handle, void* a, void* b, cudaDataType type, void* c, void* s,
                            cudaDataType type_turn, cudaDataType compute) {
  WHARF_OF_TYPE(cublasRotgEx, AreAll(type, {type_turn, compute}),
                Functions<T>::rotg(handle, As<T>(a), As<T>(b), As<RealIn<T>>(c), As<T>(s)));
}

cublasStatus_t cublasRotmgEx(cublasHandle_t handle, void* d1, cudaDataType type, void* d2, cudaDataType type_d2,
                             void* x1, cudaDataType type_x1, const void* y1, cudaDataType type_y1, void* parameters,
                             cudaDataType type_parameters, cudaDataType compute) {
  WHARF_OF_TYPE(cublasRotmgEx, AreAll(type, {type_d2, type_x1, type_y1, type_parameters, compute}),
                MakeModifiedBy(handle, As<T>(d1), As<T>(d2), As<T>(x1), As<T>(y1), As<T>(parameters)));
}

}  // extern "C"
