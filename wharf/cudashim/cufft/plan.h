// What a plan of cuFFT describes, from what the program says of it. Plans live in the client; the library on the server
// makes its own.
#pragma once

#include <cufft.h>
#include <cufftXt.h>

#include "wharf/device/fourier.h"

namespace wharf::cudashim {

using Long = long long;  // NOLINT: the vendor's

// One side as the program has it: embed null if it says nothing of where elements are.
template <typename Integer>
struct SideRequest {
  const Integer* embed = nullptr;
  Integer stride = 1, distance = 1;
};
template <typename Integer>
struct PlanRequest {
  int rank = 0;
  const Integer* sizes = nullptr;
  SideRequest<Integer> in, out;
  Integer batch = 1;
};

struct PlanForm {
  device::Fourier fourier;  // without addresses; as it lies out of place
  // Nothing was said of where elements are: the real side's rows are padded where a transform is in place.
  bool is_basic = true;
};

// CUFFT_INVALID_TYPE if there is no such type.
cufftResult SetType(cufftType type, PlanForm* form);
// Of cufftXt's types; CUFFT_NOT_SUPPORTED for half precision.
cufftResult SetTypes(cudaDataType in, cudaDataType out, cudaDataType compute, PlanForm* form);

// Sizes and places, of a form whose type is set: CUFFT_INVALID_SIZE for sizes, CUFFT_INVALID_VALUE for all else that
// can be seen here.
template <typename Integer>
cufftResult SetLayout(const PlanRequest<Integer>& request, PlanForm* form);
extern template cufftResult SetLayout(const PlanRequest<int>&, PlanForm*);
extern template cufftResult SetLayout(const PlanRequest<Long>&, PlanForm*);

// The transform of what is at `in` to `out`. `direction` is CUFFT_FORWARD or CUFFT_INVERSE, and counts where both sides
// are complex.
device::Fourier TransformOf(const PlanForm& form, const void* in, const void* out, int direction);

}  // namespace wharf::cudashim
