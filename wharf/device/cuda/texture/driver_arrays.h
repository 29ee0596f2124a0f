// DriverArrays: the arrays of the driver's that textures and surfaces are over, kept equal to our memory.
//
// To a program an array is memory of ours, which its copies read and write (texture.h). So what is written there is
// loaded into the driver's arrays, and what kernels may have written into these by surfaces is stored before our memory
// is read or written in part; all on the stream of the copy, which is where the program has put things in order. Arrays
// that share memory, a mipmapped array and a surface of one of its levels, are made equal after each launch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "wharf/device/cuda/texture/driver_array.h"

namespace wharf::device::cuda {

// Not thread-safe. Methods need the context to be current.
class DriverArrays {
 public:
  using ArrayPointer = std::shared_ptr<DriverArray>;

  // `most_bytes`: of all together.
  DriverArrays(Gpu* gpu, uint64_t most_bytes) : gpu_(gpu), most_bytes_(most_bytes) {}

  struct Use {
    ArrayPointer array;
    bool is_new = false;  // holds nothing: to be loaded, after Store of the others
  };
  // One for each image, to be given back. kOutOfMemory beyond most_bytes. REQUIRES: as DriverArray::Create.
  absl::StatusOr<Use> Take(const ImageDescription& image, uint32_t levels, bool for_surface);
  // The caller keeps the array until work that uses it is done. What its last surface may have written has to be stored
  // before.
  void GiveBack(const ArrayPointer& array, bool of_surface);
  // Those whose memory is no more are no longer kept equal to it.
  void Forget(const std::function<bool(DeviceAddress, uint64_t)>& is_mapped);

  bool IsEmpty() const { return entries_.empty(); }
  bool Overlap(DeviceAddress address, uint64_t bytes) const;
  // Before these bytes are read or written on `stream`, and after they were written. `but`: a new one, which holds
  // nothing to be stored.
  absl::Status Store(DeviceAddress address, uint64_t bytes, StreamHandle stream,
                     const DriverArray* but = nullptr) const;
  absl::Status Load(DeviceAddress address, uint64_t bytes, StreamHandle stream) const;
  // Whether SpreadSurfaces has anything to do: after each launch on `stream`.
  bool ShareMemory() const { return share_memory_; }
  absl::Status SpreadSurfaces(StreamHandle stream) const;

 private:
  struct Entry {
    ArrayPointer array;
    size_t users = 0, surfaces = 0;
  };
  void FindShared();

  Gpu* const gpu_;
  const uint64_t most_bytes_;
  uint64_t bytes_ = 0;
  std::vector<Entry> entries_;
  bool share_memory_ = false;  // a surface's array and another one
};

}  // namespace wharf::device::cuda
