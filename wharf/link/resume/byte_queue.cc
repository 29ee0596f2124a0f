#include "wharf/link/resume/byte_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace wharf::link {

void ByteQueue::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t end = (begin_ + size_) % kBlockBytes;
    if (blocks_.size() * kBlockBytes == begin_ + size_) {
      if (spare_.empty()) {
        blocks_.emplace_back(new std::byte[kBlockBytes]);
      } else {
        blocks_.push_back(std::move(spare_.back()));
        spare_.pop_back();
      }
    }
    const size_t part = std::min(bytes.size(), kBlockBytes - end);
    std::memcpy(blocks_.back().get() + end, bytes.data(), part);
    size_ += part;
    bytes = bytes.subspan(part);
  }
}

void ByteQueue::DropFront(size_t bytes) {
  assert(bytes <= size_);
  begin_ += bytes;
  size_ -= bytes;
  for (; !blocks_.empty() && (begin_ >= kBlockBytes || size_ == 0); begin_ -= std::min(begin_, kBlockBytes)) {
    Release(std::move(blocks_.front()));
    blocks_.pop_front();
  }
  if (size_ == 0) begin_ = 0;
}

void ByteQueue::DropBack(size_t bytes) {
  assert(bytes <= size_);
  size_ -= bytes;
  while (!blocks_.empty() && (blocks_.size() - 1) * kBlockBytes >= begin_ + size_) {
    Release(std::move(blocks_.back()));
    blocks_.pop_back();
  }
  if (size_ == 0) Clear();
}

void ByteQueue::CopyOut(size_t offset, std::span<std::byte> into) const {
  assert(offset + into.size() <= size_);
  size_t at = begin_ + offset;
  while (!into.empty()) {
    const size_t part = std::min(into.size(), kBlockBytes - at % kBlockBytes);
    std::memcpy(into.data(), blocks_[at / kBlockBytes].get() + at % kBlockBytes, part);
    at += part;
    into = into.subspan(part);
  }
}

void ByteQueue::Release(Block block) {
  if (spare_.size() < kSpareBlocks) spare_.push_back(std::move(block));
}

}  // namespace wharf::link
