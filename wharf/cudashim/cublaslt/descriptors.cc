// Descriptors: making, setting, reading.
#include "wharf/cudashim/cublaslt/descriptors.h"

#include <cstring>
#include <new>

namespace wharf::cudashim {
namespace {

// One attribute: its number and the field that holds it.
struct Field {
  int attribute;
  void* place;
  size_t size;
};

template <typename T>
Field FieldOf(int attribute, T& place) {
  return {attribute, &place, sizeof(T)};
}

template <size_t count>
const Field* Find(const Field (&fields)[count], int attribute) {
  for (const Field& field : fields) {
    if (field.attribute == attribute) return &field;
  }
  return nullptr;
}

CudaError Set(const Field* field, const void* from, size_t size) {
  if (field == nullptr || from == nullptr || size != field->size) return CudaError::kInvalidValue;
  std::memcpy(field->place, from, size);
  return CudaError::kSuccess;
}

CudaError Get(const Field* field, void* to, size_t size, size_t* written) {
  if (field == nullptr) return CudaError::kInvalidValue;
  if (written != nullptr) *written = field->size;
  if (size == 0) return written != nullptr ? CudaError::kSuccess : CudaError::kInvalidValue;
  if (to == nullptr || size < field->size) return CudaError::kInvalidValue;
  std::memcpy(to, field->place, field->size);
  return CudaError::kSuccess;
}

#define WHARF_LAYOUT_FIELDS(l)                                                                                    \
  {                                                                                                               \
    FieldOf(CUBLASLT_MATRIX_LAYOUT_TYPE, (l).type), FieldOf(CUBLASLT_MATRIX_LAYOUT_ORDER, (l).order),             \
        FieldOf(CUBLASLT_MATRIX_LAYOUT_ROWS, (l).rows), FieldOf(CUBLASLT_MATRIX_LAYOUT_COLS, (l).columns),        \
        FieldOf(CUBLASLT_MATRIX_LAYOUT_LD, (l).ld), FieldOf(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (l).batch_count), \
        FieldOf(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, (l).batch_stride),                                   \
        FieldOf(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, (l).batch_mode)                                                \
  }
#define WHARF_MATMUL_FIELDS(m)                                                                                         \
  {                                                                                                                    \
    FieldOf(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, (m).compute), FieldOf(CUBLASLT_MATMUL_DESC_SCALE_TYPE, (m).scale_type), \
        FieldOf(CUBLASLT_MATMUL_DESC_POINTER_MODE, (m).pointer_mode),                                                  \
        FieldOf(CUBLASLT_MATMUL_DESC_TRANSA, (m).transpose_a), FieldOf(CUBLASLT_MATMUL_DESC_TRANSB, (m).transpose_b),  \
        FieldOf(CUBLASLT_MATMUL_DESC_TRANSC, (m).transpose_c), FieldOf(CUBLASLT_MATMUL_DESC_EPILOGUE, (m).epilogue),   \
        FieldOf(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (m).bias),                                                          \
        FieldOf(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, (m).bias_type),                                                   \
        FieldOf(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, (m).bias_stride),                                              \
        FieldOf(CUBLASLT_MATMUL_DESC_FILL_MODE, (m).fill_mode),                                                        \
        FieldOf(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, (m).sm_count_target),                                            \
        FieldOf(CUBLASLT_MATMUL_DESC_FAST_ACCUM, (m).fast_accumulation)                                                \
  }

CudaError SetMatmul(Matmul& matmul, int attribute, const void* from, size_t size) {
  const Field fields[] = WHARF_MATMUL_FIELDS(matmul);
  if (const Field* const field = Find(fields, attribute)) return Set(field, from, size);
  // Scales and auxiliary outputs: setting them to nothing changes nothing, anything else is refused by the product.
  uint64_t value = 0;
  if (from == nullptr || size > sizeof(value)) return CudaError::kInvalidValue;
  std::memcpy(&value, from, size);
  if (value != 0) matmul.unsupported = true;
  return CudaError::kSuccess;
}

CudaError SetPreference(Preference& preference, int attribute, const void* from, size_t size) {
  if (from == nullptr) return CudaError::kInvalidValue;
  // What limits the search for an algorithm has no effect: there is one.
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CudaError::kSuccess;
  const Field field = FieldOf(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference.max_workspace);
  return Set(&field, from, size);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t ld) {
  return LtLocal(Call::k_cublasLtMatrixLayoutInit_internal, [&] {
    if (layout == nullptr || size < sizeof(Layout)) return CudaError::kInvalidValue;
    Layout& made = *new (layout->data) Layout();
    made.type = type;
    made.rows = rows;
    made.columns = columns;
    made.ld = ld;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  return LtLocal(Call::k_cublasLtMatrixLayoutCreate, [&] {
    if (layout == nullptr) return CudaError::kInvalidValue;
    *layout = new cublasLtMatrixLayoutOpaque_t();
    cublasLtMatrixLayoutInit_internal(*layout, sizeof(**layout), type, rows, columns, ld);
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return LtLocal(Call::k_cublasLtMatrixLayoutDestroy, [&] {
    delete layout;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* from,
                                                size_t size) {
  return LtLocal(Call::k_cublasLtMatrixLayoutSetAttribute, [&] {
    if (layout == nullptr) return CudaError::kInvalidValue;
    const Field fields[] = WHARF_LAYOUT_FIELDS(In(layout));
    return Set(Find(fields, attribute), from, size);
  });
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* to, size_t size,
                                                size_t* written) {
  return LtLocal(Call::k_cublasLtMatrixLayoutGetAttribute, [&] {
    if (layout == nullptr) return CudaError::kInvalidValue;
    const Field fields[] = WHARF_LAYOUT_FIELDS(In(layout));
    return Get(Find(fields, attribute), to, size, written);
  });
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmul, size_t size, cublasComputeType_t compute,
                                               cudaDataType_t scale_type) {
  return LtLocal(Call::k_cublasLtMatmulDescInit_internal, [&] {
    if (matmul == nullptr || size < sizeof(Matmul)) return CudaError::kInvalidValue;
    Matmul& made = *new (matmul->data) Matmul();
    made.compute = compute;
    made.scale_type = scale_type;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmul, cublasComputeType_t compute,
                                        cudaDataType_t scale_type) {
  return LtLocal(Call::k_cublasLtMatmulDescCreate, [&] {
    if (matmul == nullptr) return CudaError::kInvalidValue;
    *matmul = new cublasLtMatmulDescOpaque_t();
    cublasLtMatmulDescInit_internal(*matmul, sizeof(**matmul), compute, scale_type);
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul) {
  return LtLocal(Call::k_cublasLtMatmulDescDestroy, [&] {
    delete matmul;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, size_t size) {
  return LtLocal(Call::k_cublasLtMatmulDescSetAttribute, [&] {
    return matmul == nullptr ? CudaError::kInvalidValue : SetMatmul(In(matmul), attribute, from, size);
  });
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t attribute,
                                              void* to, size_t size, size_t* written) {
  return LtLocal(Call::k_cublasLtMatmulDescGetAttribute, [&] {
    if (matmul == nullptr) return CudaError::kInvalidValue;
    const Field fields[] = WHARF_MATMUL_FIELDS(In(matmul));
    return Get(Find(fields, attribute), to, size, written);
  });
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size) {
  return LtLocal(Call::k_cublasLtMatmulPreferenceInit_internal, [&] {
    if (preference == nullptr || size < sizeof(Preference)) return CudaError::kInvalidValue;
    new (preference->data) Preference();
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return LtLocal(Call::k_cublasLtMatmulPreferenceCreate, [&] {
    if (preference == nullptr) return CudaError::kInvalidValue;
    *preference = new cublasLtMatmulPreferenceOpaque_t();
    new ((*preference)->data) Preference();
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return LtLocal(Call::k_cublasLtMatmulPreferenceDestroy, [&] {
    delete preference;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                                                    size_t size) {
  return LtLocal(Call::k_cublasLtMatmulPreferenceSetAttribute, [&] {
    return preference == nullptr ? CudaError::kInvalidValue : SetPreference(In(preference), attribute, from, size);
  });
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, void* to,
                                                    size_t size, size_t* written) {
  return LtLocal(Call::k_cublasLtMatmulPreferenceGetAttribute, [&] {
    if (preference == nullptr) return CudaError::kInvalidValue;
    const Field fields[] = {FieldOf(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, In(preference).max_workspace)};
    return Get(Find(fields, attribute), to, size, written);
  });
}

}  // extern "C"
