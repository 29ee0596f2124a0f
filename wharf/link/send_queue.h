// A run of encoded frames waiting to be written: what Channel's senders fill and its writer empties. Internal to the
// room. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wharf/link/channel.h"

namespace wharf::link {

class SendQueue {
 public:
  using Bytes = std::span<const std::byte>;

  // A frame; `head` and a kCopy `bulk` are copied, a kBorrow bulk must stay until it is written.
  void Append(const FrameHeader& header, Bytes head, Bytes bulk, BulkOwnership ownership);
  // Bytes of no particular meaning (the rest of a frame).
  void AppendBytes(Bytes bytes, BulkOwnership ownership);
  // Marks the first `bytes` of what is left as written.
  void Consume(size_t bytes) { consumed_ += bytes; }
  // Copies what is left of `borrowed`, which may then go.
  void Own(Bytes borrowed);
  // Keeps (some of) the memory for the next frames.
  void Clear();

  bool empty() const { return size() == 0; }
  size_t size() const { return total_ - consumed_; }
  // Sequence number of the last frame in here.
  uint64_t last_frame = 0;

  // What is left, in order; valid until the next change. Reuses `pieces`.
  void Pieces(std::vector<Bytes>& pieces) const;

 private:
  // A range of small_ if data is null.
  struct Piece {
    const std::byte* data;
    size_t offset, size;
  };
  void AppendSmall(Bytes bytes);

  std::vector<std::byte> small_;  // headers, heads and small bulks, one after the other
  std::vector<std::vector<std::byte>> large_;
  std::vector<Piece> pieces_;
  size_t total_ = 0, consumed_ = 0;
};

}  // namespace wharf::link
