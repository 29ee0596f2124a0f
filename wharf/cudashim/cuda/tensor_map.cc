// Tensor maps.
#include "wharf/cudashim/client/texture/tensor_map.h"

#include <algorithm>
#include <cstring>

#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

using device::TensorMapDescription;

CudaError Encode(const TensorMapDescription& description, CUtensorMap* into) {
  device::TensorMap map{};
  const CudaError error = client::EncodeTensorMap(description, &map);
  if (error == CudaError::kSuccess) std::memcpy(into, map.data(), map.size());
  return error;
}

// What both kinds have. False if an argument is missing or the rank is none.
template <typename Extent>
bool Describe(CUtensorMapDataType type, cuuint32_t rank, void* address, const Extent* extents, const Extent* strides,
              const cuuint32_t* element_strides, TensorMapDescription* description) {
  if (rank == 0 || rank > device::kMostTensorMapDims || extents == nullptr || element_strides == nullptr) return false;
  if (rank > 1 && strides == nullptr) return false;
  description->data_type = static_cast<uint8_t>(type);
  description->rank = static_cast<uint8_t>(rank);
  description->address = reinterpret_cast<uint64_t>(address);
  std::copy_n(extents, rank, description->extents.begin());
  std::copy_n(strides, rank - 1, description->strides.begin());
  std::copy_n(element_strides, rank, description->element_strides.begin());
  return true;
}

void DescribeModes(CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                   CUtensorMapFloatOOBfill fill, TensorMapDescription* description) {
  description->interleave = static_cast<uint8_t>(interleave);
  description->swizzle = static_cast<uint8_t>(swizzle);
  description->l2_promotion = static_cast<uint8_t>(promotion);
  description->fill = static_cast<uint8_t>(fill);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  return Driver(Call::k_cuTensorMapEncodeTiled, [&] {
    device::TensorMapDescription description;
    if (map == nullptr || box == nullptr) return CudaError::kInvalidValue;
    if (!Describe(type, rank, address, extents, strides, element_strides, &description)) {
      return CudaError::kInvalidValue;
    }
    std::copy_n(box, rank, description.box.begin());
    DescribeModes(interleave, swizzle, promotion, fill, &description);
    return Encode(description, map);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* extents, const cuuint64_t* strides, const int* lower_corner,
                                 const int* upper_corner, cuuint32_t channels_per_pixel, cuuint32_t pixels_per_column,
                                 const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill) {
  return Driver(Call::k_cuTensorMapEncodeIm2col, [&] {
    constexpr cuuint32_t kNotPixels = 2;  // dimensions: the channels and the batch
    device::TensorMapDescription description{.kind = device::TensorMapKind::kIm2col};
    if (map == nullptr || lower_corner == nullptr || upper_corner == nullptr || rank <= kNotPixels) {
      return CudaError::kInvalidValue;
    }
    if (!Describe(type, rank, address, extents, strides, element_strides, &description)) {
      return CudaError::kInvalidValue;
    }
    std::copy_n(lower_corner, rank - kNotPixels, description.lower_corner.begin());
    std::copy_n(upper_corner, rank - kNotPixels, description.upper_corner.begin());
    description.channels_per_pixel = channels_per_pixel;
    description.pixels_per_column = pixels_per_column;
    DescribeModes(interleave, swizzle, promotion, fill, &description);
    return Encode(description, map);
  });
}
}
