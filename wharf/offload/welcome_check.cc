#include "wharf/offload/welcome_check.h"

#include <algorithm>
#include <array>
#include <bit>

#include "wharf/base/control_character.h"

namespace wharf::offload {
namespace {

// No processor has longer addresses; sums of a few of them do not overflow.
constexpr uint64_t kAddresses = uint64_t{1} << 57;
// At least the smallest page, as the client reserves the same addresses; far more than any GPU's.
constexpr uint64_t kLeastGranularity = 4096, kMostGranularity = uint64_t{1} << 30;
constexpr int32_t kMost = 1 << 20;  // of threads and multiprocessors: programs multiply them
constexpr size_t kMostName = 255;   // as CUDA's

bool CanBe(const device::Arena& arena) {
  return std::has_single_bit(arena.granularity) && arena.granularity >= kLeastGranularity &&
         arena.granularity <= kMostGranularity && arena.base != 0 && arena.base % arena.granularity == 0 &&
         arena.size % arena.granularity == 0 && arena.size > arena.granularity && arena.base < kAddresses &&
         arena.size <= kAddresses - arena.base;
}

bool CanBe(const std::string& name) { return name.size() <= kMostName && !HasControlCharacter(name); }

bool CanBe(const device::DeviceProperties& device) {
  const std::array counts = {device.multiprocessors, device.max_threads_per_block,
                             device.max_threads_per_multiprocessor};  // programs divide by them, too
  const std::array others = {device.compute_major,
                             device.compute_minor,
                             device.clock_khz,
                             device.memory_clock_khz,
                             device.memory_bus_bits,
                             device.max_blocks_per_multiprocessor,
                             device.registers_per_block,
                             device.registers_per_multiprocessor,
                             device.l2_bytes};
  return CanBe(device.name) && CanBe(device.driver) && device.warp_size == 32 &&
         std::ranges::all_of(counts, [](int32_t count) { return count >= 1 && count <= kMost; }) &&
         std::ranges::all_of(others, [](int32_t other) { return other >= 0; }) && device.compute_major <= kMost &&
         device.compute_minor <= kMost;
}

}  // namespace

absl::Status CheckWelcome(const Welcome& welcome) {
  const device::Arena& arena = welcome.arena;
  if (!CanBe(arena)) {
    return FailedPrecondition("the server's device memory cannot be: {} bytes at {:#x} in units of {}", arena.size,
                              arena.base, arena.granularity);
  }
  if (!CanBe(welcome.properties)) return FailedPrecondition("the properties of the server's device cannot be");
  return absl::OkStatus();
}

}  // namespace wharf::offload
