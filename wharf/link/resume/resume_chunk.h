// Chunks: what a resumable stream puts on a connection. docs/protocol.md, "Resume". Internal to the room. Not
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::link {

// A chunk's header: u32, the kind above the length of what follows.
enum class ChunkKind : uint8_t {
  kData = 0,
  kAcknowledge = 1,  // u64: bytes received since the stream's beginning
  kPing = 2,         // wants an acknowledgement
  kEnd = 3           // nothing follows, and that is in order
};
inline constexpr size_t kChunkHeaderBytes = 4;
inline constexpr unsigned kChunkKindShift = 24;
inline constexpr size_t kMaxChunkBytes = (1 << kChunkKindShift) - 1;

// Headers and control chunks on their way out.
class ChunkQueue {
 public:
  void AppendHeader(ChunkKind kind, size_t length);
  void AppendAcknowledgement(uint64_t received);
  void AppendBytes(std::span<const std::byte> bytes);
  void Consume(size_t bytes) { bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(bytes)); }
  void Clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

 private:
  std::vector<std::byte> bytes_;
};

// Takes chunks apart as they arrive.
class ChunkBuffer {
 public:
  // Large enough to take a few hundred small chunks in one system call, small against a large chunk.
  static constexpr size_t kBytes = 16 << 10;

  // Where the next bytes go; never empty if Next was called until it gave nothing.
  std::span<std::byte> Space();
  void Filled(size_t bytes) { end_ += bytes; }
  // Payload that comes next and is not in the buffer: it may be read past it, and is then told to Passed.
  size_t Outside() const { return begin_ == end_ ? awaited_ : 0; }
  void Passed(size_t bytes) { awaited_ -= bytes; }
  void Clear() { begin_ = end_ = awaited_ = 0; }

  struct Piece {
    ChunkKind kind = ChunkKind::kData;
    std::span<const std::byte> payload;  // kData: at least one byte, or nothing is there; valid until Space
    uint64_t received = 0;               // kAcknowledge
  };
  // A control chunk, or at most `limit` bytes of payload. kDataLoss for anything malformed.
  absl::StatusOr<Piece> Next(size_t limit);

 private:
  std::array<std::byte, kBytes> buffer_;
  size_t begin_ = 0, end_ = 0;
  size_t awaited_ = 0;  // of the current data chunk
};

}  // namespace wharf::link
