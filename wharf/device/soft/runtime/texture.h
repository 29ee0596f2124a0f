// Textures and surfaces as running kernels use them: a table of images by handle, and what fetches compute. Rules: CUDA
// programming guide, "Texture Fetching"; PTX ISA, "Texture Instructions" and "Surface Instructions".
//
// Walls. A handle is a number that is looked up here and never an address, so a kernel that makes one up reaches a
// texture of its session or none. The table lies outside all memory that kernels can write. An image's memory was
// mapped and inside the reservation when it was added, and no access leaves the image, whatever the coordinates: memory
// that was unmapped since is inaccessible (a fault, as at any access of a kernel) or the session's again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/kernel_abi.h"
#include "wharf/device/texture.h"

namespace wharf::device::soft {

struct ImageLevel {
  std::byte* base = nullptr;
  uint64_t row_pitch = 0, slice_pitch = 0;
  uint32_t width = 1, rows = 1, slices = 1;  // in texels, at least 1
};

// What a fetch needs of a TextureDescription, ready for use. Without a sampler for a surface.
struct Image {
  bool is_surface = false;
  bool cubemap = false, layered = false;
  bool normalized_coordinates = false, linear_filter = false;
  bool normalized_read = false;  // integers become floats
  bool linear_levels = false;
  uint8_t level_count = 1;
  float level_bias = 0, lowest_level = 0, highest_level = 0;
  ChannelFormat format;
  std::array<AddressMode, 3> address{};
  std::array<ImageLevel, ImageLimits::kLevels> levels;
  uint32_t height = 0, depth = 0;    // of the first level, as they were described
  std::array<uint32_t, 4> border{};  // as a fetch gives it
};

// REQUIRES: CheckTexture (CheckSurface) found it right.
Image MakeImage(const TextureDescription& texture);
Image MakeImage(const ImageDescription& surface);

// Four channels: floats as their bits, integers as 32 bits. What the format has not is 0.
using Texel = std::array<uint32_t, 4>;

// `x`, `y`, `z`: as `fetch` says, floats (their bits) or integers. Of what the geometry has not: ignored. `level`: of
// detail; the texture's bias is added, and its bounds hold.
Texel FetchTexel(const Image& texture, TextureFetch fetch, uint32_t layer, uint32_t x, uint32_t y, uint32_t z,
                 float level = 0);
// The level of detail at which a step of dx, and one of dy, is at most a texel long; coordinates matter to cubes only.
// Vulkan specification, "Scale Factor Operation"; lengths are Euclidean.
using Gradient = std::array<float, 3>;
float LevelByGradients(const Image& texture, TextureFetch fetch, const Gradient& at, const Gradient& dx,
                       const Gradient& dy);
// The component of the four texels that linear filtering would use, in the order of PTX's tld4; of level 0.
Texel GatherTexels(const Image& texture, TextureFetch fetch, uint32_t layer, uint32_t x, uint32_t y, uint32_t z);
// Of a texture or surface.
uint32_t QueryImage(const Image& image, ImageQuery query);

// Where `access` finds its bytes. `x` in bytes.
struct SurfacePlace {
  enum State : uint8_t { kInside, kLeftOut, kOutside, kMisaligned } state;
  std::byte* at = nullptr;  // if inside
};
SurfacePlace FindInSurface(const Image& surface, SurfaceAccess access, uint32_t layer, uint32_t x, uint32_t y,
                           uint32_t z);

// By handle. Handles are counted up from 1 and none is used twice.
class ImageTable {
 public:
  static constexpr uint32_t kMost = uint32_t{1} << 16;

  // kOutOfMemory if there are kMost. From any thread, while kernels run.
  absl::StatusOr<TextureHandle> Add(const Image& image);
  // False if there is no such texture (surface) or it was retired. Kernels find it until Release.
  bool Retire(TextureHandle handle, bool is_surface);
  // REQUIRES: it was retired, and no kernel runs.
  void Release(TextureHandle handle);

  // Null if there is none. From kernels: takes no lock.
  const Image* Find(TextureHandle handle, bool is_surface) const {
    const Entry* chunk = chunks_[handle % kMost / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr || handle == 0) return nullptr;
    const Entry& entry = chunk[handle % kChunk];
    if (entry.handle.load(std::memory_order_acquire) != handle || entry.image.is_surface != is_surface) return nullptr;
    return &entry.image;
  }

 private:
  static constexpr uint32_t kChunk = 64;
  struct Entry {
    std::atomic<TextureHandle> handle{0};  // 0: free. Written last, read first
    Image image;
    bool retired = false;  // under mutex_
  };
  Entry* FindEntry(TextureHandle handle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  TextureHandle last_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<std::unique_ptr<Entry[]>, kMost / kChunk> owned_ ABSL_GUARDED_BY(mutex_);
  std::array<std::atomic<Entry*>, kMost / kChunk> chunks_{};
};

}  // namespace wharf::device::soft
