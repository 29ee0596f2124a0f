// UploadSender: sends frames that may carry the program's data, coded where that pays (bulk/bulk_encoder.h). What is
// coded must arrive in the order in which it was, so both happen under one lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/synchronization/mutex.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/offload/bulk/bulk_encoder.h"

namespace wharf::offload {

// Whether data of a session travel coded.
enum class Compression : uint8_t {
  kOff,
  kAuto,   // where it pays on the link that was measured
  kAlways  // as if the link carried kAlwaysBitsPerSecond: for tests and comparisons
};
inline constexpr double kAlwaysBitsPerSecond = 8e6;

// A frame without its bulk.
struct UploadFrame {
  uint16_t kind = 0;
  uint64_t tag = 0;
  std::span<const std::byte> head;
  link::BulkOwnership ownership = link::BulkOwnership::kCopy;
  link::Urgency urgency = link::Urgency::kNow;
};

// The operation that the bulk belongs to, encoded.
struct UploadOperation {
  uint16_t number = 0;
  std::span<const std::byte> head;
};

// Thread-safe. Its lock comes before the channel's, and is held while the channel has no room.
class UploadSender {
 public:
  // Both outlive it.
  UploadSender(link::Channel* channel, const link::LinkEstimator* estimator)
      : channel_(channel), estimator_(estimator) {}

  // From now on data may be coded: the server can decode them.
  void Enable(Compression compression) { compression_.store(compression, std::memory_order_relaxed); }

  // As Channel::Send.
  absl::Status Send(const UploadFrame& frame, const UploadOperation& operation, std::span<const std::byte> bulk);

  link::Channel& channel() { return *channel_; }
  BulkTraffic Counters() const { return encoder_.Counters(); }
  // As far as is known: 0 at first.
  Nanoseconds RoundTrip() const { return estimator_->Estimate().round_trip; }

 private:
  EncodedBulk Encode(const UploadOperation& operation, std::span<const std::byte> bulk)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  link::Channel* const channel_;
  const link::LinkEstimator* const estimator_;
  std::atomic<Compression> compression_{Compression::kOff};
  absl::Mutex mutex_;
  BulkEncoder encoder_;  // used under mutex_, but for its counters
};

}  // namespace wharf::offload
