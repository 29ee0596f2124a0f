#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {

std::string NameOf(Role role) {
  switch (role) {
    case Role::kScheduler:
      return "scheduler";
    case Role::kWorker:
      return "worker";
    case Role::kClient:
      return wire::kClientRole;
  }
  return "";
}

absl::StatusOr<std::vector<uint64_t>> DecodeSamples(std::span<const std::byte> list, size_t most) {
  const size_t count = list.size() / sizeof(uint64_t);
  if (count < 1 || count > most || list.size() % sizeof(uint64_t) != 0) {
    return InvalidArgument("a list of {} bytes is not one of 1 to {} samples", list.size(), most);
  }
  auto samples = DecodeList<uint64_t>(list);
  if (!samples.ok()) return InvalidArgument("a list of samples is malformed");
  return samples;
}

}  // namespace wharf::pipeline
