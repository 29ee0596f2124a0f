// How images are made ready, what fetches compute, and the table of images.
#include "wharf/device/soft/runtime/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace wharf::device::soft {
namespace {

ImageLevel MakeLevel(const ImageDescription& described) {
  return {.base = reinterpret_cast<std::byte*>(described.base),
          .row_pitch = described.Rows() > 1 ? described.row_pitch : 0,
          .slice_pitch = described.Slices() > 1 ? described.slice_pitch : 0,
          .width = described.width,
          .rows = described.Rows(),
          .slices = described.Slices()};
}

Image MakePlain(const ImageDescription& described) {
  Image image;
  image.cubemap = described.cubemap;
  image.layered = described.layered;
  image.format = described.format;
  image.levels[0] = MakeLevel(described);
  image.height = described.height;
  image.depth = described.depth;
  return image;
}

// Threads of kernels may race on memory; that is the program's affair, not a race of this process.
#define WHARF_KERNEL_ACCESS __attribute__((no_sanitize("thread")))

template <typename T>
WHARF_KERNEL_ACCESS T LoadChannel(const std::byte* at) {
  return *reinterpret_cast<const T*>(at);
}

float HalfToSingle(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16, rest = uint32_t{half & 0x7fffU} << 13;
  if ((half & 0x7c00) == 0x7c00) return std::bit_cast<float>(sign | 0x7f800000U | rest);
  // The exponent is 112 less than a float's; the product is exact, of subnormals too.
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112F));
}

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

// As it is read, from -1 or 0 to 1 or as an integer.
template <typename T>
uint32_t Integer(T value, bool normalized) {
  if (!normalized) return static_cast<uint32_t>(static_cast<int32_t>(value));
  const float unit = static_cast<float>(value) / static_cast<float>(std::numeric_limits<T>::max());
  return Bits(std::max(unit, -1.0F));
}

uint32_t ReadChannel(const Image& image, const std::byte* at) {
  const ChannelFormat& format = image.format;
  if (format.bits == 32) return LoadChannel<uint32_t>(at);
  if (format.kind == ChannelKind::kFloat) return Bits(HalfToSingle(LoadChannel<uint16_t>(at)));
  const bool is_signed = format.kind == ChannelKind::kSigned, normalized = image.normalized_read;
  if (format.bits == 16) {
    return is_signed ? Integer(LoadChannel<int16_t>(at), normalized) : Integer(LoadChannel<uint16_t>(at), normalized);
  }
  return is_signed ? Integer(LoadChannel<int8_t>(at), normalized) : Integer(LoadChannel<uint8_t>(at), normalized);
}

// The nearest texel that there is, if there is none.
Texel ReadTexel(const Image& image, const ImageLevel& level, uint32_t x, uint32_t y, uint32_t z) {
  const uint64_t offset = std::min(z, level.slices - 1) * level.slice_pitch +
                          std::min(y, level.rows - 1) * level.row_pitch +
                          uint64_t{std::min(x, level.width - 1)} * image.format.TexelBytes();
  const uint32_t channel_bytes = image.format.bits / 8;
  Texel texel{};
  for (uint32_t c = 0; c < image.format.channels; ++c) {
    texel[c] = ReadChannel(image, level.base + offset + uint64_t{c} * channel_bytes);
  }
  return texel;
}

// --- one dimension ---

constexpr uint32_t kNoTexel = ~uint32_t{0};
constexpr double kFar = 0x1p40;  // no image reaches there; floats from here on are even integers

// The two texels that a fetch lies between, and how much of the second it takes, in 256ths: point sampling takes all of
// the first. kNoTexel: the border's colour.
struct Span {
  std::array<uint32_t, 2> texel{};
  uint32_t second = 0;
};

int64_t Floor(double x) {
  const auto whole = static_cast<int64_t>(x);
  return whole - (static_cast<double>(whole) > x ? 1 : 0);
}

// REQUIRES, to wrap or to mirror: -extent <= index < 2 * extent.
uint32_t Resolve(int64_t index, int64_t extent, AddressMode mode) {
  if (index >= 0 && index < extent) return static_cast<uint32_t>(index);
  switch (mode) {
    case AddressMode::kBorder:
      return kNoTexel;
    case AddressMode::kWrap:
      index += index < 0 ? extent : -extent;
      break;
    case AddressMode::kMirror:
      index = index < 0 ? -1 - index : 2 * extent - 1 - index;
      break;
    case AddressMode::kClamp:
      break;
  }
  return static_cast<uint32_t>(std::clamp<int64_t>(index, 0, extent - 1));
}

// In texels.
double Position(float coordinate, uint32_t extent, AddressMode mode, bool normalized) {
  if (std::isnan(coordinate)) return 0;
  double x = std::clamp<double>(coordinate, -kFar, kFar);
  if (!normalized) return x;
  if (mode == AddressMode::kWrap || mode == AddressMode::kMirror) {
    const int64_t period = Floor(x);
    x -= static_cast<double>(period);
    if (mode == AddressMode::kMirror && (period & 1) != 0) x = 1 - x;
  }
  return std::clamp(x * extent, -kFar, kFar);
}

Span Linear(double position, uint32_t extent, AddressMode mode) {
  const int64_t fixed = Floor((position - 0.5) * 256 + 0.5);
  const int64_t first = fixed >> 8;
  return {{Resolve(first, extent, mode), Resolve(first + 1, extent, mode)}, static_cast<uint32_t>(fixed & 255)};
}

// --- all dimensions ---

struct Footing {
  uint32_t dimensions = 1;
  std::array<Span, 3> spans{};
  uint32_t slice = 0;  // unless three-dimensional
};

uint32_t FaceOf(const Gradient& direction) {
  const auto [x, y, z] = direction;
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (ax >= ay && ax >= az) return x < 0 ? 1 : 0;
  if (ay >= az) return y < 0 ? 3 : 2;
  return z < 0 ? 5 : 4;
}

// A direction as a face has it: along its s and t, and away from the centre.
struct OnFace {
  float s, t, m;
};
OnFace TurnToFace(uint32_t face, const Gradient& direction) {
  const auto [x, y, z] = direction;
  switch (face) {
    case 0:
      return {-z, -y, x};
    case 1:
      return {z, -y, -x};
    case 2:
      return {x, z, y};
    case 3:
      return {x, -z, -y};
    case 4:
      return {x, -y, z};
    default:
      return {-x, -y, -z};
  }
}

uint32_t ClampLayer(uint32_t layer, uint32_t layers) {
  const auto wanted = static_cast<int32_t>(layer);
  return wanted < 0 ? 0 : std::min(layer, layers - 1);
}

Gradient Floats(const std::array<uint32_t, 3>& bits) {
  return {std::bit_cast<float>(bits[0]), std::bit_cast<float>(bits[1]), std::bit_cast<float>(bits[2])};
}

Footing Place(const Image& image, const ImageLevel& level, TextureFetch fetch, uint32_t layer,
              std::array<uint32_t, 3> coordinates, bool linear) {
  Footing footing;
  const bool cube = fetch.geometry == ImageGeometry::kCube;
  bool normalized = image.normalized_coordinates;
  if (cube) {
    const Gradient direction = Floats(coordinates);
    const uint32_t face = FaceOf(direction);
    const OnFace place = TurnToFace(face, direction);
    coordinates = {Bits((place.s / place.m + 1) / 2), Bits((place.t / place.m + 1) / 2), 0};
    normalized = true;
    footing.slice = ClampLayer(layer, std::max(1U, level.slices / 6)) * 6 + face;
  } else if (fetch.geometry != ImageGeometry::k3D) {
    footing.slice = ClampLayer(layer, level.slices);
  }
  footing.dimensions = cube ? 2 : static_cast<uint32_t>(fetch.geometry) + 1;
  const uint32_t extents[] = {level.width, level.rows, level.slices};
  for (uint32_t d = 0; d < footing.dimensions; ++d) {
    Span& span = footing.spans[d];
    AddressMode mode = image.address[d];
    if (fetch.integer) {
      // Of an image with normalised coordinates it is undefined.
      if (mode != AddressMode::kBorder) mode = AddressMode::kClamp;
      span.texel[0] = Resolve(static_cast<int32_t>(coordinates[d]), extents[d], mode);
      continue;
    }
    const double position = Position(std::bit_cast<float>(coordinates[d]), extents[d], mode, normalized);
    if (linear) {
      span = Linear(position, extents[d], mode);
    } else {
      span.texel[0] = Resolve(Floor(position), extents[d], mode);
    }
  }
  return footing;
}

// The hardware filters a line as a plane of one row in which it fetches at 0, half a row outside: seen with the border
// there only.
void AddBorderOfLine(const Image& image, Footing* footing) {
  if (footing->dimensions != 1 || image.layered || image.address[1] != AddressMode::kBorder) return;
  footing->dimensions = 2;
  footing->spans[1] = {{kNoTexel, 0}, 128};
}

// `corner`: bit d is which texel of dimension d.
Texel Corner(const Image& image, const ImageLevel& level, const Footing& footing, uint32_t corner) {
  std::array<uint32_t, 3> at{0, 0, footing.slice};
  for (uint32_t d = 0; d < footing.dimensions; ++d) {
    at[d] = footing.spans[d].texel[corner >> d & 1];
    if (at[d] == kNoTexel) return image.border;
  }
  return ReadTexel(image, level, at[0], at[1], at[2]);
}

// The texels of one level.
Texel FetchLevel(const Image& texture, const ImageLevel& level, TextureFetch fetch, uint32_t layer,
                 const std::array<uint32_t, 3>& at) {
  const bool linear = texture.linear_filter && !fetch.integer;
  Footing footing = Place(texture, level, fetch, layer, at, linear);
  if (!linear) return Corner(texture, level, footing, 0);
  AddBorderOfLine(texture, &footing);
  std::array<float, 4> sum{};
  for (uint32_t corner = 0; corner < uint32_t{1} << footing.dimensions; ++corner) {
    float weight = 1;
    for (uint32_t d = 0; d < footing.dimensions; ++d) {
      const uint32_t second = footing.spans[d].second;
      weight *= static_cast<float>((corner >> d & 1) != 0 ? second : 256 - second) / 256;
    }
    if (weight == 0) continue;  // not even an infinite texel counts
    const Texel texel = Corner(texture, level, footing, corner);
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += weight * std::bit_cast<float>(texel[c]);
  }
  return {Bits(sum[0]), Bits(sum[1]), Bits(sum[2]), Bits(sum[3])};
}

// Where a fetch lies among the levels, as among the texels of a line: 256ths of the second.
Span AmongLevels(const Image& texture, float level) {
  const uint32_t last = texture.level_count - 1U;
  float wanted = level + texture.level_bias;
  if (std::isnan(wanted)) wanted = 0;
  wanted = std::min(std::max(wanted, texture.lowest_level), texture.highest_level);
  const double bounded = std::clamp<double>(wanted, 0, last);
  const auto fixed = static_cast<uint32_t>(bounded * 256 + 0.5);
  if (!texture.linear_levels) return {{(fixed + 128) >> 8, 0}, 0};
  return {{fixed >> 8, std::min((fixed >> 8) + 1, last)}, fixed & 255};
}

}  // namespace

Image MakeImage(const TextureDescription& texture) {
  Image image = MakePlain(texture.image);
  image.linear_filter = texture.filter == FilterMode::kLinear;
  image.normalized_coordinates = texture.normalized_coordinates;
  image.normalized_read =
      texture.read == ReadMode::kNormalizedFloat && image.format.kind != ChannelKind::kFloat && image.format.bits != 32;
  if (texture.image.kind == ImageKind::kLinear) {
    image.address.fill(AddressMode::kBorder);  // zeros beyond its end, whatever is described
    return image;
  }
  for (size_t d = 0; d < image.address.size(); ++d) {
    const bool repeats = texture.address[d] == AddressMode::kWrap || texture.address[d] == AddressMode::kMirror;
    image.address[d] = repeats && !image.normalized_coordinates ? AddressMode::kClamp : texture.address[d];
  }
  image.level_count = static_cast<uint8_t>(texture.mipmap.levels);
  for (uint32_t level = 1; level < texture.mipmap.levels; ++level) {
    image.levels[level] = MakeLevel(LevelOf(texture.image, level));
  }
  image.linear_levels = texture.mipmap.filter == FilterMode::kLinear;
  image.level_bias = texture.mipmap.bias;
  image.lowest_level = texture.mipmap.lowest;
  image.highest_level = texture.mipmap.highest;
  for (size_t c = 0; c < image.format.channels; ++c) image.border[c] = std::bit_cast<uint32_t>(texture.border[c]);
  return image;
}

Image MakeImage(const ImageDescription& surface) {
  Image image = MakePlain(surface);
  image.is_surface = true;
  return image;
}

Texel FetchTexel(const Image& texture, TextureFetch fetch, uint32_t layer, uint32_t x, uint32_t y, uint32_t z,
                 float level) {
  const std::array at{x, y, z};
  if (texture.level_count == 1) return FetchLevel(texture, texture.levels[0], fetch, layer, at);
  const Span levels = AmongLevels(texture, level);
  const Texel first = FetchLevel(texture, texture.levels[levels.texel[0]], fetch, layer, at);
  if (levels.second == 0) return first;
  const Texel second = FetchLevel(texture, texture.levels[levels.texel[1]], fetch, layer, at);
  const float weight = static_cast<float>(levels.second) / 256;
  Texel mixed{};
  for (size_t c = 0; c < mixed.size(); ++c) {
    mixed[c] = Bits((1 - weight) * std::bit_cast<float>(first[c]) + weight * std::bit_cast<float>(second[c]));
  }
  return mixed;
}

float LevelByGradients(const Image& texture, TextureFetch fetch, const Gradient& at, const Gradient& dx,
                       const Gradient& dy) {
  const ImageLevel& level = texture.levels[0];
  const double extents[] = {double(level.width), double(level.rows), double(level.slices)};
  const bool cube = fetch.geometry == ImageGeometry::kCube;
  const uint32_t face = cube ? FaceOf(at) : 0;
  const auto squared = [&](const Gradient& step) {
    std::array<double, 3> moved{step[0], step[1], step[2]};
    if (cube) {  // the derivative of (s / m + 1) / 2
      const OnFace place = TurnToFace(face, at), by = TurnToFace(face, step);
      const double m = place.m;
      moved = {(by.s * m - place.s * by.m) / (2 * m * m), (by.t * m - place.t * by.m) / (2 * m * m), 0};
    }
    const uint32_t dimensions = cube ? 2 : static_cast<uint32_t>(fetch.geometry) + 1;
    double sum = 0;
    for (uint32_t d = 0; d < dimensions; ++d) {
      const double texels = moved[d] * (texture.normalized_coordinates || cube ? extents[d] : 1);
      sum += texels * texels;
    }
    return sum;
  };
  return static_cast<float>(std::log2(std::max(squared(dx), squared(dy))) / 2);
}

// As the hardware gathers floats: numbers that are too small are zeros, and there is one NaN.
static uint32_t Gathered(uint32_t bits) {
  const uint32_t sign = bits & 0x80000000U, rest = bits & 0x7fffffffU;
  if (rest > 0x7f800000U) return 0x7fffffffU;
  return rest < 0x00800000U ? sign : bits;
}

Texel GatherTexels(const Image& texture, TextureFetch fetch, uint32_t layer, uint32_t x, uint32_t y, uint32_t z) {
  fetch.integer = false;
  const ImageLevel& level = texture.levels[0];
  const Footing footing = Place(texture, level, fetch, layer, {x, y, z}, /*linear=*/true);
  // Left below, right below, right above, left above; rows grow downwards.
  constexpr uint32_t kCorners[] = {2, 3, 1, 0};
  Texel gathered{};
  for (size_t i = 0; i < gathered.size(); ++i) {
    gathered[i] = Corner(texture, level, footing, kCorners[i])[fetch.component & 3];
    if (texture.format.kind == ChannelKind::kFloat) gathered[i] = Gathered(gathered[i]);
  }
  return gathered;
}

uint32_t QueryImage(const Image& image, ImageQuery query) {
  const bool array = image.layered || image.cubemap;
  switch (query) {
    case ImageQuery::kWidth:
      return image.levels[0].width;
    case ImageQuery::kHeight:
      return image.height;
    case ImageQuery::kDepth:
      return array ? 0 : image.depth;
    case ImageQuery::kArraySize:
      return array ? image.depth : 0;
    case ImageQuery::kNormalizedCoordinates:
      return image.normalized_coordinates ? 1 : 0;
    case ImageQuery::kLevels:
      return image.level_count;
    case ImageQuery::kSamples:
      return 1;
  }
  return 0;
}

SurfacePlace FindInSurface(const Image& surface, SurfaceAccess access, uint32_t layer, uint32_t x, uint32_t y,
                           uint32_t z) {
  const ImageLevel& level = surface.levels[0];
  const auto row = static_cast<int64_t>(uint64_t{level.width} * surface.format.TexelBytes());
  const int64_t bytes = access.bytes;
  const bool three = access.geometry == ImageGeometry::k3D;
  // The last place for each, and where it is wanted.
  const int64_t last[] = {row - bytes, access.geometry == ImageGeometry::k1D ? 0 : level.rows - 1, level.slices - 1};
  int64_t at[] = {static_cast<int32_t>(x), access.geometry == ImageGeometry::k1D ? 0 : static_cast<int32_t>(y),
                  static_cast<int32_t>(three ? z : layer)};
  if (last[0] < 0) return {SurfacePlace::kOutside};  // what is accessed is larger than a row
  for (size_t d = 0; d < 3; ++d) {
    if (at[d] >= 0 && at[d] <= last[d]) continue;
    if (access.bounds == SurfaceBounds::kTrap) return {SurfacePlace::kOutside};
    if (access.bounds == SurfaceBounds::kZero) return {SurfacePlace::kLeftOut};
    at[d] = std::clamp<int64_t>(at[d], 0, last[d]);
    if (d == 0) at[d] -= at[d] % bytes;
  }
  if (at[0] % bytes != 0) return {SurfacePlace::kMisaligned};
  const uint64_t offset = static_cast<uint64_t>(at[2]) * level.slice_pitch +
                          static_cast<uint64_t>(at[1]) * level.row_pitch + static_cast<uint64_t>(at[0]);
  return {SurfacePlace::kInside, level.base + offset};
}

absl::StatusOr<TextureHandle> ImageTable::Add(const Image& image) {
  absl::MutexLock lock(&mutex_);
  if (used_ == kMost) return CudaStatus(CudaError::kOutOfMemory, "there are {} textures and surfaces", kMost);
  Entry* entry = nullptr;
  do {
    const uint64_t slot = ++last_ % kMost;
    std::unique_ptr<Entry[]>& chunk = owned_[slot / kChunk];
    if (chunk == nullptr) {
      chunk = std::make_unique<Entry[]>(kChunk);
      chunks_[slot / kChunk].store(chunk.get(), std::memory_order_release);
    }
    entry = &chunk[slot % kChunk];
  } while (entry->handle.load(std::memory_order_relaxed) != 0);
  entry->image = image;
  entry->retired = false;
  ++used_;
  entry->handle.store(last_, std::memory_order_release);
  return last_;
}

ImageTable::Entry* ImageTable::FindEntry(TextureHandle handle) {
  if (handle == 0 || owned_[handle % kMost / kChunk] == nullptr) return nullptr;
  Entry& entry = owned_[handle % kMost / kChunk][handle % kChunk];
  return entry.handle.load(std::memory_order_relaxed) == handle ? &entry : nullptr;
}

bool ImageTable::Retire(TextureHandle handle, bool is_surface) {
  absl::MutexLock lock(&mutex_);
  Entry* entry = FindEntry(handle);
  if (entry == nullptr || entry->retired || entry->image.is_surface != is_surface) return false;
  return entry->retired = true;
}

void ImageTable::Release(TextureHandle handle) {
  absl::MutexLock lock(&mutex_);
  Entry* entry = FindEntry(handle);
  if (entry == nullptr) return;
  entry->handle.store(0, std::memory_order_release);
  --used_;
}

}  // namespace wharf::device::soft
