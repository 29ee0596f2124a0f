// Copies and fills of boxes of bytes (Region, Extent) in as few driver calls as their shape allows.
#pragma once

#include <optional>

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// Bytes in the box, packed. kInvalidValue if that is more than any memory holds.
absl::StatusOr<uint64_t> PackedBytes(const Extent& extent);
// Bytes from the first to the last of the box in memory. kInvalidPitchValue if rows or slices overlap.
absl::StatusOr<uint64_t> SpanBytes(const Region& region, const Extent& extent);

// One side of a copy: device memory, or host memory if `host` is set (then `region.address` is unused).
struct Side {
  Region region;
  void* host = nullptr;
};
// The packed side of a copy of `extent`.
Side PackedHost(void* host, const Extent& extent);

// A copy between device memory, or a fill, as one operation of the driver; none if it takes several or there is nothing
// to do. REQUIRES: what CopyBox and FillBox require.
std::optional<Copy3D> AsOneCopy(Region to, Region from, Extent extent);
std::optional<MemsetNodeParameters> AsOneFill(Region to, Extent extent, uint32_t value, uint32_t element_bytes);

// kInvalidValue if the box is not made of whole, aligned elements of 1, 2 or 4 bytes.
absl::Status CheckElements(const Region& to, const Extent& extent, uint32_t element_bytes);

// Queues the copy; nothing for an empty box. REQUIRES: SpanBytes of both sides is OK, the context is current, at most
// one side is host memory.
absl::Status CopyBox(Gpu* gpu, Side to, Side from, Extent extent, StreamHandle stream);
// Sets every element to `value`. CheckElements' errors.
absl::Status FillBox(Gpu* gpu, Region to, Extent extent, uint32_t value, uint32_t element_bytes, StreamHandle stream);

}  // namespace wharf::device::cuda
