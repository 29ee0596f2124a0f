// The table of images, and how they are made ready.
#include <bit>

#include "wharf/device/soft/runtime/texture.h"

namespace wharf::device::soft {
namespace {

Image MakePlain(const ImageDescription& described) {
  Image image;
  image.cubemap = described.cubemap;
  image.layered = described.layered;
  image.format = described.format;
  image.base = reinterpret_cast<std::byte*>(described.base);
  image.row_pitch = described.Rows() > 1 ? described.row_pitch : 0;
  image.slice_pitch = described.Slices() > 1 ? described.slice_pitch : 0;
  image.width = described.width;
  image.rows = described.Rows();
  image.slices = described.Slices();
  image.height = described.height;
  image.depth = described.depth;
  return image;
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
  for (size_t c = 0; c < image.format.channels; ++c) image.border[c] = std::bit_cast<uint32_t>(texture.border[c]);
  return image;
}

Image MakeImage(const ImageDescription& surface) {
  Image image = MakePlain(surface);
  image.is_surface = true;
  return image;
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
