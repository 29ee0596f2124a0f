#include "wharf/device/cuda/texture/driver_arrays.h"

#include <algorithm>

namespace wharf::device::cuda {

absl::StatusOr<DriverArrays::Use> DriverArrays::Take(const ImageDescription& image, uint32_t levels, bool for_surface) {
  auto entry = std::ranges::find_if(
      entries_, [&](const Entry& one) { return one.array->image() == image && one.array->levels() == levels; });
  const bool is_new = entry == entries_.end();
  if (is_new) {
    const uint64_t bytes = BytesOf(image, levels);
    if (bytes > most_bytes_ - bytes_) {
      return CudaStatus(CudaError::kOutOfMemory, "arrays of textures of more than {} bytes", most_bytes_);
    }
    WHARF_ASSIGN_OR_RETURN(ArrayPointer array, DriverArray::Create(gpu_, image, levels));
    bytes_ += bytes;
    entry = entries_.insert(entries_.end(), {std::move(array)});
  }
  ++entry->users;
  if (for_surface) ++entry->surfaces;
  Use use{entry->array, is_new};
  FindShared();
  return use;
}

void DriverArrays::GiveBack(const ArrayPointer& array, bool of_surface) {
  const auto entry = std::ranges::find(entries_, array, &Entry::array);
  if (entry == entries_.end()) return;  // forgotten
  if (of_surface) --entry->surfaces;
  if (--entry->users == 0) {
    bytes_ -= array->bytes();
    entries_.erase(entry);
  }
  FindShared();
}

void DriverArrays::Forget(const std::function<bool(DeviceAddress, uint64_t)>& is_mapped) {
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool gone = !is_mapped(entry.array->image().base, entry.array->bytes());
    if (gone) bytes_ -= entry.array->bytes();
    return gone;
  });
  FindShared();
}

bool DriverArrays::Overlap(DeviceAddress address, uint64_t bytes) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.array->Overlaps(address, bytes); });
}

absl::Status DriverArrays::Store(DeviceAddress address, uint64_t bytes, StreamHandle stream,
                                 const DriverArray* but) const {
  for (const Entry& entry : entries_) {
    if (entry.surfaces == 0 || entry.array.get() == but || !entry.array->Overlaps(address, bytes)) continue;
    WHARF_RETURN_IF_ERROR(entry.array->Store(stream));
  }
  return absl::OkStatus();
}

absl::Status DriverArrays::Load(DeviceAddress address, uint64_t bytes, StreamHandle stream) const {
  for (const Entry& entry : entries_) {
    if (entry.array->Overlaps(address, bytes)) WHARF_RETURN_IF_ERROR(entry.array->Load(stream));
  }
  return absl::OkStatus();
}

absl::Status DriverArrays::SpreadSurfaces(StreamHandle stream) const {
  if (!share_memory_) return absl::OkStatus();
  for (const Entry& entry : entries_) {
    if (entry.surfaces > 0) WHARF_RETURN_IF_ERROR(entry.array->Store(stream));
  }
  for (const Entry& entry : entries_) WHARF_RETURN_IF_ERROR(entry.array->Load(stream));
  return absl::OkStatus();
}

void DriverArrays::FindShared() {
  share_memory_ = std::ranges::any_of(entries_, [this](const Entry& one) {
    return one.surfaces > 0 && std::ranges::any_of(entries_, [&](const Entry& other) {
             return other.array != one.array && one.array->Overlaps(other.array->image().base, other.array->bytes());
           });
  });
}

}  // namespace wharf::device::cuda
