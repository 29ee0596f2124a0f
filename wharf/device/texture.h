// Device memory as images: what CUDA's cudaResourceDesc and cudaTextureDesc say once their arrays are resolved to
// memory. An array is a range of the arena like any other, so copies to and from it are copies of boxes, and a texture
// or a surface over it is an address with extents.
#pragma once

#include <array>
#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/device.h"

namespace wharf::device {

// What GPUs want of pitched images: the base on a multiple of the first, row pitches of the second. The software device
// wants neither. Who lays arrays out so can have textures over two-dimensional ones on both.
inline constexpr uint64_t kTextureAlignment = 512, kTexturePitchAlignment = 32;

// Largest extents: those of compute capability 7.5 (CUDA programming guide, technical specifications). In texels; pitch
// in bytes; faces are six a cube.
struct ImageLimits {
  static constexpr uint64_t kLinear = uint64_t{1} << 28;
  static constexpr uint64_t kPitchedWidth = 131072, kPitchedHeight = 65000, kPitch = 2097120;
  static constexpr uint64_t kWidth = 131072, kHeight = 65536, kVolume = 16384;
  static constexpr uint64_t kLayered = 32768, kLayers = 2048, kFaces = 2046, kGather = 32768;
  static constexpr uint64_t kMipmapped = 32768;  // of one dimension and of two; others as without levels
  static constexpr uint32_t kLevels = 16;        // of kMipmapped texels
};

// The numeric values are sent on the wire.
enum class ChannelKind : uint8_t { kSigned = 0, kUnsigned = 1, kFloat = 2 };
enum class AddressMode : uint8_t { kWrap = 0, kClamp = 1, kMirror = 2, kBorder = 3 };  // cudaTextureAddressMode
enum class FilterMode : uint8_t { kPoint = 0, kLinear = 1 };                           // cudaTextureFilterMode
enum class ReadMode : uint8_t { kElement = 0, kNormalizedFloat = 1 };                  // cudaTextureReadMode

// `channels` equal channels of `bits` bits: 1, 2 or 4 of 8, 16 or 32; floats have 16 or 32.
struct ChannelFormat {
  ChannelKind kind = ChannelKind::kFloat;
  uint8_t bits = 32;
  uint8_t channels = 1;
  uint32_t TexelBytes() const { return uint32_t{bits} / 8 * channels; }
  friend bool operator==(const ChannelFormat&, const ChannelFormat&) = default;
};

// How a kernel may address it (cudaResourceType).
enum class ImageKind : uint8_t {
  kLinear = 0,   // `width` texels one after another: fetched by integer index only
  kPitched = 1,  // two-dimensional, in memory of the program's
  kArray = 2,    // a CUDA array: 1D, 2D or 3D, layered, a cube
};

struct ImageDescription {
  ImageKind kind = ImageKind::kLinear;
  ChannelFormat format;
  DeviceAddress base = 0;  // on a multiple of a texel's size
  // In texels. As CUDA counts arrays: zero where there is no such dimension; `depth` is the slices of a volume, the
  // layers, or the faces (six a cube). kLinear has `width` only, kPitched no `depth`.
  uint32_t width = 0, height = 0, depth = 0;
  // Bytes from a row (slice, layer, face) to the next, at least what one has. Unused ones mean nothing.
  uint64_t row_pitch = 0, slice_pitch = 0;
  bool layered = false, cubemap = false;  // kArray only
  bool gather = false;                    // kArray only: made for tld4 (cudaArrayTextureGather)

  uint32_t Rows() const { return height == 0 ? 1 : height; }
  uint32_t Slices() const { return depth == 0 ? 1 : depth; }
  friend bool operator==(const ImageDescription&, const ImageDescription&) = default;
};

// Of the levels of detail of a mipmapped array: each half as large as the one before, where it has extents.
struct Mipmap {
  uint32_t levels = 1;                      // the first is the texture's image, the others are LevelOf() it
  FilterMode filter = FilterMode::kPoint;   // between levels
  float bias = 0, lowest = 0, highest = 0;  // added to the level that a fetch asks for; what it is clamped to
  friend bool operator==(const Mipmap&, const Mipmap&) = default;
};

// Not described, so for the caller to refuse: sRGB, block-compressed formats, seamless cubes (cubes are filtered within
// a face). Anisotropy is to be ignored.
struct TextureDescription {
  ImageDescription image;
  Mipmap mipmap;
  std::array<AddressMode, 3> address{AddressMode::kClamp, AddressMode::kClamp, AddressMode::kClamp};
  FilterMode filter = FilterMode::kPoint;
  ReadMode read = ReadMode::kElement;  // kNormalizedFloat: of integers of 8 and 16 bits; others do not mind
  bool normalized_coordinates = false;
  std::array<float, 4> border{};
  friend bool operator==(const TextureDescription&, const TextureDescription&) = default;
};

// From the first byte of the image to behind its last. REQUIRES: CheckImage found it right.
uint64_t BytesOf(const ImageDescription& image);

// Level `level` below the image: of half its extents, rounded down but at least 1, for each; layers and faces stay. The
// levels lie one behind the other, each on a multiple of kTextureAlignment, with rows on kTexturePitchAlignment where
// there are several and slices without gaps. REQUIRES: CheckImage found the image right, level < MostLevels(image).
ImageDescription LevelOf(const ImageDescription& image, uint32_t level);
// Down to one texel. At most ImageLimits::kLevels if the image has at most kMipmapped texels each way.
uint32_t MostLevels(const ImageDescription& image);
// From the first byte of the image to behind the last of its last level. REQUIRES: as LevelOf.
uint64_t BytesOf(const ImageDescription& image, uint32_t levels);
// Gives an image of an array, which has extents, format and flags, the pitches that arrays and levels have.
void LayOutArray(ImageDescription* image);

// What can be said without a device; nothing overflows, whatever is described. kInvalidValue with the reason.
absl::Status CheckImage(const ImageDescription& image);
// Beside the image: linear filtering, of texels or levels, is for what is read as floats; kLinear images are fetched
// unfiltered by integers; only arrays that are no gather have levels, and then coordinates are normalized.
absl::Status CheckTexture(const TextureDescription& texture);
// Beside the image: only arrays have surfaces.
absl::Status CheckSurface(const ImageDescription& image);

}  // namespace wharf::device
