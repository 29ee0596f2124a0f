// Incomplete factorizations on a matrix's own pattern, in its place: L U, and Cholesky's.
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {
namespace {

struct FactorCall {
  cusparseHandle_t handle;
  cudaDataType type;
  int rows, entries;
  cusparseMatDescr_t descriptor;
  const void* values;
  const int *offsets, *indices;
};

cusparseStatus_t CheckFactor(const FactorCall& call) {
  if (call.rows < 0 || call.entries < 0 || call.descriptor == nullptr || (call.rows > 0 && call.offsets == nullptr) ||
      (call.entries > 0 && (call.indices == nullptr || call.values == nullptr))) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  const bool general = call.descriptor->type == CUSPARSE_MATRIX_TYPE_GENERAL;
  return general ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

IncompleteFactor FactorOf(const FactorCall& call, uint64_t pivot) {
  IncompleteFactor f{};
  f.a = {IndicesOf(call.offsets, call.descriptor->base),
         IndicesOf(call.indices, call.descriptor->base),
         const_cast<void*>(call.values),
         call.rows,
         call.rows,
         call.entries,
         0};
  f.pivot = reinterpret_cast<unsigned*>(pivot);
  return f;
}

// Nothing is computed without the work area, though nothing needs it: programs that forget it fail elsewhere.
cusparseStatus_t CheckCall(const FactorCall& call, const void* info, cusparseSolvePolicy_t policy, const void* buffer) {
  const bool is_policy = policy == CUSPARSE_SOLVE_POLICY_NO_LEVEL || policy == CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  if (info == nullptr || buffer == nullptr || !is_policy) return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckFactor(call);
}

// The pivot's place is the info's own: programs share one buffer among several infos.
template <typename Info>
cusparseStatus_t Analyze(const FactorCall& call, Info* info, cusparseSolvePolicy_t policy, const void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckCall(call, info, policy, buffer));
  if (info->pivot == 0) {
    const CudaError error = client::AllocateOwn(sizeof(unsigned), &info->pivot);
    if (error != CudaError::kSuccess) return SparseStatusOf(error);
  }
  const IncompleteFactor f = FactorOf(call, info->pivot);
  return LaunchFactorization(call.handle, call.type, "find_pivot", 1, &f);
}

cusparseStatus_t Factor(const FactorCall& call, const csrilu02Info* info, cusparseSolvePolicy_t policy,
                        const void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckCall(call, info, policy, buffer));
  if (info->pivot == 0) return CUSPARSE_STATUS_INVALID_VALUE;
  IncompleteFactor f = FactorOf(call, info->pivot);
  f.boosted = info->boosted ? 1 : 0;
  f.tolerance = info->tolerance;
  f.boost = info->boost;
  return LaunchFactorization(call.handle, call.type, "factor_lu", 1, &f);
}
cusparseStatus_t Factor(const FactorCall& call, const csric02Info* info, cusparseSolvePolicy_t policy,
                        const void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckCall(call, info, policy, buffer));
  if (info->pivot == 0) return CUSPARSE_STATUS_INVALID_VALUE;
  const IncompleteFactor f = FactorOf(call, info->pivot);
  return LaunchFactorization(call.handle, call.type, "factor_cholesky", 1, &f);
}

// The position is on the device as well, if so, but the status is for the host: waits.
template <typename Info>
cusparseStatus_t FindPivot(cusparseHandle_t handle, const Info* info, int* position) {
  if (info == nullptr || info->pivot == 0 || position == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  const void* const place = reinterpret_cast<const void*>(info->pivot);
  int pivot = 0;
  if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) {
    WHARF_SPARSE_RETURN_IF_ERROR(CopyOnDevice(handle, place, position, sizeof(int)));
  }
  WHARF_SPARSE_RETURN_IF_ERROR(ReadBack(handle, place, &pivot, sizeof(int)));
  if (handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST) *position = pivot;
  return pivot == -1 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}

cusparseStatus_t SetBoost(cusparseHandle_t handle, cudaDataType type, csrilu02Info* info, int enabled,
                          const double* tolerance, const void* boost) {
  if (info == nullptr || (enabled != 0 && (tolerance == nullptr || boost == nullptr))) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  info->boosted = enabled != 0;
  if (!info->boosted) return CUSPARSE_STATUS_SUCCESS;
  info->tolerance = ScalarOf(handle, CUDA_R_64F, tolerance);
  info->boost = ScalarOf(handle, type, boost);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_FACTOR_INFO(Name, name)                                                                                  \
  cusparseStatus_t cusparseCreate##Name##Info(name##Info_t* info) {                                                    \
    return WHARF_SPARSE_LOCAL(cusparseCreate##Name##Info, [&] {                                                        \
      return info == nullptr ? CUSPARSE_STATUS_INVALID_VALUE : StoreTo(info, new name##Info());                        \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparseDestroy##Name##Info(name##Info_t info) {                                                    \
    return WHARF_SPARSE_LOCAL(cusparseDestroy##Name##Info, [&] {                                                       \
      if (info != nullptr && client::IsConnected()) (void)client::FreeOwn(info->pivot); /* 0 is nothing */             \
      delete info;                                                                                                     \
      return CUSPARSE_STATUS_SUCCESS;                                                                                  \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparseX##name##_zeroPivot(cusparseHandle_t handle, name##Info_t info, int* position) {            \
    return WHARF_SPARSE(cusparseX##name##_zeroPivot, handle, true, [&] { return FindPivot(handle, info, position); }); \
  }
WHARF_FACTOR_INFO(Csrilu02, csrilu02)
WHARF_FACTOR_INFO(Csric02, csric02)
#undef WHARF_FACTOR_INFO

// The vendor declares bufferSizeExt too, but its library has no such function.
#define WHARF_FACTOR(letter, T, type, name)                                                                            \
  cusparseStatus_t cusparse##letter##name##_bufferSize(                                                                \
      cusparseHandle_t handle, int m, int entries, const cusparseMatDescr_t descriptor, T* values, const int* offsets, \
      const int* indices, name##Info_t, int* size) {                                                                   \
    return WHARF_SPARSE(cusparse##letter##name##_bufferSize, handle, false, [&] {                                      \
      WHARF_SPARSE_RETURN_IF_ERROR(CheckFactor({handle, type, m, entries, descriptor, values, offsets, indices}));     \
      return StoreTo(size, static_cast<int>(kSparseWork));                                                             \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##letter##name##_analysis(                                                                  \
      cusparseHandle_t handle, int m, int entries, const cusparseMatDescr_t descriptor, const T* values,               \
      const int* offsets, const int* indices, name##Info_t info, cusparseSolvePolicy_t policy, void* buffer) {         \
    return WHARF_SPARSE(cusparse##letter##name##_analysis, handle, true, [&] {                                         \
      return Analyze({handle, type, m, entries, descriptor, values, offsets, indices}, info, policy, buffer);          \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##letter##name(                                                                             \
      cusparseHandle_t handle, int m, int entries, const cusparseMatDescr_t descriptor, T* values, const int* offsets, \
      const int* indices, name##Info_t info, cusparseSolvePolicy_t policy, void* buffer) {                             \
    return WHARF_SPARSE(cusparse##letter##name, handle, true, [&] {                                                    \
      return Factor({handle, type, m, entries, descriptor, values, offsets, indices}, info, policy, buffer);           \
    });                                                                                                                \
  }
#define WHARF_FACTORS(letter, T, type)                                                                                \
  WHARF_FACTOR(letter, T, type, csrilu02)                                                                             \
  WHARF_FACTOR(letter, T, type, csric02)                                                                              \
  cusparseStatus_t cusparse##letter##csrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info, int enabled, \
                                                           double* tolerance, T* boost) {                             \
    return WHARF_SPARSE(cusparse##letter##csrilu02_numericBoost, handle, false,                                       \
                        [&] { return SetBoost(handle, type, info, enabled, tolerance, boost); });                     \
  }
WHARF_FACTORS(S, float, CUDA_R_32F)
WHARF_FACTORS(D, double, CUDA_R_64F)
WHARF_FACTORS(C, cuComplex, CUDA_C_32F)
WHARF_FACTORS(Z, cuDoubleComplex, CUDA_C_64F)
#undef WHARF_FACTORS
#undef WHARF_FACTOR

}  // extern "C"
