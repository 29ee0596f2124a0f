// The fake driver's arrays, and texture and surface objects, of which it keeps what they were made of. Tests ask for it
// by FakeDriverTexture.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "wharf/device/cuda/testing/fake_driver.h"

namespace wharf::device::cuda::fake {
namespace {

struct Textures {
  std::mutex mutex;
  std::map<uint64_t, std::pair<ResourceDescription, SamplerDescription>> all;
  uint64_t last = 0x100000;
};

struct Array {
  size_t pitch = 0, rows = 0;
  std::vector<std::byte> bytes;
};
struct MipmappedArray {
  std::vector<Array> levels;
};

Array ArrayOf(const ArrayDescription& d, unsigned level) {
  const auto at = [level](size_t extent) { return std::max<size_t>(1, extent >> level); };
  constexpr unsigned kOfSlices = 1 | 4;  // layers and faces are those of each level
  size_t channel = 4;
  if (d.format == ArrayFormat::kUnsigned8 || d.format == ArrayFormat::kSigned8) channel = 1;
  if (d.format == ArrayFormat::kUnsigned16 || d.format == ArrayFormat::kSigned16 || d.format == ArrayFormat::kHalf) {
    channel = 2;
  }
  Array array{.pitch = at(d.width) * channel * d.channels, .rows = at(d.height)};
  const size_t slices = (d.flags & kOfSlices) != 0 ? std::max<size_t>(1, d.depth) : at(d.depth);
  array.bytes.resize(array.pitch * array.rows * slices);
  return array;
}

Textures& TheTextures() {
  static auto* textures = new Textures;
  return *textures;
}

// As the driver's documentation says.
bool IsRight(const ResourceDescription& resource) {
  constexpr uint64_t kAlignment = 512, kPitchAlignment = 32;
  if (resource.type == ResourceType::kArray) return resource.array != nullptr;
  if (resource.type == ResourceType::kMipmapped) return resource.mipmapped != nullptr;
  if (resource.type == ResourceType::kLinear) {
    return resource.linear.address % kAlignment == 0 && IsMapped(resource.linear.address, resource.linear.bytes);
  }
  const auto& pitched = resource.pitched;
  return resource.type == ResourceType::kPitched && pitched.address % kAlignment == 0 &&
         pitched.pitch % kPitchAlignment == 0 && IsMapped(pitched.address, pitched.pitch * (pitched.height - 1) + 1);
}

}  // namespace

std::byte* ArrayBytes(void* handle, size_t z, size_t* pitch, size_t* rows) {
  auto* array = static_cast<Array*>(handle);
  *pitch = array->pitch;
  *rows = array->rows;
  return array->bytes.data() + z * array->pitch * array->rows;
}

}  // namespace wharf::device::cuda::fake

using namespace wharf::device::cuda;        // NOLINT
using namespace wharf::device::cuda::fake;  // NOLINT

FAKE cuTexObjectCreate(uint64_t* handle, const ResourceDescription* resource, const SamplerDescription* sampler,
                       const void* view) {
  if (const Result sticky = Sticky(); sticky != 0) return sticky;
  if (handle == nullptr || resource == nullptr || sampler == nullptr || view != nullptr || !IsRight(*resource))
    return 1;
  Textures& textures = TheTextures();
  std::lock_guard lock(textures.mutex);
  textures.all[++textures.last] = {*resource, *sampler};
  *handle = textures.last;
  return 0;
}

FAKE cuTexObjectDestroy(uint64_t handle) {
  Textures& textures = TheTextures();
  std::lock_guard lock(textures.mutex);
  return textures.all.erase(handle) == 1 ? 0 : 1;
}

// A map that says which kind it is of, and its address.
FAKE cuTensorMapEncodeTiled(void* map, int, uint32_t, void* address, const uint64_t*, const uint64_t*, const uint32_t*,
                            const uint32_t*, int, int, int, int) {
  auto* words = static_cast<uint64_t*>(map);
  words[0] = 1;
  words[1] = reinterpret_cast<uint64_t>(address);
  return reinterpret_cast<uintptr_t>(map) % 64 == 0 ? 0 : 1;
}
FAKE cuTensorMapEncodeIm2col(void* map, int, uint32_t, void* address, const uint64_t*, const uint64_t*, const int*,
                             const int*, uint32_t, uint32_t, const uint32_t*, int, int, int, int) {
  auto* words = static_cast<uint64_t*>(map);
  words[0] = 2;
  words[1] = reinterpret_cast<uint64_t>(address);
  return reinterpret_cast<uintptr_t>(map) % 64 == 0 ? 0 : 1;
}

FAKE cuSurfObjectCreate(uint64_t* handle, const ResourceDescription* resource) {
  if (resource->type != ResourceType::kArray) return 1;
  const SamplerDescription none;
  return cuTexObjectCreate(handle, resource, &none, nullptr);
}
FAKE cuSurfObjectDestroy(uint64_t handle) { return cuTexObjectDestroy(handle); }

FAKE cuArray3DCreate_v2(ArrayHandle* handle, const ArrayDescription* description) {
  *handle = reinterpret_cast<ArrayHandle>(new Array(ArrayOf(*description, 0)));
  return 0;
}
FAKE cuArrayDestroy(ArrayHandle handle) {
  delete reinterpret_cast<Array*>(handle);
  return 0;
}
FAKE cuMipmappedArrayCreate(MipmappedArrayHandle* handle, const ArrayDescription* description, unsigned levels) {
  auto* mipmapped = new MipmappedArray;
  for (unsigned level = 0; level < levels; ++level) mipmapped->levels.push_back(ArrayOf(*description, level));
  *handle = reinterpret_cast<MipmappedArrayHandle>(mipmapped);
  return 0;
}
FAKE cuMipmappedArrayGetLevel(ArrayHandle* handle, MipmappedArrayHandle of, unsigned level) {
  *handle = reinterpret_cast<ArrayHandle>(&reinterpret_cast<MipmappedArray*>(of)->levels.at(level));
  return 0;
}
FAKE cuMipmappedArrayDestroy(MipmappedArrayHandle handle) {
  delete reinterpret_cast<MipmappedArray*>(handle);
  return 0;
}

// What an array holds, for tests that write there as a kernel would.
extern "C" __attribute__((visibility("default"))) std::byte* FakeDriverArray(ArrayHandle handle, size_t* bytes) {
  auto* array = reinterpret_cast<Array*>(handle);
  *bytes = array->bytes.size();
  return array->bytes.data();
}

// False if there is no such texture or surface.
extern "C" __attribute__((visibility("default"))) bool FakeDriverTexture(uint64_t handle, ResourceDescription* resource,
                                                                         SamplerDescription* sampler) {
  Textures& textures = TheTextures();
  std::lock_guard lock(textures.mutex);
  const auto found = textures.all.find(handle);
  if (found == textures.all.end()) return false;
  *resource = found->second.first;
  *sampler = found->second.second;
  return true;
}
