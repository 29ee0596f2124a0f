// The interface of cublas.h, which has one handle for all and tells errors by cublasGetError: each function is the one
// of cublas_v2.h, with letters for its options and scalars by value. As with NVIDIA's, who does not call cublasInit has
// the handle too, and cublasGetError tells nothing of functions that return their status.
#include <cublas.h>

#include <atomic>
#include <cctype>
#include <type_traits>
#include <utility>

#include "wharf/cudashim/client/gemm_types.h"
#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/client/memory.h"

namespace wharf::cudashim {
namespace {

using client::Call;

std::atomic<cublasHandle_t> the_handle{nullptr};
// The last function's, if it was not asked for yet.
std::atomic<cublasStatus_t> the_error{CUBLAS_STATUS_SUCCESS};

// Makes it if there is none.
cublasStatus_t GetHandle(cublasHandle_t* handle) {
  *handle = the_handle;
  if (*handle != nullptr) return CUBLAS_STATUS_SUCCESS;
  cublasHandle_t other = nullptr;
  const cublasStatus_t status = cublasCreate_v2(handle);
  if (status != CUBLAS_STATUS_SUCCESS || the_handle.compare_exchange_strong(other, *handle)) return status;
  const cublasHandle_t mine = std::exchange(*handle, other);  // another thread was faster
  return cublasDestroy_v2(mine);
}

// What a letter says; a value that no function takes if it says nothing.
template <typename Option>
Option OptionOf(char letter) {
  constexpr auto kNone = static_cast<Option>(99);
  const int upper = std::toupper(static_cast<unsigned char>(letter));
  if constexpr (std::is_same_v<Option, cublasOperation_t>) {
    return upper == 'N' ? CUBLAS_OP_N : upper == 'T' ? CUBLAS_OP_T : upper == 'C' ? CUBLAS_OP_C : kNone;
  } else if constexpr (std::is_same_v<Option, cublasFillMode_t>) {
    return upper == 'L' ? CUBLAS_FILL_MODE_LOWER : upper == 'U' ? CUBLAS_FILL_MODE_UPPER : kNone;
  } else if constexpr (std::is_same_v<Option, cublasSideMode_t>) {
    return upper == 'L' ? CUBLAS_SIDE_LEFT : upper == 'R' ? CUBLAS_SIDE_RIGHT : kNone;
  } else {
    static_assert(std::is_same_v<Option, cublasDiagType_t>);
    return upper == 'N' ? CUBLAS_DIAG_NON_UNIT : upper == 'U' ? CUBLAS_DIAG_UNIT : kNone;
  }
}

// An argument as the newer function takes it.
template <typename Parameter, typename Argument>
Parameter As(Argument& argument) {
  if constexpr (std::is_enum_v<Parameter>) {
    return OptionOf<Parameter>(argument);
  } else if constexpr (std::is_pointer_v<Parameter> && !std::is_pointer_v<Argument>) {
    return &argument;
  } else {
    return argument;
  }
}

template <typename... Parameters, typename... Arguments>
void Forward(Call call, cublasStatus_t (*function)(cublasHandle_t, Parameters...), Arguments... arguments) {
  the_error = client::Answer(call, true, ToStatus, [&] {
    cublasHandle_t handle = nullptr;
    const cublasStatus_t made = GetHandle(&handle);
    return made == CUBLAS_STATUS_SUCCESS ? function(handle, As<Parameters>(arguments)...) : made;
  });
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cublasStatus_t cublasInit(void) {
  return client::Answer(Call::k_cublasInit, true, ToStatus, [] {
    cublasHandle_t handle = nullptr;
    return GetHandle(&handle);
  });
}

cublasStatus_t cublasShutdown(void) {
  return client::Answer(Call::k_cublasShutdown, false, ToStatus, []() -> cublasStatus_t {
    const cublasHandle_t handle = the_handle.exchange(nullptr);
    return handle == nullptr ? CUBLAS_STATUS_SUCCESS : cublasDestroy_v2(handle);
  });
}

cublasStatus_t cublasGetError(void) {
  client::RunLocal(Call::k_cublasGetError, [] { return client::CudaError::kSuccess; });
  return the_error.exchange(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasGetVersion(int* version) {
  return client::Answer(Call::k_cublasGetVersion, false, ToStatus,
                        [&] { return cublasGetVersion_v2(the_handle, version); });
}

cublasStatus_t cublasAlloc(int n, int element_bytes, void** pointer) {
  return client::Answer(Call::k_cublasAlloc, true, ToStatus, [&]() -> cublasStatus_t {
    if (n <= 0 || element_bytes <= 0 || pointer == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    uint64_t address = 0;
    const auto error = client::Allocate(static_cast<uint64_t>(n) * static_cast<uint64_t>(element_bytes), &address);
    *pointer = reinterpret_cast<void*>(address);
    return ToStatus(error);
  });
}

cublasStatus_t cublasFree(void* pointer) {
  return client::Answer(Call::k_cublasFree, true, ToStatus,
                        [&] { return ToStatus(client::Free(reinterpret_cast<uint64_t>(pointer))); });
}

cublasStatus_t cublasSetKernelStream(cudaStream_t stream) {
  return client::Answer(Call::k_cublasSetKernelStream, false, ToStatus, [&] {
    cublasHandle_t handle = nullptr;
    const cublasStatus_t status = GetHandle(&handle);
    return status == CUBLAS_STATUS_SUCCESS ? cublasSetStream_v2(handle, stream) : status;
  });
}

// Each takes its parameters, then the arguments for the newer function. The last ones of those that return a number are
// followed by where it comes.
#define WHARF_ORDER(name, parameters, ...) \
  void name parameters { Forward(Call::k_##name, name##_v2, __VA_ARGS__); }
#define WHARF_QUESTION(Result, name, parameters, ...)         \
  Result name parameters {                                    \
    Result result{};                                          \
    Forward(Call::k_##name, name##_v2, __VA_ARGS__, &result); \
    return result;                                            \
  }

#define WHARF_LEGACY_VECTORS(letter, small, sum, norm, T, Real)                                                      \
  WHARF_QUESTION(int, cublasI##small##amax, (int n, const T* x, int step), n, x, step)                               \
  WHARF_QUESTION(int, cublasI##small##amin, (int n, const T* x, int step), n, x, step)                               \
  WHARF_QUESTION(Real, cublas##sum##asum, (int n, const T* x, int step), n, x, step)                                 \
  WHARF_QUESTION(Real, cublas##norm##nrm2, (int n, const T* x, int step), n, x, step)                                \
  WHARF_ORDER(cublas##letter##scal, (int n, T alpha, T* x, int step), n, alpha, x, step)                             \
  WHARF_ORDER(cublas##letter##axpy, (int n, T alpha, const T* x, int step_x, T* y, int step_y), n, alpha, x, step_x, \
              y, step_y)                                                                                             \
  WHARF_ORDER(cublas##letter##copy, (int n, const T* x, int step_x, T* y, int step_y), n, x, step_x, y, step_y)      \
  WHARF_ORDER(cublas##letter##swap, (int n, T* x, int step_x, T* y, int step_y), n, x, step_x, y, step_y)
#define WHARF_LEGACY_DOT(name, T) \
  WHARF_QUESTION(T, name, (int n, const T* x, int step_x, const T* y, int step_y), n, x, step_x, y, step_y)
#define WHARF_LEGACY_ROT(name, T, Cosine, Sine) \
  WHARF_ORDER(name, (int n, T* x, int step_x, T* y, int step_y, Cosine c, Sine s), n, x, step_x, y, step_y, c, s)

#define WHARF_LEGACY_TRIANGULAR(letter, T)                                                                            \
  WHARF_ORDER(cublas##letter##trmv, (char fill, char op, char diagonal, int n, const T* a, int lda, T* x, int step),  \
              fill, op, diagonal, n, a, lda, x, step)                                                                 \
  WHARF_ORDER(cublas##letter##trsv, (char fill, char op, char diagonal, int n, const T* a, int lda, T* x, int step),  \
              fill, op, diagonal, n, a, lda, x, step)                                                                 \
  WHARF_ORDER(cublas##letter##tbmv,                                                                                   \
              (char fill, char op, char diagonal, int n, int k, const T* a, int lda, T* x, int step), fill, op,       \
              diagonal, n, k, a, lda, x, step)                                                                        \
  WHARF_ORDER(cublas##letter##tbsv,                                                                                   \
              (char fill, char op, char diagonal, int n, int k, const T* a, int lda, T* x, int step), fill, op,       \
              diagonal, n, k, a, lda, x, step)                                                                        \
  WHARF_ORDER(cublas##letter##tpmv, (char fill, char op, char diagonal, int n, const T* a, T* x, int step), fill, op, \
              diagonal, n, a, x, step)                                                                                \
  WHARF_ORDER(cublas##letter##tpsv, (char fill, char op, char diagonal, int n, const T* a, T* x, int step), fill, op, \
              diagonal, n, a, x, step)
#define WHARF_LEGACY_GENERAL(letter, T)                                                                                \
  WHARF_ORDER(cublas##letter##gemv,                                                                                    \
              (char op, int m, int n, T alpha, const T* a, int lda, const T* x, int step_x, T beta, T* y, int step_y), \
              op, m, n, alpha, a, lda, x, step_x, beta, y, step_y)                                                     \
  WHARF_ORDER(cublas##letter##gbmv,                                                                                    \
              (char op, int m, int n, int below, int above, T alpha, const T* a, int lda, const T* x, int step_x,      \
               T beta, T* y, int step_y),                                                                              \
              op, m, n, below, above, alpha, a, lda, x, step_x, beta, y, step_y)                                       \
  WHARF_ORDER(cublas##letter##gemm,                                                                                    \
              (char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta,   \
               T* c, int ldc),                                                                                         \
              op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)                                                \
  WHARF_ORDER(                                                                                                         \
      cublas##letter##trsm,                                                                                            \
      (char side, char fill, char op, char diagonal, int m, int n, T alpha, const T* a, int lda, T* b, int ldb), side, \
      fill, op, diagonal, m, n, alpha, a, lda, b, ldb)                                                                 \
  WHARF_ORDER(                                                                                                         \
      cublas##letter##trmm,                                                                                            \
      (char side, char fill, char op, char diagonal, int m, int n, T alpha, const T* a, int lda, T* b, int ldb), side, \
      fill, op, diagonal, m, n, alpha, a, lda, b, ldb, b, ldb)
// Of matrices whose triangle is stored; by the names that symmetric and Hermitian ones have for the same.
#define WHARF_LEGACY_MV(full, band, packed, letter, T)                                                                 \
  WHARF_ORDER(cublas##letter##full,                                                                                    \
              (char fill, int n, T alpha, const T* a, int lda, const T* x, int step_x, T beta, T* y, int step_y),      \
              fill, n, alpha, a, lda, x, step_x, beta, y, step_y)                                                      \
  WHARF_ORDER(                                                                                                         \
      cublas##letter##band,                                                                                            \
      (char fill, int n, int k, T alpha, const T* a, int lda, const T* x, int step_x, T beta, T* y, int step_y), fill, \
      n, k, alpha, a, lda, x, step_x, beta, y, step_y)                                                                 \
  WHARF_ORDER(cublas##letter##packed,                                                                                  \
              (char fill, int n, T alpha, const T* a, const T* x, int step_x, T beta, T* y, int step_y), fill, n,      \
              alpha, a, x, step_x, beta, y, step_y)
#define WHARF_LEGACY_GER(name, T)                                                                                 \
  WHARF_ORDER(name, (int m, int n, T alpha, const T* x, int step_x, const T* y, int step_y, T* a, int lda), m, n, \
              alpha, x, step_x, y, step_y, a, lda)
#define WHARF_LEGACY_RANKS(one, packed, two, packed_two, letter, T, Real)                                            \
  WHARF_ORDER(cublas##letter##one, (char fill, int n, Real alpha, const T* x, int step, T* a, int lda), fill, n,     \
              alpha, x, step, a, lda)                                                                                \
  WHARF_ORDER(cublas##letter##packed, (char fill, int n, Real alpha, const T* x, int step, T* a), fill, n, alpha, x, \
              step, a)                                                                                               \
  WHARF_ORDER(cublas##letter##two,                                                                                   \
              (char fill, int n, T alpha, const T* x, int step_x, const T* y, int step_y, T* a, int lda), fill, n,   \
              alpha, x, step_x, y, step_y, a, lda)                                                                   \
  WHARF_ORDER(cublas##letter##packed_two,                                                                            \
              (char fill, int n, T alpha, const T* x, int step_x, const T* y, int step_y, T* a), fill, n, alpha, x,  \
              step_x, y, step_y, a)
// Real: the scalars of the update by one matrix, and beta of that by two.
#define WHARF_LEGACY_UPDATES(product, update, update_two, letter, T, Real)                                             \
  WHARF_ORDER(                                                                                                         \
      cublas##letter##product,                                                                                         \
      (char side, char fill, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc),  \
      side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc)                                                           \
  WHARF_ORDER(cublas##letter##update,                                                                                  \
              (char fill, char op, int n, int k, Real alpha, const T* a, int lda, Real beta, T* c, int ldc), fill, op, \
              n, k, alpha, a, lda, beta, c, ldc)                                                                       \
  WHARF_ORDER(                                                                                                         \
      cublas##letter##update_two,                                                                                      \
      (char fill, char op, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, Real beta, T* c, int ldc), \
      fill, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

#define WHARF_LEGACY_OF_ALL(letter, small, sum, norm, T, Real) \
  WHARF_LEGACY_VECTORS(letter, small, sum, norm, T, Real)      \
  WHARF_LEGACY_TRIANGULAR(letter, T)                           \
  WHARF_LEGACY_GENERAL(letter, T)                              \
  WHARF_LEGACY_UPDATES(symm, syrk, syr2k, letter, T, T)
#define WHARF_LEGACY_OF_REAL(letter, T)                                                                                \
  WHARF_LEGACY_DOT(cublas##letter##dot, T)                                                                             \
  WHARF_LEGACY_ROT(cublas##letter##rot, T, T, T)                                                                       \
  WHARF_ORDER(cublas##letter##rotg, (T * a, T * b, T * c, T * s), a, b, c, s)                                          \
  WHARF_ORDER(cublas##letter##rotm, (int n, T* x, int step_x, T* y, int step_y, const T* parameters), n, x, step_x, y, \
              step_y, parameters)                                                                                      \
  WHARF_ORDER(cublas##letter##rotmg, (T * d1, T * d2, T * x1, const T* y1, T* parameters), d1, d2, x1, y1, parameters) \
  WHARF_LEGACY_MV(symv, sbmv, spmv, letter, T)                                                                         \
  WHARF_LEGACY_GER(cublas##letter##ger, T)                                                                             \
  WHARF_LEGACY_RANKS(syr, spr, syr2, spr2, letter, T, T)
#define WHARF_LEGACY_OF_COMPLEX(letter, T, Real)                               \
  WHARF_LEGACY_DOT(cublas##letter##dotu, T)                                    \
  WHARF_LEGACY_DOT(cublas##letter##dotc, T)                                    \
  WHARF_LEGACY_ROT(cublas##letter##rot, T, Real, T)                            \
  WHARF_ORDER(cublas##letter##rotg, (T * a, T b, Real * c, T * s), a, b, c, s) \
  WHARF_LEGACY_MV(hemv, hbmv, hpmv, letter, T)                                 \
  WHARF_LEGACY_GER(cublas##letter##geru, T)                                    \
  WHARF_LEGACY_GER(cublas##letter##gerc, T)                                    \
  WHARF_LEGACY_RANKS(her, hpr, her2, hpr2, letter, T, Real)                    \
  WHARF_LEGACY_UPDATES(hemm, herk, her2k, letter, T, Real)
WHARF_LEGACY_OF_ALL(S, s, S, S, float, float)
WHARF_LEGACY_OF_ALL(D, d, D, D, double, double)
WHARF_LEGACY_OF_ALL(C, c, Sc, Sc, cuComplex, float)
WHARF_LEGACY_OF_ALL(Z, z, Dz, Dz, cuDoubleComplex, double)
WHARF_LEGACY_OF_REAL(S, float)
WHARF_LEGACY_OF_REAL(D, double)
WHARF_LEGACY_OF_COMPLEX(C, cuComplex, float)
WHARF_LEGACY_OF_COMPLEX(Z, cuDoubleComplex, double)
WHARF_LEGACY_ROT(cublasCsrot, cuComplex, float, float)
WHARF_LEGACY_ROT(cublasZdrot, cuDoubleComplex, double, double)
WHARF_ORDER(cublasCsscal, (int n, float alpha, cuComplex* x, int step), n, alpha, x, step)
WHARF_ORDER(cublasZdscal, (int n, double alpha, cuDoubleComplex* x, int step), n, alpha, x, step)

}  // extern "C"
