// The fake driver's texture objects: it keeps what they were made of. Tests ask for it by FakeDriverTexture.
#include <map>
#include <mutex>
#include <utility>

#include "wharf/device/cuda/testing/fake_driver.h"

namespace wharf::device::cuda::fake {
namespace {

struct Textures {
  std::mutex mutex;
  std::map<uint64_t, std::pair<ResourceDescription, SamplerDescription>> all;
  uint64_t last = 0x100000;
};

Textures& TheTextures() {
  static auto* textures = new Textures;
  return *textures;
}

// As the driver's documentation says.
bool IsRight(const ResourceDescription& resource) {
  constexpr uint64_t kAlignment = 512, kPitchAlignment = 32;
  if (resource.type == ResourceType::kLinear) {
    return resource.linear.address % kAlignment == 0 && IsMapped(resource.linear.address, resource.linear.bytes);
  }
  const auto& pitched = resource.pitched;
  return resource.type == ResourceType::kPitched && pitched.address % kAlignment == 0 &&
         pitched.pitch % kPitchAlignment == 0 && IsMapped(pitched.address, pitched.pitch * (pitched.height - 1) + 1);
}

}  // namespace
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

// False if there is no such texture.
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
