// A queue of bytes in blocks: what a resumable stream keeps until its peer has it. Internal to the room. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace wharf::link {

// Blocks are taken from a stack of freed ones, so that a queue that is emptied as it is filled stays in the cache.
class ByteQueue {
 public:
  void Append(std::span<const std::byte> bytes);
  // REQUIRES (all three): that many bytes are there.
  void DropFront(size_t bytes);
  void DropBack(size_t bytes);
  // Copies the bytes from `offset` (0 = the front) on.
  void CopyOut(size_t offset, std::span<std::byte> into) const;
  void Clear() { DropFront(size_); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr size_t kBlockBytes = 64 << 10;
  static constexpr size_t kSpareBlocks = 128;
  using Block = std::unique_ptr<std::byte[]>;

  void Release(Block block);

  std::deque<Block> blocks_;  // full but for the first and the last
  std::vector<Block> spare_;
  size_t begin_ = 0;  // in the first block
  size_t size_ = 0;
};

}  // namespace wharf::link
