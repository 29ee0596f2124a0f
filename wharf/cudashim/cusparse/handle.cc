// Handles, descriptors of the older kind, versions and names of statuses.
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {

cusparseStatus_t SparseStatusOf(CudaError error) {
  switch (error) {
    case CudaError::kSuccess:
      return CUSPARSE_STATUS_SUCCESS;
    case CudaError::kInvalidValue:
    case CudaError::kInvalidHandle:
      return CUSPARSE_STATUS_INVALID_VALUE;
    case CudaError::kNotSupported:
      return CUSPARSE_STATUS_NOT_SUPPORTED;
    case CudaError::kOutOfMemory:
      return CUSPARSE_STATUS_ALLOC_FAILED;
    case CudaError::kNoDevice:
    case CudaError::kNotInitialized:
      return CUSPARSE_STATUS_NOT_INITIALIZED;
    default:
      return CUSPARSE_STATUS_EXECUTION_FAILED;
  }
}

namespace {

struct StatusText {
  const char *name, *sentence;
};
StatusText TextOf(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
      return {"CUSPARSE_STATUS_SUCCESS", "success"};
    case CUSPARSE_STATUS_NOT_INITIALIZED:
      return {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"};
    case CUSPARSE_STATUS_ALLOC_FAILED:
      return {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"};
    case CUSPARSE_STATUS_INVALID_VALUE:
      return {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"};
    case CUSPARSE_STATUS_ARCH_MISMATCH:
      return {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"};
    case CUSPARSE_STATUS_MAPPING_ERROR:
      return {"CUSPARSE_STATUS_MAPPING_ERROR", "texture memory mapping error"};
    case CUSPARSE_STATUS_EXECUTION_FAILED:
      return {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"};
    case CUSPARSE_STATUS_INTERNAL_ERROR:
      return {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"};
    case CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
      return {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"};
    case CUSPARSE_STATUS_ZERO_PIVOT:
      return {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"};
    case CUSPARSE_STATUS_NOT_SUPPORTED:
      return {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"};
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
      return {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"};
  }
  return {"unrecognized error code", "unrecognized error code"};
}

// Of a handle itself; without one, unlike those that compute, they say that the argument is wrong.
template <typename Body>
cusparseStatus_t OfHandle(Call call, cusparseHandle_t handle, Body&& body) {
  if (handle == nullptr || handle->magic != cusparseContext::kMagic) return CUSPARSE_STATUS_INVALID_VALUE;
  return AnswerSparse(call, false, body);
}

template <typename T>
cusparseStatus_t Set(Call call, cusparseMatDescr_t descriptor, T cusparseMatDescr::*field, T value) {
  return AnswerSparse(call, false, [&] {
    if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    descriptor->*field = value;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
template <typename T>
T Get(Call call, const cusparseMatDescr* descriptor, T cusparseMatDescr::*field) {
  (void)client::RunLocal(call, [] { return CudaError::kSuccess; });
  return descriptor == nullptr ? cusparseMatDescr().*field : descriptor->*field;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  return AnswerSparse(Call::k_cusparseCreate, true, [&] {
    return handle == nullptr ? CUSPARSE_STATUS_INVALID_VALUE : StoreTo(handle, new cusparseContext());
  });
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  if (handle == nullptr) return CUSPARSE_STATUS_SUCCESS;
  return OfHandle(Call::k_cusparseDestroy, handle, [&] {
    if (client::IsConnected()) (void)client::FreeOwn(handle->result);  // 0 is nothing
    handle->magic = 0;
    delete handle;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version) {
  return OfHandle(Call::k_cusparseGetVersion, handle, [&] { return StoreTo(version, CUSPARSE_VERSION); });
}
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  return WHARF_SPARSE_LOCAL(cusparseGetProperty, [&] {
    constexpr int kVersion[] = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH};
    return type < MAJOR_VERSION || type > PATCH_LEVEL ? CUSPARSE_STATUS_INVALID_VALUE : StoreTo(value, kVersion[type]);
  });
}
const char* cusparseGetErrorName(cusparseStatus_t status) {
  (void)client::RunLocal(Call::k_cusparseGetErrorName, [] { return CudaError::kSuccess; });
  return TextOf(status).name;
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  (void)client::RunLocal(Call::k_cusparseGetErrorString, [] { return CudaError::kSuccess; });
  return TextOf(status).sentence;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return OfHandle(Call::k_cusparseSetStream, handle, [&] { return StoreTo(&handle->stream, stream); });
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  return OfHandle(Call::k_cusparseGetStream, handle, [&] { return StoreTo(stream, handle->stream); });
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  return OfHandle(Call::k_cusparseSetPointerMode, handle, [&] {
    if (mode != CUSPARSE_POINTER_MODE_HOST && mode != CUSPARSE_POINTER_MODE_DEVICE) {
      return CUSPARSE_STATUS_INVALID_VALUE;
    }
    return StoreTo(&handle->pointer_mode, mode);
  });
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return OfHandle(Call::k_cusparseGetPointerMode, handle, [&] { return StoreTo(mode, handle->pointer_mode); });
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descriptor) {
  return WHARF_SPARSE_LOCAL(cusparseCreateMatDescr, [&] {
    return descriptor == nullptr ? CUSPARSE_STATUS_INVALID_VALUE : StoreTo(descriptor, new cusparseMatDescr());
  });
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descriptor) {
  return WHARF_SPARSE_LOCAL(cusparseDestroyMatDescr, [&] {
    delete descriptor;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descriptor, cusparseMatrixType_t type) {
  return Set(Call::k_cusparseSetMatType, descriptor, &cusparseMatDescr::type, type);
}
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t descriptor) {
  return Get(Call::k_cusparseGetMatType, descriptor, &cusparseMatDescr::type);
}
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descriptor, cusparseFillMode_t fill) {
  return Set(Call::k_cusparseSetMatFillMode, descriptor, &cusparseMatDescr::fill, fill);
}
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t descriptor) {
  return Get(Call::k_cusparseGetMatFillMode, descriptor, &cusparseMatDescr::fill);
}
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descriptor, cusparseDiagType_t diagonal) {
  return Set(Call::k_cusparseSetMatDiagType, descriptor, &cusparseMatDescr::diagonal, diagonal);
}
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t descriptor) {
  return Get(Call::k_cusparseGetMatDiagType, descriptor, &cusparseMatDescr::diagonal);
}
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descriptor, cusparseIndexBase_t base) {
  return Set(Call::k_cusparseSetMatIndexBase, descriptor, &cusparseMatDescr::base, base);
}
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t descriptor) {
  return Get(Call::k_cusparseGetMatIndexBase, descriptor, &cusparseMatDescr::base);
}

}  // extern "C"
