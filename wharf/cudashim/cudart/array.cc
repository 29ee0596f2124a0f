// Making, freeing and describing CUDA arrays.
#include "wharf/cudashim/cudart/array.h"

#include <map>
#include <mutex>

namespace wharf::cudashim {
namespace {

// Largest extents, in elements: those of compute capability 7.5 (CUDA programming guide, technical specifications).
constexpr size_t kMaxWidth = 131072, kMaxHeight = 65536, kMaxVolume = 16384;
constexpr size_t kMaxLayeredWidth = 32768, kMaxLayers = 2048, kMaxFaces = 2046;
constexpr unsigned kKnownFlags =
    cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;

// Handles are addresses of the values, which stay alive as long as a call uses them. Never destroyed: programs free
// arrays while they end.
struct Registry {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<const Array>> arrays;
};
Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

// One, two or four channels of 8, 16 or 32 bits, all alike. 0 if it is no format of an array.
uint32_t ElementBytes(const cudaChannelFormatDesc& format) {
  const int bits = format.x;
  const bool integer = format.f == cudaChannelFormatKindSigned || format.f == cudaChannelFormatKindUnsigned;
  if (!integer && format.f != cudaChannelFormatKindFloat) return 0;
  if (bits != 16 && bits != 32 && !(bits == 8 && integer)) return 0;
  const bool one = format.y == 0 && format.z == 0 && format.w == 0;
  const bool two = format.y == bits && format.z == 0 && format.w == 0;
  const bool four = format.y == bits && format.z == bits && format.w == bits;
  return one || two || four ? static_cast<uint32_t>(bits) / 8 * (one ? 1 : two ? 2 : 4) : 0;
}

bool IsShape(const cudaExtent& e, unsigned flags) {
  const bool layered = (flags & cudaArrayLayered) != 0, cubemap = (flags & cudaArrayCubemap) != 0;
  if ((flags & ~kKnownFlags) != 0 || e.width == 0) return false;
  if ((flags & cudaArrayTextureGather) != 0 && (e.height == 0 || e.depth != 0)) return false;
  if (cubemap) {
    const bool faces = layered ? e.depth != 0 && e.depth % 6 == 0 && e.depth <= kMaxFaces : e.depth == 6;
    return e.width == e.height && e.width <= kMaxLayeredWidth && faces;
  }
  if (layered) {
    return e.depth != 0 && e.depth <= kMaxLayers && e.width <= kMaxLayeredWidth && e.height <= kMaxLayeredWidth;
  }
  if (e.depth != 0) {
    return e.height != 0 && e.width <= kMaxVolume && e.height <= kMaxVolume && e.depth <= kMaxVolume;
  }
  return e.width <= kMaxWidth && e.height <= kMaxHeight;
}

CudaError MakeArray(cudaArray_t* handle, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                    unsigned flags) {
  if (handle == nullptr || format == nullptr || !IsShape(extent, flags)) return CudaError::kInvalidValue;
  auto array = std::make_shared<Array>();
  array->format = *format;
  array->extent = extent;
  array->flags = flags;
  array->element_bytes = ElementBytes(*format);
  if (array->element_bytes == 0) return CudaError::kInvalidValue;
  // No overflow: the extents are bounded above.
  const uint64_t bytes = array->Row() * array->Rows() * array->Slices();
  if (const CudaError error = client::Allocate(bytes, &array->address); error != CudaError::kSuccess) return error;
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  *handle = reinterpret_cast<cudaArray_t>(array.get());
  registry.arrays.emplace(array.get(), std::move(array));
  return CudaError::kSuccess;
}

CudaError FreeArray(cudaArray_t handle) {
  if (handle == nullptr) return CudaError::kSuccess;
  const std::shared_ptr<const Array> array = FindArray(handle);
  if (array == nullptr) return CudaError::kInvalidValue;
  {
    Registry& registry = TheRegistry();
    std::lock_guard lock(registry.mutex);
    if (registry.arrays.erase(handle) == 0) return CudaError::kInvalidValue;
  }
  return client::Free(array->address);
}

}  // namespace

std::shared_ptr<const Array> FindArray(cudaArray_const_t handle) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.arrays.find(handle);
  if (found == registry.arrays.end()) return nullptr;
  uint64_t base = 0, size = 0;
  const CudaError error = client::AddressRange(found->second->address, &base, &size);
  if (error == CudaError::kSuccess && base == found->second->address) return found->second;
  registry.arrays.erase(found);  // its session was reset
  return nullptr;
}

CudaError BoxIn(const Array& array, uint64_t x, uint64_t y, uint64_t z, const device::Extent& extent,
                client::Box* box) {
  const auto inside = [](uint64_t at, uint64_t count, uint64_t all) { return at <= all && count <= all - at; };
  if (!inside(x, extent.width, array.Row()) || !inside(y, extent.height, array.Rows()) ||
      !inside(z, extent.depth, array.Slices())) {
    return CudaError::kInvalidValue;
  }
  const uint64_t slice = array.Row() * array.Rows();
  *box = {array.address + z * slice + y * array.Row() + x, array.Row(), slice};
  return CudaError::kSuccess;
}

CudaError CheckArrayDirection(cudaMemcpyKind kind, bool to_array, bool from_array) {
  const bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
  const bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
  const bool right = (!to_array || to) && (!from_array || from);
  return right ? CudaError::kSuccess : CudaError::kInvalidMemcpyDirection;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
  return Runtime(Call::k_cudaMallocArray, [&] {
    // Layers and cubes have a depth, which only cudaMalloc3DArray takes.
    if ((flags & (cudaArrayLayered | cudaArrayCubemap)) != 0) return CudaError::kInvalidValue;
    return MakeArray(array, format, {width, height, 0}, flags);
  });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  return Runtime(Call::k_cudaMalloc3DArray, [&] { return MakeArray(array, format, extent, flags); });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return Runtime(Call::k_cudaFreeArray, [&] { return FreeArray(array); });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t handle) {
  return Runtime(Call::k_cudaArrayGetInfo, [&] {
    const std::shared_ptr<const Array> array = FindArray(handle);
    if (array == nullptr) return CudaError::kInvalidValue;
    if (format != nullptr) *format = array->format;
    if (extent != nullptr) *extent = array->extent;
    if (flags != nullptr) *flags = array->flags;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  return Runtime(Call::k_cudaGetChannelDesc, [&] {
    const std::shared_ptr<const Array> array = FindArray(handle);
    if (format == nullptr || array == nullptr) return CudaError::kInvalidValue;
    *format = array->format;
    return CudaError::kSuccess;
  });
}

}  // extern "C"
