// Boxes of bytes in device memory (Region and Extent): validation and copying. Copy functions trust what Check
// accepted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

inline bool IsEmpty(const Extent& extent) { return extent.width == 0 || extent.height == 0 || extent.depth == 0; }
inline uint64_t PackedBytes(const Extent& extent) { return extent.width * extent.height * extent.depth; }

// The box lies in memory that is mapped (in the issue view) and its rows do not overlap. kInvalidValue or
// kInvalidPitchValue otherwise. An empty box is always right. PackedBytes does not overflow if this is OK.
absl::Status CheckBox(const Memory& memory, const Region& region, const Extent& extent);

// For checks of kernels: that the box is written, and that what was written of `from` is of `to`.
void NoteWritten(const Memory& memory, const Region& to, const Extent& extent);
void NoteCopied(const Memory& memory, const Region& to, const Region& from, const Extent& extent);

void CopyIn(const Region& to, const Extent& extent, const std::byte* packed);
void CopyOut(const Region& from, const Extent& extent, std::byte* packed);
void CopyBox(const Region& to, const Region& from, const Extent& extent);
// REQUIRES: element_bytes is 1, 2 or 4 and divides the width.
void FillBox(const Region& to, const Extent& extent, uint32_t value, uint32_t element_bytes);

}  // namespace wharf::device::soft
