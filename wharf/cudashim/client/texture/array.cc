#include "wharf/cudashim/client/texture/array.h"

#include <map>
#include <mutex>
#include <utility>

namespace wharf::client {
namespace {

constexpr uint32_t kKnownFlags = kArrayLayered | kArraySurface | kArrayCubemap | kArrayGather;

// Handles are addresses of the values, which stay alive as long as a call uses them. Never destroyed: programs free
// arrays while they end.
struct ArrayRegistry {
  std::mutex mutex;
  std::map<ArrayHandle, std::shared_ptr<const Array>> arrays;
};
ArrayRegistry& Arrays() {
  static auto* registry = new ArrayRegistry;
  return *registry;
}

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

CudaError MakeArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags,
                    ArrayHandle* handle) {
  if (handle == nullptr || (flags & ~kKnownFlags) != 0) return CudaError::kInvalidValue;
  if (extent.width > UINT32_MAX || extent.height > UINT32_MAX || extent.depth > UINT32_MAX) {
    return CudaError::kInvalidValue;
  }
  auto array = std::make_shared<Array>();
  array->flags = flags;
  device::ImageDescription& image = array->image;
  image.kind = device::ImageKind::kArray;
  image.format = format;
  image.width = static_cast<uint32_t>(extent.width);
  image.height = static_cast<uint32_t>(extent.height);
  image.depth = static_cast<uint32_t>(extent.depth);
  image.layered = (flags & kArrayLayered) != 0;
  image.cubemap = (flags & kArrayCubemap) != 0;
  image.gather = (flags & kArrayGather) != 0;
  image.row_pitch = image.Rows() > 1 ? RoundUp(array->Row(), device::kTexturePitchAlignment) : array->Row();
  image.slice_pitch = image.row_pitch * image.Rows();
  image.base = device::kTextureAlignment;  // until it is known
  if (!device::CheckImage(image).ok()) return CudaError::kInvalidValue;
  // No overflow: the extents are bounded now.
  const uint64_t bytes = image.slice_pitch * image.Slices();
  if (const CudaError error = Allocate(bytes, &image.base); error != CudaError::kSuccess) return error;
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  *handle = array.get();
  registry.arrays.emplace(array.get(), std::move(array));
  return CudaError::kSuccess;
}

CudaError FreeArray(ArrayHandle handle) {
  const std::shared_ptr<const Array> array = FindArray(handle);
  if (array == nullptr) return CudaError::kInvalidValue;
  {
    ArrayRegistry& registry = Arrays();
    std::lock_guard lock(registry.mutex);
    if (registry.arrays.erase(handle) == 0) return CudaError::kInvalidValue;
  }
  return Free(array->image.base);
}

std::shared_ptr<const Array> FindArray(ArrayHandle handle) {
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.arrays.find(handle);
  if (found == registry.arrays.end()) return nullptr;
  const uint64_t address = found->second->image.base;
  uint64_t base = 0, size = 0;
  const CudaError error = AddressRange(address, &base, &size);
  if (error == CudaError::kSuccess && base == address) return found->second;
  registry.arrays.erase(found);  // its session was reset
  return nullptr;
}

CudaError BoxIn(const Array& array, uint64_t x, uint64_t y, uint64_t z, const device::Extent& extent, Box* box) {
  const auto inside = [](uint64_t at, uint64_t count, uint64_t all) { return at <= all && count <= all - at; };
  if (!inside(x, extent.width, array.Row()) || !inside(y, extent.height, array.Rows()) ||
      !inside(z, extent.depth, array.Slices())) {
    return CudaError::kInvalidValue;
  }
  const device::ImageDescription& image = array.image;
  *box = {image.base + z * image.slice_pitch + y * image.row_pitch + x, image.row_pitch, image.slice_pitch};
  return CudaError::kSuccess;
}

}  // namespace wharf::client
