#include <bit>
#include <cstring>

#include "wharf/link/channel.h"

namespace wharf::link {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are copied to and from the wire as they are");

template <typename T>
T Load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void Store(std::span<std::byte> bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace

absl::StatusOr<FrameHeader> DecodeFrameHeader(std::span<const std::byte> bytes, const FrameLimits& limits) {
  if (bytes.size() != kFrameHeaderBytes) return DataLoss("frame header of {} bytes", bytes.size());
  const auto magic = Load<uint32_t>(bytes, 0);
  if (magic != kFrameMagic) return DataLoss("not a frame: starts with {:#010x}, not {:#010x}", magic, kFrameMagic);
  FrameHeader header;
  header.kind = Load<uint16_t>(bytes, 4);
  header.flags = Load<uint16_t>(bytes, 6);
  header.head_bytes = Load<uint32_t>(bytes, 8);
  header.bulk_bytes = Load<uint32_t>(bytes, 12);
  header.tag = Load<uint64_t>(bytes, 16);
  if (header.head_bytes > limits.max_head_bytes) {
    return ResourceExhausted("frame head of {} bytes, the limit is {}", header.head_bytes, limits.max_head_bytes);
  }
  if (header.bulk_bytes > limits.max_bulk_bytes) {
    return ResourceExhausted("frame bulk of {} bytes, the limit is {}", header.bulk_bytes, limits.max_bulk_bytes);
  }
  return header;
}

void EncodeFrameHeader(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) {
  Store(out, 0, kFrameMagic);
  Store(out, 4, header.kind);
  Store(out, 6, header.flags);
  Store(out, 8, header.head_bytes);
  Store(out, 12, header.bulk_bytes);
  Store(out, 16, header.tag);
}

}  // namespace wharf::link
