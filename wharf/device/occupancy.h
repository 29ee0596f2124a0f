// What shapes of launches a device takes, and how many blocks of a kernel a multiprocessor holds at once: what programs
// are told, and what bounds cooperative launches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wharf/device/device.h"

namespace wharf::device {

// Whether grid and block are of a shape that the device runs, whatever the kernel.
inline bool IsInRange(const Dim3& grid, const Dim3& block, const DeviceProperties& device) {
  const auto within = [](const Dim3& size, const std::array<uint32_t, 3>& limit) {
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= limit[0] && size.y <= limit[1] && size.z <= limit[2];
  };
  return within(grid, device.max_grid) && within(block, device.max_block) &&
         block.Count() <= static_cast<uint64_t>(device.max_threads_per_block);
}

// `shared_bytes`: of a block, static and dynamic. 0 if there can be no such block. REQUIRES: block_threads > 0.
inline uint64_t BlocksOfMultiprocessor(const DeviceProperties& device, const FunctionAttributes& function,
                                       uint64_t block_threads, uint64_t shared_bytes) {
  if (block_threads > function.max_threads_per_block || shared_bytes > device.shared_per_block_optin) return 0;
  uint64_t blocks = static_cast<uint64_t>(device.max_blocks_per_multiprocessor);
  const auto share = [&blocks](uint64_t have, uint64_t each) {
    if (each != 0) blocks = std::min(blocks, have / each);
  };
  const uint64_t warps = (block_threads + 31) / 32;
  share(static_cast<uint64_t>(device.max_threads_per_multiprocessor), warps * 32);
  share(device.shared_per_multiprocessor, shared_bytes);
  // Registers are handed out to warps in units of 256.
  share(static_cast<uint64_t>(device.registers_per_multiprocessor),
        warps * ((uint64_t{function.registers} * 32 + 255) / 256 * 256));
  return blocks;
}

// Of the whole device.
inline uint64_t BlocksAtOnce(const DeviceProperties& device, const FunctionAttributes& function,
                             const LaunchConfig& config) {
  return BlocksOfMultiprocessor(device, function, config.block.Count(),
                                uint64_t{function.static_shared_bytes} + config.shared_bytes) *
         static_cast<uint64_t>(device.multiprocessors);
}

}  // namespace wharf::device
