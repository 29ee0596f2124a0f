// The interface of cublasXt.h, whose matrices are the program's own or on the device: what is not there is copied in,
// multiplied by the functions of cublas_v2.h, and copied out. There is one device.
#include <cublasXt.h>

#include <climits>
#include <vector>

#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/cublas/solver_kernels.h"

// The program's handle points to one of these.
struct cublasXtContext {
  static constexpr uint64_t kMagic = 0x7768726662787468;
  uint64_t magic = kMagic;
  cublasHandle_t blas = nullptr;
  int block_dim = 2048;  // has no effect, nor has the next
  cublasXtPinnedMemMode_t pinning = CUBLASXT_PINNING_DISABLED;
};

namespace wharf::cudashim {
namespace {

template <typename T>
struct OnDevice {
  T* data;
  int64_t leading;
  bool copied;
};

// The matrices of one call on the device.
class Staging {
 public:
  explicit Staging(cublasHandle_t blas) : blas_(blas) {}
  ~Staging() {
    for (const uint64_t address : memory_) (void)client::FreeOwn(address);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  cublasHandle_t blas() const { return blas_; }

  // Where a matrix is, or a place with its content (unless it is `fresh`).
  template <typename T>
  OnDevice<T> Bring(const T* data, size_t leading, size_t rows, size_t columns, bool fresh = false) {
    OnDevice<T> there{const_cast<T*>(data), static_cast<int64_t>(leading), false};
    if (error_ != CudaError::kSuccess || rows == 0 || columns == 0) return there;
    const auto kind = client::Describe(reinterpret_cast<uint64_t>(data)).kind;
    if (kind == client::PointerInfo::Kind::kDevice || kind == client::PointerInfo::Kind::kManaged) return there;
    if (data == nullptr || leading < rows) {
      error_ = CudaError::kInvalidValue;
      return there;
    }
    there = {Allocate<T>(rows * columns), static_cast<int64_t>(rows), true};
    if (error_ == CudaError::kSuccess && !fresh) {
      error_ = Copy(there.data, rows, data, leading, rows, columns, client::CopyKind::kHostToDevice);
    }
    return there;
  }

  template <typename T>
  T* Allocate(size_t count) {
    uint64_t address = 0;
    if (error_ == CudaError::kSuccess) error_ = client::AllocateOwn(count * sizeof(T), &address);
    memory_.push_back(address);  // 0 is nothing
    return reinterpret_cast<T*>(address);
  }

  // `compute`, if all are there; then the result goes where the program has it.
  template <typename T, typename Compute>
  cublasStatus_t Finish(const OnDevice<T>& result, T* data, size_t leading, size_t rows, size_t columns,
                        const Compute& compute) {
    if (error_ != CudaError::kSuccess) return ToStatus(error_);
    const cublasStatus_t status = compute();
    if (status != CUBLAS_STATUS_SUCCESS || !result.copied) return status;
    return ToStatus(Copy(data, leading, result.data, rows, rows, columns, client::CopyKind::kDeviceToHost));
  }

 private:
  template <typename T>
  CudaError Copy(T* to, size_t leading_to, const T* from, size_t leading_from, size_t rows, size_t columns,
                 client::CopyKind kind) {
    return client::Copy(StreamOf(blas_), {reinterpret_cast<uint64_t>(to), leading_to * sizeof(T), 0},
                        {reinterpret_cast<uint64_t>(from), leading_from * sizeof(T), 0}, {rows * sizeof(T), columns, 1},
                        kind, false);
  }

  const cublasHandle_t blas_;
  CudaError error_ = CudaError::kSuccess;
  std::vector<uint64_t> memory_;
};

// A call that computes, or one that does not, to which no handle is an argument like others.
template <typename Body>
cublasStatus_t Xt(Call call, cublasXtHandle_t handle, const Body& body) {
  if (handle == nullptr || handle->magic != cublasXtContext::kMagic) return CUBLAS_STATUS_NOT_INITIALIZED;
  return client::Answer(call, true, ToStatus, [&] {
    Staging staging(handle->blas);
    return body(staging);
  });
}
template <typename Body>
cublasStatus_t XtLocal(Call call, cublasXtHandle_t handle, const Body& body) {
  if (handle == nullptr || handle->magic != cublasXtContext::kMagic) return CUBLAS_STATUS_INVALID_VALUE;
  return ToStatus(client::RunLocal(call, body));
}

// Then what is multiplied by it need not be there.
bool IsNothing(const float* scalar) { return scalar != nullptr && *scalar == 0; }
bool IsNothing(const double* scalar) { return scalar != nullptr && *scalar == 0; }
bool IsNothing(const cuComplex* scalar) { return scalar != nullptr && scalar->x == 0 && scalar->y == 0; }
bool IsNothing(const cuDoubleComplex* scalar) { return scalar != nullptr && scalar->x == 0 && scalar->y == 0; }

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle) {
  return client::Answer(Call::k_cublasXtCreate, true, ToStatus, [&]() -> cublasStatus_t {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t blas = nullptr;
    const cublasStatus_t status = cublasCreate_v2(&blas);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    *handle = new cublasXtContext();
    (*handle)->blas = blas;
    return status;
  });
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle) {
  return XtLocal(Call::k_cublasXtDestroy, handle, [&] {
    (void)cublasDestroy_v2(handle->blas);
    handle->magic = 0;
    delete handle;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[]) {
  return XtLocal(Call::k_cublasXtDeviceSelect, handle, [&] {
    return count == 1 && devices != nullptr && devices[0] == 0 ? CudaError::kSuccess : CudaError::kInvalidValue;
  });
}

cublasStatus_t cublasXtGetNumBoards(int count, int devices[], int* boards) {
  return ToStatus(client::RunLocal(Call::k_cublasXtGetNumBoards, [&] {
    return count == 1 && devices != nullptr && devices[0] == 0 ? Store(boards, 1) : CudaError::kInvalidValue;
  }));
}

cublasStatus_t cublasXtMaxBoards(int* boards) {
  return ToStatus(client::RunLocal(Call::k_cublasXtMaxBoards, [&] { return Store(boards, 1); }));
}

cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int size) {
  return XtLocal(Call::k_cublasXtSetBlockDim, handle,
                 [&] { return size <= 0 ? CudaError::kInvalidValue : Store(&handle->block_dim, size); });
}

cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* size) {
  return XtLocal(Call::k_cublasXtGetBlockDim, handle, [&] { return Store(size, handle->block_dim); });
}

cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode) {
  return XtLocal(Call::k_cublasXtSetPinningMemMode, handle, [&] {
    if (mode != CUBLASXT_PINNING_DISABLED && mode != CUBLASXT_PINNING_ENABLED) return CudaError::kInvalidValue;
    return Store(&handle->pinning, mode);
  });
}

cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode) {
  return XtLocal(Call::k_cublasXtGetPinningMemMode, handle, [&] { return Store(mode, handle->pinning); });
}

// The program's processor is never given a share.
cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t, cublasXtOpType_t, void*) {
  return XtLocal(Call::k_cublasXtSetCpuRoutine, handle, [] { return CudaError::kSuccess; });
}

cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t, cublasXtOpType_t, float ratio) {
  return XtLocal(Call::k_cublasXtSetCpuRatio, handle,
                 [&] { return ratio >= 0 && ratio <= 1 ? CudaError::kSuccess : CudaError::kInvalidValue; });
}

#define WHARF_XT_GEMM(letter, T)                                                                                       \
  cublasStatus_t cublasXt##letter##gemm(cublasXtHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, size_t m, \
                                        size_t n, size_t k, const T* alpha, const T* a, size_t lda, const T* b,        \
                                        size_t ldb, const T* beta, T* c, size_t ldc) {                                 \
    return Xt(Call::k_cublasXt##letter##gemm, handle, [&](Staging& s) {                                                \
      const bool plain_a = ta == CUBLAS_OP_N, plain_b = tb == CUBLAS_OP_N;                                             \
      const auto da = s.Bring(a, lda, plain_a ? m : k, plain_a ? k : m);                                               \
      const auto db = s.Bring(b, ldb, plain_b ? k : n, plain_b ? n : k);                                               \
      const auto dc = s.Bring(c, ldc, m, n, IsNothing(beta));                                                          \
      return s.Finish(dc, c, ldc, m, n, [&] {                                                                          \
        return cublas##letter##gemm_v2_64(s.blas(), ta, tb, m, n, k, alpha, da.data, da.leading, db.data, db.leading,  \
                                          beta, dc.data, dc.leading);                                                  \
      });                                                                                                              \
    });                                                                                                                \
  }
#define WHARF_XT_UPDATE(letter, update, T, Real)                                                                   \
  cublasStatus_t cublasXt##letter##update(cublasXtHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,    \
                                          size_t n, size_t k, const Real* alpha, const T* a, size_t lda,           \
                                          const Real* beta, T* c, size_t ldc) {                                    \
    return Xt(Call::k_cublasXt##letter##update, handle, [&](Staging& s) {                                          \
      const bool plain = op == CUBLAS_OP_N;                                                                        \
      const auto da = s.Bring(a, lda, plain ? n : k, plain ? k : n), dc = s.Bring(c, ldc, n, n);                   \
      return s.Finish(dc, c, ldc, n, n, [&] {                                                                      \
        return cublas##letter##update##_v2_64(s.blas(), fill, op, n, k, alpha, da.data, da.leading, beta, dc.data, \
                                              dc.leading);                                                         \
      });                                                                                                          \
    });                                                                                                            \
  }
// `function`: with the suffix that it has.
#define WHARF_XT_UPDATE_OF_TWO(letter, update, function, T, Real)                                                  \
  cublasStatus_t cublasXt##letter##update(cublasXtHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,    \
                                          size_t n, size_t k, const T* alpha, const T* a, size_t lda, const T* b,  \
                                          size_t ldb, const Real* beta, T* c, size_t ldc) {                        \
    return Xt(Call::k_cublasXt##letter##update, handle, [&](Staging& s) {                                          \
      const size_t rows = op == CUBLAS_OP_N ? n : k, columns = op == CUBLAS_OP_N ? k : n;                          \
      const auto da = s.Bring(a, lda, rows, columns), db = s.Bring(b, ldb, rows, columns);                         \
      const auto dc = s.Bring(c, ldc, n, n);                                                                       \
      return s.Finish(dc, c, ldc, n, n, [&] {                                                                      \
        return cublas##letter##function(s.blas(), fill, op, n, k, alpha, da.data, da.leading, db.data, db.leading, \
                                        beta, dc.data, dc.leading);                                                \
      });                                                                                                          \
    });                                                                                                            \
  }
#define WHARF_XT_TRSM(letter, T)                                                                                \
  cublasStatus_t cublasXt##letter##trsm(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,  \
                                        cublasOperation_t op, cublasDiagType_t diagonal, size_t m, size_t n,    \
                                        const T* alpha, const T* a, size_t lda, T* b, size_t ldb) {             \
    return Xt(Call::k_cublasXt##letter##trsm, handle, [&](Staging& s) {                                         \
      const size_t size = side == CUBLAS_SIDE_LEFT ? m : n;                                                     \
      const auto da = s.Bring(a, lda, size, size), db = s.Bring(b, ldb, m, n);                                  \
      return s.Finish(db, b, ldb, m, n, [&] {                                                                   \
        return cublas##letter##trsm_v2_64(s.blas(), side, fill, op, diagonal, m, n, alpha, da.data, da.leading, \
                                          db.data, db.leading);                                                 \
      });                                                                                                       \
    });                                                                                                         \
  }
#define WHARF_XT_TRMM(letter, T)                                                                                 \
  cublasStatus_t cublasXt##letter##trmm(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,   \
                                        cublasOperation_t op, cublasDiagType_t diagonal, size_t m, size_t n,     \
                                        const T* alpha, const T* a, size_t lda, const T* b, size_t ldb, T* c,    \
                                        size_t ldc) {                                                            \
    return Xt(Call::k_cublasXt##letter##trmm, handle, [&](Staging& s) {                                          \
      const size_t size = side == CUBLAS_SIDE_LEFT ? m : n;                                                      \
      const auto da = s.Bring(a, lda, size, size), db = s.Bring(b, ldb, m, n), dc = s.Bring(c, ldc, m, n, true); \
      return s.Finish(dc, c, ldc, m, n, [&] {                                                                    \
        return cublas##letter##trmm_v2_64(s.blas(), side, fill, op, diagonal, m, n, alpha, da.data, da.leading,  \
                                          db.data, db.leading, dc.data, dc.leading);                             \
      });                                                                                                        \
    });                                                                                                          \
  }
#define WHARF_XT_SYMM(letter, product, T)                                                                          \
  cublasStatus_t cublasXt##letter##product(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,  \
                                           size_t m, size_t n, const T* alpha, const T* a, size_t lda, const T* b, \
                                           size_t ldb, const T* beta, T* c, size_t ldc) {                          \
    return Xt(Call::k_cublasXt##letter##product, handle, [&](Staging& s) {                                         \
      const size_t size = side == CUBLAS_SIDE_LEFT ? m : n;                                                        \
      const auto da = s.Bring(a, lda, size, size), db = s.Bring(b, ldb, m, n);                                     \
      const auto dc = s.Bring(c, ldc, m, n, IsNothing(beta));                                                      \
      return s.Finish(dc, c, ldc, m, n, [&] {                                                                      \
        return cublas##letter##product##_v2_64(s.blas(), side, fill, m, n, alpha, da.data, da.leading, db.data,    \
                                               db.leading, beta, dc.data, dc.leading);                             \
      });                                                                                                          \
    });                                                                                                            \
  }
// Of a packed matrix, which is unpacked.
#define WHARF_XT_SPMM(letter, T)                                                                                      \
  cublasStatus_t cublasXt##letter##spmm(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,        \
                                        size_t m, size_t n, const T* alpha, const T* a, const T* b, size_t ldb,       \
                                        const T* beta, T* c, size_t ldc) {                                            \
    return Xt(Call::k_cublasXt##letter##spmm, handle, [&](Staging& s) {                                               \
      const size_t size = side == CUBLAS_SIDE_LEFT ? m : n;                                                           \
      if (size > INT_MAX) return CUBLAS_STATUS_NOT_SUPPORTED;                                                         \
      const size_t packed = size * (size + 1) / 2, leading = size == 0 ? 1 : size;                                    \
      const auto da = s.Bring(a, packed, packed, 1), db = s.Bring(b, ldb, m, n);                                      \
      const auto dc = s.Bring(c, ldc, m, n, IsNothing(beta));                                                         \
      T* const whole = s.Allocate<T>(size * size);                                                                    \
      return s.Finish(dc, c, ldc, m, n, [&] {                                                                         \
        const cublasStatus_t status =                                                                                 \
            cublas##letter##tpttr(s.blas(), fill, static_cast<int>(size), da.data, whole, static_cast<int>(leading)); \
        if (status != CUBLAS_STATUS_SUCCESS) return status;                                                           \
        return cublas##letter##symm_v2_64(s.blas(), side, fill, m, n, alpha, whole, leading, db.data, db.leading,     \
                                          beta, dc.data, dc.leading);                                                 \
      });                                                                                                             \
    });                                                                                                               \
  }
#define WHARF_XT_FAMILY(letter, T)                         \
  WHARF_XT_GEMM(letter, T)                                 \
  WHARF_XT_UPDATE(letter, syrk, T, T)                      \
  WHARF_XT_UPDATE_OF_TWO(letter, syr2k, syr2k_v2_64, T, T) \
  WHARF_XT_UPDATE_OF_TWO(letter, syrkx, syrkx_64, T, T)    \
  WHARF_XT_TRSM(letter, T)                                 \
  WHARF_XT_TRMM(letter, T)                                 \
  WHARF_XT_SYMM(letter, symm, T)                           \
  WHARF_XT_SPMM(letter, T)
#define WHARF_XT_HERMITIAN_FAMILY(letter, T, Real)            \
  WHARF_XT_UPDATE(letter, herk, T, Real)                      \
  WHARF_XT_UPDATE_OF_TWO(letter, her2k, her2k_v2_64, T, Real) \
  WHARF_XT_UPDATE_OF_TWO(letter, herkx, herkx_64, T, Real)    \
  WHARF_XT_SYMM(letter, hemm, T)
WHARF_XT_FAMILY(S, float)
WHARF_XT_FAMILY(D, double)
WHARF_XT_FAMILY(C, cuComplex)
WHARF_XT_FAMILY(Z, cuDoubleComplex)
WHARF_XT_HERMITIAN_FAMILY(C, cuComplex, float)
WHARF_XT_HERMITIAN_FAMILY(Z, cuDoubleComplex, double)

}  // extern "C"
