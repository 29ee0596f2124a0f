// How a client tells what was asked for of the memory that it maps, whose size is in whole granules: as a fill of
// nothing, at the allocation's address, whose row pitch is the size. Devices that do not ask have nothing to do.
// `wharf run --check memory` has the client say it and the software device listen.
#pragma once

#include "wharf/device/device.h"

namespace wharf::device {

inline constexpr uint64_t kAskedSizeMark = ~uint64_t{0};  // as the slice pitch

inline Region AskedSize(DeviceAddress address, uint64_t size) { return {address, size, kAskedSizeMark}; }
inline bool TellsAskedSize(const Region& to, const Extent& extent) {
  return extent.width == 0 && to.slice_pitch == kAskedSizeMark && to.row_pitch != 0;
}

}  // namespace wharf::device
