// Handles and what they carry; parameters; versions; what calls share.
#include <algorithm>

#include "wharf/cudashim/client/dnn/primitive.h"
#include "wharf/cudashim/cusolver/solver.h"

namespace wharf::cudashim {

cusolverStatus_t SolverStatusOf(CudaError error) {
  switch (error) {
    case CudaError::kSuccess:
      return CUSOLVER_STATUS_SUCCESS;
    case CudaError::kInvalidValue:
    case CudaError::kInvalidHandle:
      return CUSOLVER_STATUS_INVALID_VALUE;
    case CudaError::kNotSupported:
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    case CudaError::kOutOfMemory:
      return CUSOLVER_STATUS_ALLOC_FAILED;
    case CudaError::kNoDevice:
    case CudaError::kNotInitialized:
      return CUSOLVER_STATUS_NOT_INITIALIZED;
    default:
      return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}

bool SetFill(cublasFillMode_t fill, Lapack* lapack) {
  lapack->upper = fill == CUBLAS_FILL_MODE_UPPER;
  return fill == CUBLAS_FILL_MODE_UPPER || fill == CUBLAS_FILL_MODE_LOWER;
}

bool SetTranspose(cublasOperation_t operation, Lapack* lapack) {
  switch (operation) {
    case CUBLAS_OP_N:
      lapack->transpose = LapackTranspose::kNone;
      return true;
    case CUBLAS_OP_T:
      lapack->transpose = LapackTranspose::kTransposed;
      return true;
    case CUBLAS_OP_C:
      lapack->transpose = LapackTranspose::kConjugated;
      return true;
    default:
      return false;
  }
}

bool SetVectors(cusolverEigMode_t mode, bool thin, Lapack* lapack) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  lapack->left = lapack->right_vectors = !vectors ? LapackVectors::kNone
                                         : thin   ? LapackVectors::kThin
                                                  : LapackVectors::kAll;
  return vectors || mode == CUSOLVER_EIG_MODE_NOVECTOR;
}

bool SetJob(signed char job, LapackVectors* vectors) {
  switch (job) {
    case 'A':
      *vectors = LapackVectors::kAll;
      return true;
    case 'S':
      *vectors = LapackVectors::kThin;
      return true;
    case 'O':
      *vectors = LapackVectors::kOverwritten;
      return true;
    case 'N':
      *vectors = LapackVectors::kNone;
      return true;
    default:
      return false;
  }
}

cusolverStatus_t RunSolver(cusolverDnHandle_t handle, bool fits, std::initializer_list<int64_t> sizes,
                           const Lapack& lapack) {
  if (!fits || std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; })) {
    if (lapack.info == 0 || lapack.batch < 1) return CUSOLVER_STATUS_SUCCESS;
    const auto bytes = static_cast<uint64_t>(lapack.batch) * sizeof(int);
    client::Box box;
    box.address = lapack.info;
    return SolverStatusOf(client::Fill(stream, box, {bytes, 1, 1}, 0, 1));
  }
  std::string why;
  return SolverStatusOf(client::RunPrimitive(stream, lapack, &why));
}

namespace {

template <typename T>
cusolverStatus_t Create(T** place) {
  if (place == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *place = new T();
  return CUSOLVER_STATUS_SUCCESS;
}

// `change` of something that must be there.
template <typename T, typename Change>
cusolverStatus_t With(Call call, T* object, Change&& change) {
  return AnswerSolver(call, false, [&] {
    if (object == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    change();
    return CUSOLVER_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return AnswerSolver(Call::k_cusolverDnCreate, true, [&] { return Create(handle); });
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return WHARF_SOLVER(cusolverDnDestroy, handle, false, [&] {
    handle->magic = 0;
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return WHARF_SOLVER(cusolverDnSetStream, handle, false, [&] { return StoreTo(&handle->stream, stream); });
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  return WHARF_SOLVER(cusolverDnGetStream, handle, false, [&] { return StoreTo(stream, handle->stream); });
}
cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t mode) {
  return WHARF_SOLVER(cusolverDnSetDeterministicMode, handle, false, [&] {
    if (mode != CUSOLVER_DETERMINISTIC_RESULTS && mode != CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS) {
      return CUSOLVER_STATUS_INVALID_VALUE;
    }
    return StoreTo(&handle->deterministic, mode);
  });
}
cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t* mode) {
  return WHARF_SOLVER(cusolverDnGetDeterministicMode, handle, false,
                      [&] { return StoreTo(mode, handle->deterministic); });
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  return AnswerSolver(Call::k_cusolverDnCreateParams, false, [&] { return Create(params); });
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  return With(Call::k_cusolverDnDestroyParams, params, [&] { delete params; });
}
// Of what the server's library may choose for itself.
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t, cusolverAlgMode_t) {
  return With(Call::k_cusolverDnSetAdvOptions, params, [] {});
}

cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) {
  return AnswerSolver(Call::k_cusolverDnCreateSyevjInfo, false, [&] { return Create(info); });
}
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) {
  return With(Call::k_cusolverDnDestroySyevjInfo, info, [&] { delete info; });
}
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance) {
  return With(Call::k_cusolverDnXsyevjSetTolerance, info, [&] { info->tolerance = tolerance; });
}
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int sweeps) {
  return With(Call::k_cusolverDnXsyevjSetMaxSweeps, info, [&] { info->sweeps = sweeps; });
}
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sorted) {
  return With(Call::k_cusolverDnXsyevjSetSortEig, info, [&] { info->sorted = sorted != 0; });
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) {
  return AnswerSolver(Call::k_cusolverDnCreateGesvdjInfo, false, [&] { return Create(info); });
}
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) {
  return With(Call::k_cusolverDnDestroyGesvdjInfo, info, [&] { delete info; });
}
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance) {
  return With(Call::k_cusolverDnXgesvdjSetTolerance, info, [&] { info->tolerance = tolerance; });
}
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int sweeps) {
  return With(Call::k_cusolverDnXgesvdjSetMaxSweeps, info, [&] { info->sweeps = sweeps; });
}
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sorted) {
  return With(Call::k_cusolverDnXgesvdjSetSortEig, info, [&] { info->sorted = sorted != 0; });
}

cusolverStatus_t cusolverGetVersion(int* version) {
  return AnswerSolver(Call::k_cusolverGetVersion, false, [&] { return StoreTo(version, CUSOLVER_VERSION); });
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value) {
  return AnswerSolver(Call::k_cusolverGetProperty, false, [&] {
    constexpr int kVersion[] = {CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH};
    return type < MAJOR_VERSION || type > PATCH_LEVEL ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(value, kVersion[type]);
  });
}

}  // extern "C"
