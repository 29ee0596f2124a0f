// cuMemset in all its forms: elements of 1, 2 or 4 bytes, in a line or in rows.
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

CudaError FillLine(CUstream stream, CUdeviceptr to, uint32_t value, uint32_t element, size_t count) {
  if (count > SIZE_MAX / element) return CudaError::kInvalidValue;
  return client::Fill(Stream(stream), {to, 0, 0}, {count * element, 1, 1}, value, element);
}

CudaError FillRows(CUstream stream, CUdeviceptr to, size_t pitch, uint32_t value, uint32_t element, size_t width,
                   size_t height) {
  if (width > SIZE_MAX / element || (height > 1 && pitch % element != 0)) return CudaError::kInvalidValue;
  return client::Fill(Stream(stream), {to, pitch, 0}, {width * element, height, 1}, value, element);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_FILLS(bits, Type)                                                                                  \
  CUresult cuMemsetD##bits(CUdeviceptr to, Type value, size_t count) {                                           \
    return Driver(Call::k_cuMemsetD##bits##_v2, [&] { return FillLine(nullptr, to, value, bits / 8, count); });  \
  }                                                                                                              \
  CUresult cuMemsetD##bits##Async(CUdeviceptr to, Type value, size_t count, CUstream stream) {                   \
    return Driver(Call::k_cuMemsetD##bits##Async, [&] { return FillLine(stream, to, value, bits / 8, count); }); \
  }                                                                                                              \
  CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, Type value, size_t width, size_t height,       \
                                    CUstream stream) {                                                           \
    return Driver(Call::k_cuMemsetD2D##bits##Async,                                                              \
                  [&] { return FillRows(stream, to, pitch, value, bits / 8, width, height); });                  \
  }
WHARF_FILLS(8, unsigned char)
WHARF_FILLS(16, unsigned short)
WHARF_FILLS(32, unsigned)
#undef WHARF_FILLS

CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return Driver(Call::k_cuMemsetD2D8_v2, [&] { return FillRows(nullptr, to, pitch, value, 1, width, height); });
}

CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return Driver(Call::k_cuMemsetD2D16_v2, [&] { return FillRows(nullptr, to, pitch, value, 2, width, height); });
}

CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return Driver(Call::k_cuMemsetD2D32_v2, [&] { return FillRows(nullptr, to, pitch, value, 4, width, height); });
}

}  // extern "C"
