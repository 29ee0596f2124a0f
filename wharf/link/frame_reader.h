// Takes frames off a ByteStream and gives them to a FrameHandler. Internal to the room; the fuzz target's way in.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/link/channel.h"

namespace wharf::link {

// Used by one thread at a time.
class FrameReader {
 public:
  FrameReader(ByteStream& stream, const FrameLimits& limits);

  // Reads one frame. `deliver` is asked before each call of the handler; while it says no, the frame is read and
  // dropped. kUnavailable "closed by peer" at the end of the stream.
  template <typename Deliver>
  absl::Status ReadFrame(FrameHandler& handler, const Deliver& deliver) {
    return ReadFrameIf(handler, &Call<Deliver>, &deliver);
  }

  // Whether ReadFrame would read nothing from the stream: a whole frame has come along with one before.
  bool HasFrame() const;
  // Reads to the end of the stream, whatever comes.
  void DropRest();

  uint64_t frames() const { return frames_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  template <typename Deliver>
  static bool Call(const void* deliver) {
    return (*static_cast<const Deliver*>(deliver))();
  }
  absl::Status ReadFrameIf(FrameHandler& handler, bool (*deliver)(const void*), const void* argument);
  absl::Status ReadHeader(FrameHeader& header);
  // `head` is valid until the next read from the stream.
  absl::StatusOr<std::span<const std::byte>> ReadHead(const FrameHeader& header);
  absl::Status ReadExactly(std::span<std::byte> into);
  // Reads `size` bytes into `into`, taking memory only as bytes arrive.
  absl::Status ReadGrowing(std::vector<std::byte>& into, size_t size);
  absl::Status Drop(size_t size);
  absl::Status Fill(size_t wanted);
  absl::StatusOr<size_t> ReadStream(std::span<std::byte> into);

  ByteStream& stream_;
  const FrameLimits limits_;
  const std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is in the buffer
  std::vector<std::byte> head_;
  std::atomic<uint64_t> frames_{0}, bytes_{0};
};

}  // namespace wharf::link
