// DriverArray: an array of the driver's that holds what an image in our memory holds. A GPU has textures of one and
// three dimensions, layers, cubes, levels and all surfaces only over such arrays.
#pragma once

#include <memory>
#include <vector>

#include "wharf/device/cuda/driver/gpu.h"
#include "wharf/device/texture.h"

namespace wharf::device::cuda {

// Immutable but for what the driver's array holds. Methods need the context to be current, destruction too.
class DriverArray {
 public:
  // Holds nothing yet. kNotSupported if the driver has no such array. REQUIRES: CheckImage found the image, an array,
  // right; levels as in Mipmap.
  static absl::StatusOr<std::shared_ptr<DriverArray>> Create(Gpu* gpu, const ImageDescription& image, uint32_t levels);
  ~DriverArray();
  DriverArray(const DriverArray&) = delete;
  DriverArray& operator=(const DriverArray&) = delete;

  // Queue a copy of all levels, from our memory or to it.
  absl::Status Load(StreamHandle stream) const { return Copy(stream, /*to_array=*/true); }
  absl::Status Store(StreamHandle stream) const { return Copy(stream, /*to_array=*/false); }

  const ImageDescription& image() const { return levels_.front().image; }
  uint32_t levels() const { return static_cast<uint32_t>(levels_.size()); }
  uint64_t bytes() const { return bytes_; }
  bool Overlaps(DeviceAddress address, uint64_t bytes) const {
    return address < image().base + bytes_ && image().base < address + bytes;
  }
  // As a resource of textures (whole) and surfaces (of one level).
  ResourceDescription Resource() const;

 private:
  struct Level {
    ImageDescription image;
    ArrayHandle array = nullptr;
  };
  explicit DriverArray(Gpu* gpu) : gpu_(gpu) {}
  absl::Status Copy(StreamHandle stream, bool to_array) const;
  absl::Status CopySlices(const Level& level, uint32_t first, uint32_t count, bool to_array, StreamHandle stream) const;

  Gpu* const gpu_;
  MipmappedArrayHandle mipmapped_ = nullptr;  // of several levels: owns their arrays
  std::vector<Level> levels_;
  uint64_t bytes_ = 0;  // of our memory, from the first to the last
};

}  // namespace wharf::device::cuda
