#include "wharf/link/resume/resume_chunk.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wharf::link {

void ChunkQueue::AppendHeader(ChunkKind kind, size_t length) {
  const uint32_t header = static_cast<uint32_t>(length) | static_cast<uint32_t>(kind) << kChunkKindShift;
  AppendBytes(std::as_bytes(std::span(&header, 1)));
}

void ChunkQueue::AppendAcknowledgement(uint64_t received) {
  AppendHeader(ChunkKind::kAcknowledge, sizeof(received));
  AppendBytes(std::as_bytes(std::span(&received, 1)));
}

void ChunkQueue::AppendBytes(std::span<const std::byte> bytes) {
  const size_t before = bytes_.size();
  bytes_.resize(before + bytes.size());
  std::memcpy(bytes_.data() + before, bytes.data(), bytes.size());
}

std::span<std::byte> ChunkBuffer::Space() {
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  return std::span(buffer_).subspan(end_);
}

absl::StatusOr<ChunkBuffer::Piece> ChunkBuffer::Next(size_t limit) {
  Piece piece;
  if (awaited_ == 0) {
    uint32_t header = 0;
    if (end_ - begin_ < kChunkHeaderBytes) return piece;
    std::memcpy(&header, buffer_.data() + begin_, sizeof(header));
    const size_t length = header & kMaxChunkBytes;
    piece.kind = static_cast<ChunkKind>(header >> kChunkKindShift);
    const bool is_data = piece.kind == ChunkKind::kData;
    const size_t body = piece.kind == ChunkKind::kAcknowledge ? sizeof(piece.received) : 0;
    if (piece.kind > ChunkKind::kEnd || (is_data ? length == 0 : length != body)) {
      return DataLoss("the peer sent a malformed chunk");
    }
    if (end_ - begin_ < kChunkHeaderBytes + body) return Piece{};
    begin_ += kChunkHeaderBytes;
    if (!is_data) {
      std::memcpy(&piece.received, buffer_.data() + begin_, body);
      begin_ += body;
      return piece;
    }
    awaited_ = length;
  }
  const size_t size = std::min({awaited_, end_ - begin_, limit});
  piece.payload = {buffer_.data() + begin_, size};
  begin_ += size;
  awaited_ -= size;
  return piece;
}

}  // namespace wharf::link
