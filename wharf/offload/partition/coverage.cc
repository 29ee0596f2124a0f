#include "wharf/offload/partition/coverage.h"

#include <array>

#include "absl/synchronization/blocking_counter.h"

namespace wharf::offload {
namespace {

constexpr std::array<uint8_t, 2> kPatterns = {0x5a, 0xa5};
static_assert((kPatterns[0] ^ kPatterns[1]) == 0xff);

struct Contents {
  absl::Status status;
  std::vector<std::byte> bytes;
};

absl::StatusOr<std::vector<Contents>> RunOver(device::Device& device, const Launch& op,
                                              const std::vector<MemoryRange>& targets, uint8_t pattern) {
  for (const MemoryRange& target : targets) {
    WHARF_RETURN_IF_ERROR(
        device.Fill(op.stream, {target.address, target.size, target.size}, {target.size, 1, 1}, pattern, 1));
  }
  WHARF_RETURN_IF_ERROR(device.Launch(op.stream, op.function, op.config, op.parameters));
  std::vector<Contents> contents(targets.size());
  absl::BlockingCounter left(static_cast<int>(targets.size()));
  for (size_t i = 0; i < targets.size(); ++i) {
    const absl::Status queued =
        device.CopyToHost(op.stream, {targets[i].address, targets[i].size, targets[i].size}, {targets[i].size, 1, 1},
                          [&left, &copy = contents[i]](const absl::Status& status, std::vector<std::byte> bytes) {
                            copy = {status, std::move(bytes)};
                            left.DecrementCount();
                          });
    if (queued.ok()) continue;
    contents[i].status = queued;
    left.DecrementCount();
  }
  left.Wait();
  for (const Contents& copy : contents) WHARF_RETURN_IF_ERROR(copy.status);
  return contents;
}

}  // namespace

absl::StatusOr<std::vector<MemoryRange>> RunForCoverage(device::Device& device, const Launch& op,
                                                        const std::vector<MemoryRange>& targets) {
  WHARF_ASSIGN_OR_RETURN(const auto first, RunOver(device, op, targets, kPatterns[0]));
  WHARF_ASSIGN_OR_RETURN(const auto second, RunOver(device, op, targets, kPatterns[1]));
  std::vector<MemoryRange> written;
  for (size_t i = 0; i < targets.size(); ++i) {
    bool inside = false;
    for (uint64_t at = 0; at < targets[i].size; ++at) {
      const bool kept = first[i].bytes[at] == std::byte{kPatterns[0]} && second[i].bytes[at] == std::byte{kPatterns[1]};
      if (!kept && !inside) written.push_back({targets[i].address + at, 0});
      if (!kept) ++written.back().size;
      inside = !kept;
    }
  }
  return written;
}

}  // namespace wharf::offload
