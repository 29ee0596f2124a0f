// ArrivalMeter: how fast data arrive, measured where they do. Whoever sends cannot tell: what it sent lies in the
// buffers of its own machine. The peer is told the result (Arrived in wire.h).
#pragma once

#include <cstddef>
#include <optional>

#include "wharf/base/clock.h"

namespace wharf::offload {

// For the reader thread of a channel, which says when the head of a frame with bulk is there and when the frame is
// whole. Measured is only what came when the reader had waited for it: otherwise some of it had arrived before.
class ArrivalMeter {
 public:
  struct Arrival {
    size_t bytes = 0;
    Nanoseconds duration{0};
  };

  // The head of a frame with so much bulk was read.
  void Begin(size_t bulk_bytes, TimePoint now) {
    begun_ = bulk_bytes >= kLeastBytes && now - free_since_ >= kWaited ? std::optional(now) : std::nullopt;
  }
  // The frame is whole. What is worth telling; rarely more often than every kPause.
  std::optional<Arrival> End(size_t bulk_bytes, TimePoint now) {
    if (!begun_) return std::nullopt;
    const Arrival arrival{bulk_bytes, now - *begun_};
    begun_.reset();
    if (told_ && now - *told_ < kPause) return std::nullopt;
    told_ = now;
    return arrival;
  }
  // The reader has nothing left to do but to wait for the next frame.
  void Free(TimePoint now) { free_since_ = now; }

  static constexpr size_t kLeastBytes = 32 << 10;  // the channel's reader may have 16 KiB when the head is read
  static constexpr Nanoseconds kWaited = std::chrono::milliseconds(1);
  static constexpr Nanoseconds kPause = std::chrono::milliseconds(20);

 private:
  TimePoint free_since_{Nanoseconds(INT64_MIN / 2)};  // nothing came before
  std::optional<TimePoint> begun_, told_;
};

}  // namespace wharf::offload
