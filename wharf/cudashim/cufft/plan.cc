#include "wharf/cudashim/cufft/plan.h"

#include <algorithm>

namespace wharf::cudashim {
namespace {

using device::ElementType;
using device::Fourier;
using device::FourierKind;
using device::FourierSide;
using device::kFourierDims;

// Rows without gaps. Products that no memory holds are not made: sizes are small enough.
FourierSide PackedSide(const std::array<int64_t, kFourierDims>& sizes, int64_t columns) {
  return {0, sizes[1], columns, 1, sizes[0] * sizes[1] * columns};
}

template <typename Integer>
bool IsPlace(const SideRequest<Integer>& side, int rank) {
  return side.stride >= 1 && side.distance >= 0 &&
         std::all_of(side.embed + 1, side.embed + rank, [](Integer size) { return size >= 1; });
}

template <typename Integer>
FourierSide SideOf(const SideRequest<Integer>& side, int rank) {
  FourierSide made;
  if (rank > 1) made.columns = side.embed[rank - 1];
  if (rank > 2) made.rows = side.embed[rank - 2];
  made.stride = side.stride;
  made.distance = side.distance;
  return made;
}

}  // namespace

cufftResult SetType(cufftType type, PlanForm* form) {
  Fourier& f = form->fourier;
  switch (type) {
    case CUFFT_C2C:
    case CUFFT_Z2Z:
      f.kind = FourierKind::kComplex;
      break;
    case CUFFT_R2C:
    case CUFFT_D2Z:
      f.kind = FourierKind::kRealToComplex;
      break;
    case CUFFT_C2R:
    case CUFFT_Z2D:
      f.kind = FourierKind::kComplexToReal;
      break;
    default:
      return CUFFT_INVALID_TYPE;
  }
  const bool wide = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
  f.type = wide ? ElementType::kF64 : ElementType::kF32;
  return CUFFT_SUCCESS;
}

cufftResult SetTypes(cudaDataType in, cudaDataType out, cudaDataType compute, PlanForm* form) {
  for (const cudaDataType type : {in, out, compute}) {
    if (type == CUDA_R_16F || type == CUDA_C_16F || type == CUDA_R_16BF || type == CUDA_C_16BF) {
      return CUFFT_NOT_SUPPORTED;
    }
  }
  struct Row {
    cudaDataType in, out, compute;
    cufftType type;
  };
  constexpr Row kRows[] = {
      {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_C2C}, {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_R2C},
      {CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_C2R}, {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
      {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_D2Z}, {CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_Z2D}};
  for (const Row& row : kRows) {
    if (row.in == in && row.out == out && row.compute == compute) return SetType(row.type, form);
  }
  return CUFFT_INVALID_TYPE;
}

template <typename Integer>
cufftResult SetLayout(const PlanRequest<Integer>& request, PlanForm* form) {
  Fourier& f = form->fourier;
  if (request.rank < 1 || request.rank > kFourierDims || request.sizes == nullptr) return CUFFT_INVALID_VALUE;
  f.sizes = {1, 1, 1};
  for (int i = 0; i < request.rank; ++i) {
    int64_t size = request.sizes[i];
    if (i > 0 && size < 1) {  // as the vendor has it: one, of what is complex
      if (f.kind != FourierKind::kComplex) return CUFFT_INTERNAL_ERROR;
      size = 1;
    }
    if (size < 1 || size > device::kLongestDimension) return CUFFT_INVALID_SIZE;
    f.sizes[kFourierDims - request.rank + i] = size;
  }
  if (request.batch < 1) return CUFFT_INVALID_SIZE;
  f.batch = request.batch;
  // As the vendor has it, either of them says so for both.
  form->is_basic = request.in.embed == nullptr || request.out.embed == nullptr;
  if (form->is_basic) {
    if (static_cast<__int128>(f.sizes[0]) * f.sizes[1] * f.sizes[2] > int64_t{1} << 58) return CUFFT_INVALID_SIZE;
    f.in = PackedSide(f.sizes, f.InSizes()[2]);
    f.out = PackedSide(f.sizes, f.OutSizes()[2]);
    return CUFFT_SUCCESS;
  }
  if (!IsPlace(request.in, request.rank) || !IsPlace(request.out, request.rank)) return CUFFT_INVALID_VALUE;
  f.in = SideOf(request.in, request.rank);
  f.out = SideOf(request.out, request.rank);
  return CUFFT_SUCCESS;
}
template cufftResult SetLayout(const PlanRequest<int>&, PlanForm*);
template cufftResult SetLayout(const PlanRequest<Long>&, PlanForm*);

Fourier TransformOf(const PlanForm& form, const void* in, const void* out, int direction) {
  Fourier f = form.fourier;
  if (form.is_basic && in == out && f.kind != FourierKind::kComplex) {
    FourierSide& real = f.kind == FourierKind::kRealToComplex ? f.in : f.out;
    real = PackedSide(f.sizes, 2 * (f.sizes[2] / 2 + 1));
  }
  f.in.address = reinterpret_cast<device::DeviceAddress>(in);
  f.out.address = reinterpret_cast<device::DeviceAddress>(out);
  f.inverse = f.kind == FourierKind::kComplex && direction == CUFFT_INVERSE;
  return f;
}

}  // namespace wharf::cudashim
