// What compiled kernels call for textures and surfaces. A fault in here, at memory that is no longer mapped, ends the
// block as one of the kernel's own does: nothing is held and nothing is to be destroyed.
#include <bit>
#include <cstring>

#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/texture.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {
namespace {

Worker& OwnerOf(BlockContext* block) { return *static_cast<BlockState*>(block)->owner; }

void ReportNoImage(Worker& worker, uint64_t handle, bool is_surface) {
  worker.SetFault(CudaStatus(CudaError::kIllegalAddress, "{}: there is no {} {:#x}", worker.BlockName(),
                             is_surface ? "surface" : "texture", handle));
}

void ReportPlace(Worker& worker, SurfacePlace::State state, uint64_t handle) {
  const bool misaligned = state == SurfacePlace::kMisaligned;
  worker.SetFault(CudaStatus(misaligned ? CudaError::kMisalignedAddress : CudaError::kIllegalAddress,
                             "{}: {} access of surface {:#x}", worker.BlockName(),
                             misaligned ? "misaligned" : "out-of-range", handle));
}

const Image& FindImage(BlockContext* block, uint64_t handle, bool is_surface) {
  Worker& worker = OwnerOf(block);
  const Image* image = worker.services.images.Find(handle, is_surface);
  if (image == nullptr) {
    ReportNoImage(worker, handle, is_surface);
    worker.LeaveBlock();
  }
  return *image;
}

// Null if the access is left out.
std::byte* Locate(BlockContext* block, uint64_t surface, SurfaceAccess access, uint32_t layer, uint32_t x, uint32_t y,
                  uint32_t z) {
  const SurfacePlace place = FindInSurface(FindImage(block, surface, true), access, layer, x, y, z);
  if (place.state == SurfacePlace::kOutside || place.state == SurfacePlace::kMisaligned) {
    ReportPlace(OwnerOf(block), place.state, surface);
    OwnerOf(block).LeaveBlock();
  }
  return place.at;
}

TexelBits Pack(const Texel& texel) {
  return {texel[0] | uint64_t{texel[1]} << 32, texel[2] | uint64_t{texel[3]} << 32};
}

// As wide as it is, so that other threads see all of it or nothing; racing threads are the program's affair.
template <typename T>
__attribute__((no_sanitize("thread"))) uint64_t LoadBits(const std::byte* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
__attribute__((no_sanitize("thread"))) void StoreBits(std::byte* at, uint64_t bits) {
  const auto value = static_cast<T>(bits);
  __builtin_memcpy(at, &value, sizeof value);
}

}  // namespace

extern "C" {

TexelBits wharf_texture_fetch(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                              uint32_t y, uint32_t z) {
  return Pack(FetchTexel(FindImage(block, texture, false), std::bit_cast<TextureFetch>(fetch), layer, x, y, z));
}

TexelBits wharf_texture_fetch_level(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                                    uint32_t y, uint32_t z, float level) {
  return Pack(FetchTexel(FindImage(block, texture, false), std::bit_cast<TextureFetch>(fetch), layer, x, y, z, level));
}

float wharf_texture_level(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t x, uint32_t y, uint32_t z,
                          float xdx, float ydx, float zdx, float xdy, float ydy, float zdy) {
  const Gradient at{std::bit_cast<float>(x), std::bit_cast<float>(y), std::bit_cast<float>(z)};
  return LevelByGradients(FindImage(block, texture, false), std::bit_cast<TextureFetch>(fetch), at, {xdx, ydx, zdx},
                          {xdy, ydy, zdy});
}

TexelBits wharf_texture_gather(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                               uint32_t y, uint32_t z) {
  return Pack(GatherTexels(FindImage(block, texture, false), std::bit_cast<TextureFetch>(fetch), layer, x, y, z));
}

uint32_t wharf_image_query(BlockContext* block, uint64_t image, uint32_t query, uint32_t is_surface) {
  return QueryImage(FindImage(block, image, is_surface != 0), static_cast<ImageQuery>(query));
}

TexelBits wharf_surface_load(BlockContext* block, uint64_t surface, uint32_t access, uint32_t layer, uint32_t x,
                             uint32_t y, uint32_t z) {
  const auto how = std::bit_cast<SurfaceAccess>(access);
  const std::byte* at = Locate(block, surface, how, layer, x, y, z);
  if (at == nullptr) return {};
  switch (how.bytes) {
    case 1:
      return {LoadBits<uint8_t>(at)};
    case 2:
      return {LoadBits<uint16_t>(at)};
    case 4:
      return {LoadBits<uint32_t>(at)};
    case 8:
      return {LoadBits<uint64_t>(at)};
    default:
      return {LoadBits<uint64_t>(at), LoadBits<uint64_t>(at + 8)};
  }
}

void wharf_surface_store(BlockContext* block, uint64_t surface, uint32_t access, uint32_t layer, uint32_t x, uint32_t y,
                         uint32_t z, uint64_t low, uint64_t high) {
  const auto how = std::bit_cast<SurfaceAccess>(access);
  std::byte* at = Locate(block, surface, how, layer, x, y, z);
  if (at == nullptr) return;
  check::WrittenMemory* const written = static_cast<BlockState*>(block)->owner->services.memory.written();
  if (written != nullptr) written->Write(reinterpret_cast<uintptr_t>(at), how.bytes);
  switch (how.bytes) {
    case 1:
      return StoreBits<uint8_t>(at, low);
    case 2:
      return StoreBits<uint16_t>(at, low);
    case 4:
      return StoreBits<uint32_t>(at, low);
    case 8:
      return StoreBits<uint64_t>(at, low);
    default:
      StoreBits<uint64_t>(at, low);
      StoreBits<uint64_t>(at + 8, high);
  }
}

}  // extern "C"
}  // namespace wharf::device::soft
