// Arbitrary bytes as what a resumable stream receives: taking chunks apart must give the same pieces as reading them
// straight from memory, in whatever portions the bytes arrive, and refuse the same bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "wharf/link/resume/resume_chunk.h"

namespace wharf::link {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// What a stream of chunks says.
struct Content {
  struct Control {
    ChunkKind kind;
    uint64_t received;
    size_t after;  // bytes of payload before it
    bool operator==(const Control&) const = default;
  };
  std::vector<std::byte> payload;
  std::vector<Control> controls;
  bool malformed = false;

  void Add(std::span<const std::byte> bytes) { payload.insert(payload.end(), bytes.begin(), bytes.end()); }
  bool operator==(const Content&) const = default;
};

template <typename T>
std::optional<T> Take(std::span<const std::byte>& bytes) {
  T value;
  if (bytes.size() < sizeof(value)) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes = bytes.subspan(sizeof(value));
  return value;
}

Content Read(std::span<const std::byte> bytes) {
  Content content;
  for (;;) {
    const std::optional<uint32_t> header = Take<uint32_t>(bytes);
    if (!header) return content;
    const size_t length = *header & kMaxChunkBytes;
    const auto kind = static_cast<ChunkKind>(*header >> kChunkKindShift);
    const size_t wanted = kind == ChunkKind::kAcknowledge ? 8 : 0;
    content.malformed = kind > ChunkKind::kEnd || (kind == ChunkKind::kData ? length == 0 : length != wanted);
    if (content.malformed) return content;
    if (kind == ChunkKind::kData) {
      const size_t there = std::min(length, bytes.size());
      content.Add(bytes.first(there));
      bytes = bytes.subspan(there);
      continue;
    }
    uint64_t received = 0;
    if (kind == ChunkKind::kAcknowledge) {
      const std::optional<uint64_t> body = Take<uint64_t>(bytes);
      if (!body) return content;
      received = *body;
    }
    content.controls.push_back({kind, received, content.payload.size()});
  }
}

// Sizes that change from one use to the next.
class Sizes {
 public:
  explicit Sizes(size_t seed) : last_(seed) {}
  size_t Next() {
    last_ = last_ * 5 % 8191 + 1;
    return last_;
  }

 private:
  size_t last_;
};

// Takes what the buffer has; false if it is malformed.
bool Drain(ChunkBuffer& buffer, Sizes& limits, Content& content) {
  for (;;) {
    const size_t limit = limits.Next();
    const absl::StatusOr<ChunkBuffer::Piece> piece = buffer.Next(limit);
    if (!piece.ok()) {
      Require(absl::IsDataLoss(piece.status()));
      return false;
    }
    Require(piece->payload.size() <= limit);
    if (piece->kind != ChunkKind::kData) {
      content.controls.push_back({piece->kind, piece->received, content.payload.size()});
    } else if (piece->payload.empty()) {
      return true;
    } else {
      content.Add(piece->payload);
    }
  }
}

Content ReadInPortions(std::span<const std::byte> bytes, size_t seed) {
  Content content;
  ChunkBuffer buffer;
  Sizes portions(seed), limits(seed + 1);
  while (!bytes.empty() && !content.malformed) {
    const size_t portion = std::min(bytes.size(), portions.Next());
    const size_t outside = std::min(buffer.Outside(), portion);
    if (outside > 0 && portion % 2 == 0) {  // past the buffer
      content.Add(bytes.first(outside));
      buffer.Passed(outside);
      bytes = bytes.subspan(outside);
      continue;
    }
    const std::span<std::byte> space = buffer.Space();
    Require(!space.empty());
    const size_t filled = std::min(space.size(), portion);
    std::memcpy(space.data(), bytes.data(), filled);
    buffer.Filled(filled);
    bytes = bytes.subspan(filled);
    content.malformed = !Drain(buffer, limits, content);
  }
  return content;
}

}  // namespace
}  // namespace wharf::link

// The first byte sets the sizes of the portions, the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  wharf::link::Require(wharf::link::ReadInPortions(bytes, data[0]) == wharf::link::Read(bytes));
  return 0;
}
