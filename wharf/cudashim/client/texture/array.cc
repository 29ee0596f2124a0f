#include "wharf/cudashim/client/texture/array.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "wharf/cudashim/client/texture/texture.h"

namespace wharf::client {
namespace {

constexpr uint32_t kKnownFlags = kArrayLayered | kArraySurface | kArrayCubemap | kArrayGather;

// Handles are addresses of the values, which stay alive as long as a call uses them. Never destroyed: programs free
// arrays while they end.
struct ArrayRegistry {
  std::mutex mutex;
  std::map<ArrayHandle, std::shared_ptr<const Array>> arrays;
  std::map<MipmappedHandle, std::shared_ptr<const MipmappedArray>> mipmapped;
};
ArrayRegistry& Arrays() {
  static auto* registry = new ArrayRegistry;
  return *registry;
}

// With no memory yet; kInvalidValue as MakeArray.
CudaError DescribeArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags, Array* array) {
  if ((flags & ~kKnownFlags) != 0) return CudaError::kInvalidValue;
  if (extent.width > UINT32_MAX || extent.height > UINT32_MAX || extent.depth > UINT32_MAX) {
    return CudaError::kInvalidValue;
  }
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
  device::LayOutArray(&image);
  image.base = device::kTextureAlignment;  // until it is known
  return device::CheckImage(image).ok() ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// Whether its memory is still the session's, which may have been reset.
bool IsAllocated(uint64_t memory) {
  uint64_t base = 0, size = 0;
  return AddressRange(memory, &base, &size) == CudaError::kSuccess && base == memory;
}

}  // namespace

CudaError MakeArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags,
                    ArrayHandle* handle) {
  if (handle == nullptr) return CudaError::kInvalidValue;
  auto array = std::make_shared<Array>();
  CudaError error = DescribeArray(format, extent, flags, array.get());
  device::ImageDescription& image = array->image;
  // No overflow: the extents are bounded now.
  if (error == CudaError::kSuccess) error = Allocate(image.slice_pitch * image.Slices(), &image.base);
  if (error != CudaError::kSuccess) return error;
  array->memory = image.base;
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  *handle = array.get();
  registry.arrays.emplace(array.get(), std::move(array));
  return CudaError::kSuccess;
}

CudaError FreeArray(ArrayHandle handle) {
  const std::shared_ptr<const Array> array = FindArray(handle);
  if (array == nullptr || array->is_level) return CudaError::kInvalidValue;
  {
    ArrayRegistry& registry = Arrays();
    std::lock_guard lock(registry.mutex);
    if (registry.arrays.erase(handle) == 0) return CudaError::kInvalidValue;
  }
  DestroySurfacesOver(handle);
  return Free(array->memory);
}

std::shared_ptr<const Array> FindArray(ArrayHandle handle) {
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.arrays.find(handle);
  if (found == registry.arrays.end()) return nullptr;
  if (IsAllocated(found->second->memory)) return found->second;
  registry.arrays.erase(found);
  return nullptr;
}

CudaError MakeMipmappedArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags,
                             uint32_t levels, MipmappedHandle* handle) {
  if (handle == nullptr) return CudaError::kInvalidValue;
  Array first;
  CudaError error = DescribeArray(format, extent, flags, &first);
  if (error != CudaError::kSuccess) return error;
  if (first.image.gather || std::max(first.image.width, first.image.height) > device::ImageLimits::kMipmapped) {
    return CudaError::kInvalidValue;
  }
  levels = std::clamp(levels, 1U, device::MostLevels(first.image));
  error = Allocate(device::BytesOf(first.image, levels), &first.image.base);
  if (error != CudaError::kSuccess) return error;
  auto mipmapped = std::make_shared<MipmappedArray>();
  mipmapped->memory = first.image.base;
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  for (uint32_t level = 0; level < levels; ++level) {
    auto array = std::make_shared<const Array>(Array{
        .image = device::LevelOf(first.image, level), .flags = flags, .memory = first.image.base, .is_level = true});
    mipmapped->levels.push_back(array.get());
    registry.arrays.emplace(array.get(), array);
  }
  *handle = mipmapped.get();
  registry.mipmapped.emplace(mipmapped.get(), std::move(mipmapped));
  return CudaError::kSuccess;
}

CudaError FreeMipmappedArray(MipmappedHandle handle) {
  const std::shared_ptr<const MipmappedArray> mipmapped = FindMipmappedArray(handle);
  if (mipmapped == nullptr) return CudaError::kInvalidValue;
  {
    ArrayRegistry& registry = Arrays();
    std::lock_guard lock(registry.mutex);
    if (registry.mipmapped.erase(handle) == 0) return CudaError::kInvalidValue;
    for (const ArrayHandle level : mipmapped->levels) registry.arrays.erase(level);
  }
  for (const ArrayHandle level : mipmapped->levels) DestroySurfacesOver(level);
  return Free(mipmapped->memory);
}

std::shared_ptr<const MipmappedArray> FindMipmappedArray(MipmappedHandle handle) {
  ArrayRegistry& registry = Arrays();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.mipmapped.find(handle);
  if (found == registry.mipmapped.end()) return nullptr;
  const std::shared_ptr<const MipmappedArray> mipmapped = found->second;
  if (IsAllocated(mipmapped->memory)) return mipmapped;
  for (const ArrayHandle level : mipmapped->levels) registry.arrays.erase(level);
  registry.mipmapped.erase(found);
  return nullptr;
}

std::shared_ptr<const Array> FindFirstLevel(ArrayHandle array, MipmappedHandle mipmapped) {
  if (mipmapped == nullptr) return FindArray(array);
  const std::shared_ptr<const MipmappedArray> found = FindMipmappedArray(mipmapped);
  return found == nullptr ? nullptr : FindArray(found->levels[0]);
}

CudaError GetLevel(MipmappedHandle handle, uint32_t level, ArrayHandle* array) {
  const std::shared_ptr<const MipmappedArray> mipmapped = FindMipmappedArray(handle);
  if (array == nullptr || mipmapped == nullptr || level >= mipmapped->levels.size()) return CudaError::kInvalidValue;
  *array = mipmapped->levels[level];
  return CudaError::kSuccess;
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
