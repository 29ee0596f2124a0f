// ReplayClient: sends the operations of a session in the replay modes. What the server predicts is counted instead of
// sent, and leaves as records of a Progress frame: when the program waits, hands over data or has made many operations;
// otherwise soon, by a thread of its own. docs/replay.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/link/channel.h"
#include "wharf/offload/client/liveness_monitor.h"
#include "wharf/offload/client/prediction/predictor.h"
#include "wharf/offload/client/request_table.h"
#include "wharf/offload/client/thread_numbers.h"
#include "wharf/offload/client/upload_sender.h"

namespace wharf::offload {

struct ReplayClientCounters {
  PredictionCounters prediction;
  SequenceCounters sequences;
  uint64_t known_operations = 0;
};

// An operation of the program, encoded.
struct OutgoingOperation {
  uint16_t number = 0;
  std::span<const std::byte> head;
  std::optional<device::StreamId> stream = std::nullopt;
  std::span<const std::byte> bulk = {};
  link::BulkOwnership ownership = link::BulkOwnership::kCopy;
};

// Within how long what was made is told, if nothing else sends it; `round_trip`: 0 if it is not known. Near a server
// that is soon enough for both to work at the same time; over a slow link few frames go in the meantime.
Nanoseconds PaceFor(Nanoseconds round_trip);

// Thread-safe. One lock: operations leave, and are predicted, in the order in which it is taken. It comes before those
// of the request table and of the liveness monitor, and is held while frames are handed to the channel, which may have
// to wait for room. A posted operation that was predicted takes this lock only, and allocates nothing.
class ReplayClient {
 public:
  // All outlive the client. `begins_with_input`: the server runs ahead as soon as input arrives, so each input is told
  // at once (the published scheme).
  ReplayClient(UploadSender* uploads, RequestTable* requests, LivenessMonitor* liveness, const Clock* clock,
               bool begins_with_input, LaneSearchFactory search = MakeIncrementalSearch);
  ~ReplayClient();
  ReplayClient(const ReplayClient&) = delete;
  ReplayClient& operator=(const ReplayClient&) = delete;

  // The channel's error if it could not be sent.
  absl::Status Post(const OutgoingOperation& operation);
  // The same; afterwards the answer is under way, or here.
  absl::Status Ask(const OutgoingOperation& operation, const RequestPtr& request);

  ReplayClientCounters Counters() const;

  // Starts the thread that sends what nobody else does.
  void Start();
  // Sends it now, unless the connection takes nothing for as long as `patience`.
  void Flush(Nanoseconds patience);
  // Ends the thread. Idempotent. REQUIRES: the channel is closed, so nobody holds the lock for long.
  void Stop();
  // Until the thread has ended. REQUIRES: Stop was called.
  void Join();

 private:
  Prediction Predict(const OutgoingOperation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleElided(const OutgoingOperation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendProgressBefore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // With the bulk of `operation`, the last one.
  absl::Status SendProgress(link::Urgency urgency, const OutgoingOperation& operation = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendProgressUpTo(uint64_t position, link::Urgency urgency, const OutgoingOperation& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pace();

  UploadSender* const uploads_;
  RequestTable* const requests_;
  LivenessMonitor* const liveness_;
  const Clock* const clock_;
  const bool begins_with_input_;
  const std::shared_ptr<ThreadNumbers> threads_ = std::make_shared<ThreadNumbers>();

  mutable absl::Mutex mutex_;
  Predictor predictor_ ABSL_GUARDED_BY(mutex_);
  std::vector<RequestTable::Sureness> learnt_ ABSL_GUARDED_BY(mutex_);  // kept for its memory
  uint64_t progress_frames_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::CondVar pace_;
  bool pacing_ ABSL_GUARDED_BY(mutex_) = false, stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread pacer_;
};

}  // namespace wharf::offload
