#include "wharf/link/send_queue.h"

#include <algorithm>
#include <array>

namespace wharf::link {
namespace {

// Bulk beyond this is not copied behind the small frames, whose memory is kept and grown by doubling.
constexpr size_t kSmallBytes = 32 << 10;
constexpr size_t kKeptBytes = 1 << 20;

}  // namespace

void SendQueue::Append(const FrameHeader& header, Bytes head, Bytes bulk, BulkOwnership ownership) {
  std::array<std::byte, kFrameHeaderBytes> encoded;
  EncodeFrameHeader(header, encoded);
  AppendSmall(encoded);
  AppendSmall(head);
  AppendBytes(bulk, ownership);
}

void SendQueue::AppendBytes(Bytes bytes, BulkOwnership ownership) {
  if (bytes.empty()) return;
  if (ownership == BulkOwnership::kBorrow) {
    pieces_.push_back({bytes.data(), 0, bytes.size()});
  } else if (bytes.size() > kSmallBytes) {
    large_.emplace_back(bytes.begin(), bytes.end());
    pieces_.push_back({large_.back().data(), 0, bytes.size()});
  } else {
    AppendSmall(bytes);
    return;
  }
  total_ += bytes.size();
}

void SendQueue::AppendSmall(Bytes bytes) {
  if (bytes.empty()) return;
  if (pieces_.empty() || pieces_.back().data != nullptr) pieces_.push_back({nullptr, small_.size(), 0});
  pieces_.back().size += bytes.size();
  small_.insert(small_.end(), bytes.begin(), bytes.end());
  total_ += bytes.size();
}

void SendQueue::Own(Bytes borrowed) {
  if (borrowed.empty()) return;
  size_t begin = 0;
  for (Piece& piece : pieces_) {
    if (piece.data == borrowed.data()) {
      const size_t skip = consumed_ > begin ? std::min(consumed_ - begin, piece.size) : 0;
      const auto& copy = large_.emplace_back(piece.data + skip, piece.data + piece.size);
      piece = {copy.data(), 0, copy.size()};
      consumed_ -= skip;
      total_ -= skip;
    }
    begin += piece.size;
  }
}

void SendQueue::Clear() {
  small_.clear();
  if (small_.capacity() > kKeptBytes) small_.shrink_to_fit();
  large_.clear();
  pieces_.clear();
  total_ = consumed_ = 0;
}

void SendQueue::Pieces(std::vector<Bytes>& pieces) const {
  pieces.clear();
  size_t skip = consumed_;
  for (const Piece& piece : pieces_) {
    if (skip >= piece.size) {
      skip -= piece.size;
      continue;
    }
    const std::byte* data = piece.data != nullptr ? piece.data : small_.data() + piece.offset;
    pieces.emplace_back(data + skip, piece.size - skip);
    skip = 0;
  }
}

}  // namespace wharf::link
