// What the room's tests share.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wharf/link/channel.h"

namespace wharf::link {

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// Bytes that differ from place to place.
inline std::vector<std::byte> Pattern(size_t size, uint32_t seed = 1) {
  std::vector<std::byte> bytes(size);
  uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

struct ReceivedFrame {
  FrameHeader header;
  std::string head;
  std::vector<std::byte> bulk;
};

// Keeps what arrives; tests wait for it. Thread-safe.
class Recorder : public FrameHandler {
 public:
  // Called on the reader thread before the frame is kept.
  std::function<absl::Status(const FrameHeader&, std::span<const std::byte> head)> on_frame;

  absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    if (on_frame) WHARF_RETURN_IF_ERROR(on_frame(header, head));
    std::lock_guard lock(mutex_);
    frames_.push_back({header, AsText(head), std::move(bulk)});
    changed_.notify_all();
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status& why) override {
    std::lock_guard lock(mutex_);
    closed_.push_back(why);
    changed_.notify_all();
  }

  // Waits until `count` frames are there or the channel closed; takes all of them.
  std::vector<ReceivedFrame> Take(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return frames_.size() >= count || !closed_.empty(); });
    return std::exchange(frames_, {});
  }
  absl::Status WaitClosed() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !closed_.empty(); });
    return closed_.front();
  }
  size_t times_closed() {
    std::lock_guard lock(mutex_);
    return closed_.size();
  }
  size_t frames_kept() {
    std::lock_guard lock(mutex_);
    return frames_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReceivedFrame> frames_;
  std::vector<absl::Status> closed_;
};

// Gives `bytes`, which must outlive it, in reads of at most `longest` bytes, whose sizes change as `seed` says.
class FuzzStream final : public ByteStream {
 public:
  FuzzStream(std::span<const std::byte> bytes, size_t seed, size_t longest)
      : bytes_(bytes), read_(seed), longest_(longest) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    read_ = read_ * 5 % longest_ + 1;
    const size_t count = std::min({into.size(), bytes_.size(), read_});
    std::memcpy(into.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }
  absl::Status Write(std::span<const std::span<const std::byte>>) override { return absl::OkStatus(); }
  void Shutdown() override {}
  std::string Peer() const override { return "fuzz"; }
  bool IsLocal() const override { return true; }

 private:
  std::span<const std::byte> bytes_;
  size_t read_;
  const size_t longest_;
};

}  // namespace wharf::link
