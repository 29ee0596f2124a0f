// ArrivalMeter: how fast data arrive, measured where they do. Whoever sends cannot tell: what it sent lies in the
// buffers of its own machine. The peer is told the result (Arrived in wire.h).
#pragma once

#include <cstddef>
#include <optional>

#include "wharf/base/clock.h"

namespace wharf::offload {

// For the reader thread of a channel, which says when the head of a frame with bulk is there and when the frame is
// whole. Measured is only what the reader can tell the beginning of: a frame whose head it waited for, and one that
// comes right behind a frame that arrived while it was read, as those of a stream do that fills the link.
class ArrivalMeter {
 public:
  struct Arrival {
    size_t bytes = 0;
    Nanoseconds duration{0};
  };

  // The head of a frame with so much bulk was read.
  void Begin(size_t bulk_bytes, TimePoint now) {
    if (bulk_bytes < kLeastBytes) return;
    head_ = now;
    since_.reset();
    if (now - free_since_ >= kWaited) {
      since_ = now;
    } else if (level_ && now - *level_ < kWaited) {
      since_ = level_;
    }
  }
  // The frame is whole. What is worth telling; rarely more often than every kPause.
  std::optional<Arrival> End(size_t bulk_bytes, TimePoint now) {
    if (!head_) return std::nullopt;
    const bool arrived_meanwhile = now - *head_ >= kWaited;
    const bool measured = since_ && (arrived_meanwhile || *since_ == *head_);
    level_ = arrived_meanwhile ? std::optional(now) : std::nullopt;
    head_.reset();
    if (!measured || (told_ && now - *told_ < kPause)) return std::nullopt;
    told_ = now;
    return Arrival{bulk_bytes, now - *since_};
  }
  // The reader has nothing left to do but to wait for the next frame.
  void Free(TimePoint now) { free_since_ = now; }

  static constexpr size_t kLeastBytes = 32 << 10;  // the channel's reader may have 16 KiB when the head is read
  static constexpr Nanoseconds kWaited = std::chrono::milliseconds(1);
  static constexpr Nanoseconds kPause = std::chrono::milliseconds(20);

 private:
  TimePoint free_since_{Nanoseconds(INT64_MIN / 2)};  // nothing came before
  std::optional<TimePoint> head_;                     // of the frame that is being read, if it is worth measuring
  std::optional<TimePoint> since_;                    // its bytes arrive since then; unknown if some were here before
  std::optional<TimePoint> level_;                    // all that had arrived until then was read
  std::optional<TimePoint> told_;
};

}  // namespace wharf::offload
