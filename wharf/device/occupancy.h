// How many blocks of a kernel a multiprocessor holds at once. What programs are told, and what bounds cooperative
// launches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wharf/device/device.h"

namespace wharf::device {

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
