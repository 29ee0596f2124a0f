// Session: the client's end of an offloaded CUDA program. It sends the operations of wire.h over a channel, waits for
// replies, and keeps CUDA's asynchronous error state.
//
// Errors: posted operations report nothing; what went wrong with them arrives with a later reply and is returned by the
// call that waits for it. A fault of the device, and the loss of the server, are sticky: every later call returns them.
// The server counts as lost when nothing was heard from it, and nothing could be sent, for Options::timeout; while a
// thread waits, pings ask for a sign of life, so a long kernel is no loss.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/base/clock.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/offload/call_scope.h"
#include "wharf/offload/lane_pool.h"
#include "wharf/offload/predictor.h"
#include "wharf/offload/step_op.h"
#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

struct SessionOptions {
  std::string token, program;
  uint64_t memory_wish = 0;
  Nanoseconds timeout = std::chrono::seconds(10);
  Mode mode = Mode::kPosted;
  std::function<void(std::string_view)> output;   // text printed by kernels; on the reader thread
  std::function<void(std::string_view)> on_lost;  // once, with the reason
};

struct SessionCounters {
  uint64_t posted_operations = 0;
  // Waits for something the server could not have sent before it heard what the program has done since its last wait.
  uint64_t blocking_round_trips = 0;
  uint64_t bytes_up = 0, bytes_down = 0;
  PredictionCounters prediction;  // replay modes only, as is what follows
  SequenceCounters sequences;
  uint64_t known_operations = 0;
  uint64_t elided = 0;                                     // waits for nothing but completion, answered here
  uint64_t pushes = 0, early_pushes = 0, void_pushes = 0;  // answers to foreseen operations; came before they were
                                                           // asked for; were thrown away
};

// Thread-safe.
class Session final : private link::FrameHandler {
 public:
  // Shakes hands. kUnauthenticated, kUnavailable and so on with the server's own words if it refuses; kDeadlineExceeded
  // if it says nothing for the timeout.
  static absl::StatusOr<std::unique_ptr<Session>> Open(std::unique_ptr<link::ByteStream> stream,
                                                       SessionOptions options);
  ~Session() override;

  const Welcome& welcome() const { return welcome_; }
  Mode mode() const { return options_.mode; }

  // A request under way. `into` takes the reply's bulk part; it must stay valid until the request is done.
  struct Request {
    std::span<std::byte> into;
    uint64_t tag = 0;        // the reply's; of a foreseen operation: its position, and kForeseen
    uint64_t index = 0;      // operations made so far, this one included
    uint64_t epoch = 0;      // foreseen: deviations before it
    uint64_t known = 0;      // foreseen: what the server knew when it answered
    bool detached = false;   // nobody waits: an error is kept for the next call that does
    Predictor::Place place;  // foreseen: of the operation
    bool elided = false;     // detached, and without data: stands for a wait that was answered here
    bool done = false;
    ReplyHeader header;
    std::vector<std::byte> head;  // the operation's own Reply, encoded
    size_t received = 0;
    absl::Time sent;
  };
  using RequestPtr = std::shared_ptr<Request>;

  // Sends and returns. The sticky error if there is one.
  template <typename Op>
  device::CudaError Post(const Op& op, std::span<const std::byte> bulk = {},
                         link::BulkOwnership ownership = link::BulkOwnership::kCopy) {
    static_assert(Op::kAnswer == Answer::kPosted);
    return SendPosted(Op::kNumber, Encode(op), bulk, ownership, StreamOf(op));
  }
  // Sends and waits: the first of the sticky error, the pending error of posted operations, the request's own.
  template <typename Op>
  device::CudaError Ask(const Op& op, typename Op::Reply* reply = nullptr, std::span<std::byte> into = {}) {
    const RequestPtr request = Start(op, into);
    const device::CudaError error = Wait({&request, 1});
    if (error != device::CudaError::kSuccess || reply == nullptr) return error;
    return DecodeReply(*request, *reply);
  }
  // The same for a fact that never changes and is kept by the caller, which a call of any class may need once.
  template <typename Op>
  device::CudaError AskOnce(const Op& op, typename Op::Reply* reply) {
    const RequestPtr request = Enqueue(Op::kNumber, Encode(op), {}, false, StreamOf(op));
    const device::CudaError error = Wait({&request, 1});
    return error == device::CudaError::kSuccess ? DecodeReply(*request, *reply) : error;
  }
  // The two halves of Ask, to have several requests under way in one round trip.
  template <typename Op>
  RequestPtr Start(const Op& op, std::span<std::byte> into = {}, bool detached = false) {
    static_assert(Op::kAnswer == Answer::kBlocking);
    return SendRequest(Op::kNumber, Encode(op), into, detached, StreamOf(op));
  }
  device::CudaError Wait(std::span<const RequestPtr> requests);
  // For a caller that has many requests under way and takes them as they are answered: waits until `ready` holds, a
  // function that may look whether requests are done (and must not call the session). It is asked again whenever one
  // is and after Wake; the loss of the server ends the wait as well.
  void WaitUntil(const std::function<bool()>& ready);
  void Wake();
  // Then, once for each request, in the place of Wait: the sticky error or the request's own.
  device::CudaError Collect(const RequestPtr& request);
  // And the pending error of posted operations, which is then no longer pending.
  device::CudaError TakePendingError();
  // Waits until no detached request is under way: their destinations are then the caller's again.
  void WaitForDetached();
  template <typename Reply>
  device::CudaError DecodeReply(const Request& request, Reply& reply) {
    auto decoded = Decode<Reply>(request.head);
    if (!decoded.ok()) return Lose("the server sent a malformed reply");
    reply = *std::move(decoded);
    return device::CudaError::kSuccess;
  }

  // Remembers that `request` was answered and that all work sent before it on `stream` was done by then. As long as
  // nothing is sent after it, waiting for that stream again would tell nothing new: IsKnownDone.
  void NoteDone(const Request& request, device::StreamId stream);
  // Never true in the per-call modes; false if an error waits to be reported.
  bool IsKnownDone(device::StreamId stream) const;

  // Ends a call: in the per-call modes it waits for an acknowledgement if the call made no round trip yet. Returns what
  // the call returns: `error`, or what the acknowledgement brought.
  device::CudaError Finish(CallScope& scope, device::CudaError error);

  // Has the device run work ordered after everything on `stream`: `call` runs on a thread of the session, which must
  // not block for long on the device.
  device::CudaError PostHostCall(device::StreamId stream, std::function<void()> call);

  // kSuccess, the device's fault or kRemoteLost.
  device::CudaError StickyError() const { return sticky_.load(std::memory_order_acquire); }
  std::string StickyMessage() const;
  // How often a call sent what its class does not permit: 0 unless the table of calls is wrong.
  uint64_t ClassViolations() const { return violations_.load(std::memory_order_relaxed); }
  SessionCounters Counters() const;
  link::LinkEstimate Link() const { return estimator_.Estimate(); }

  // Says goodbye, sends what is queued for at most `drain`, closes. Later calls fail. Idempotent.
  void Close(Nanoseconds drain);

 private:
  // Marks the tag of a foreseen operation; the rest is its position.
  static constexpr uint64_t kForeseen = uint64_t{1} << 63;

  Session(std::unique_ptr<link::ByteStream> stream, SessionOptions options);

  absl::Status ShakeHands();
  device::CudaError SendPosted(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> bulk,
                               link::BulkOwnership ownership, std::optional<device::StreamId> stream);
  RequestPtr SendRequest(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into, bool detached,
                         std::optional<device::StreamId> stream);
  RequestPtr Enqueue(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into, bool detached,
                     std::optional<device::StreamId> stream);

  absl::Status SendWhole(uint16_t number, const std::vector<std::byte>& head, const RequestPtr& request);

  // --- replay (session_replay.cc) ---
  absl::Status PostForeseen(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> bulk,
                            link::BulkOwnership ownership, std::optional<device::StreamId> stream);
  absl::Status RequestForeseen(uint16_t number, const std::vector<std::byte>& head, const RequestPtr& request,
                               std::optional<device::StreamId> stream);
  bool MayElide(uint16_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_, mutex_);
  RequestPtr Elide(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleElided(std::optional<device::StreamId> stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_);
  Foresight Foresee(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> data = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_);
  absl::Status SendProgressBefore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_);
  bool TakeEarly(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendProgress(link::Urgency urgency, std::span<const std::byte> bulk = {},
                            link::BulkOwnership ownership = link::BulkOwnership::kCopy)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_);
  absl::Status SendProgressUpTo(uint64_t position, link::Urgency urgency, std::span<const std::byte> bulk,
                                link::BulkOwnership ownership) ABSL_EXCLUSIVE_LOCKS_REQUIRED(order_mutex_);
  absl::StatusOr<std::span<std::byte>> PushDestination(const link::FrameHeader& header, std::span<const std::byte> head)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OnPush(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  void Pace();
  void FlushProgress(Nanoseconds patience);
  void StopPacing();
  void Check(bool permitted);
  // Waits, asking for signs of life meanwhile, until `done` or the channel is closed.
  template <typename Done>
  void Await(Done done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration tick = std::max(absl::FromChrono(options_.timeout) / 4, absl::Milliseconds(1));
    // A lost session waits for the channel's last word: until then its reader may write to the caller's memory.
    while (!done() && !closed_) {
      if (!changed_.WaitWithTimeout(&mutex_, tick) || closed_) continue;
      mutex_.Unlock();
      Ping();
      mutex_.Lock();
    }
  }
  // Closes the channel; every waiting and later call gets kRemoteLost.
  device::CudaError Lose(std::string reason);
  // Counts a wait that is over.
  void CountWait(std::span<const RequestPtr> requests);
  device::CudaError Outcome(std::span<const RequestPtr> requests);

  // link::FrameHandler
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  absl::Status OnReply(const link::FrameHeader& header, std::span<const std::byte> head, bool has_stray_data);
  void Finish(Request& request, ReplyHeader header, std::span<const std::byte> rest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the errors that the next call that waits returns out of an answer: of what was posted before it, and with
  // `include_own` (nobody waits for the answer) the request's own; and a fault.
  void Latch(ReplyHeader& header, bool include_own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Watches for signs of life while a thread sends or waits, so that a full queue cannot hold a program for ever.
  class Busy {
   public:
    explicit Busy(Session& session);
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Session& session_;
  };
  void Watch();
  void Ping();
  bool SawLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunHostCalls();
  void Measure(const Request& request);

  const SessionOptions options_;
  std::unique_ptr<link::Channel> channel_;  // never null
  Welcome welcome_;
  link::LinkEstimator estimator_;
  std::atomic<device::CudaError> sticky_{device::CudaError::kSuccess};
  std::atomic<uint64_t> next_tag_{1}, posted_{0}, round_trips_{0}, violations_{0};
  std::atomic<uint64_t> operations_{0};  // made so far

  // Replay: operations leave in the order in which this is taken. Before mutex_.
  mutable absl::Mutex order_mutex_;
  const std::shared_ptr<LanePool> lanes_ = std::make_shared<LanePool>();
  bool replays_ = false;  // set before the session is used
  Predictor predictor_ ABSL_GUARDED_BY(order_mutex_);
  absl::CondVar pace_;
  bool pacing_ ABSL_GUARDED_BY(order_mutex_) = false, pace_stop_ ABSL_GUARDED_BY(order_mutex_) = false;
  uint64_t progress_frames_ ABSL_GUARDED_BY(order_mutex_) = 0;
  std::optional<device::StreamId> elided_stream_ ABSL_GUARDED_BY(order_mutex_);  // of the last elided wait

  mutable absl::Mutex mutex_;
  absl::CondVar changed_, stopping_;
  std::map<uint64_t, RequestPtr> requests_ ABSL_GUARDED_BY(mutex_);
  device::CudaError pending_error_ ABSL_GUARDED_BY(mutex_) = device::CudaError::kSuccess;
  std::string sticky_message_ ABSL_GUARDED_BY(mutex_);
  std::string goodbye_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  uint64_t detached_ ABSL_GUARDED_BY(mutex_) = 0;     // requests under way that nobody waits for, but for their data
  uint64_t elided_ ABSL_GUARDED_BY(mutex_) = 0;       // the same, for nothing
  bool has_printed_ ABSL_GUARDED_BY(mutex_) = false;  // kernels have
  std::atomic<bool> calls_host_{false};               // the program uses host functions
  uint64_t done_index_ ABSL_GUARDED_BY(mutex_) = 0;   // see NoteDone
  uint64_t settled_ ABSL_GUARDED_BY(mutex_) = 0;      // operations made when a wait last ended
  // Answers that came before their operations, by position.
  struct EarlyPush {
    PushHeader push;
    ReplyHeader header;
    std::vector<std::byte> rest, bulk;
  };
  std::map<uint64_t, EarlyPush> early_ ABSL_GUARDED_BY(mutex_);
  uint64_t early_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // What the predictor is yet to be told: whether the server was sure.
  std::vector<std::pair<Predictor::Place, bool>> answered_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;  // the predictor's
  uint64_t pushes_ ABSL_GUARDED_BY(mutex_) = 0, early_pushes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t void_pushes_ ABSL_GUARDED_BY(mutex_) = 0, elided_total_ ABSL_GUARDED_BY(mutex_) = 0;
  device::StreamId done_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;   // the channel told so
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // by us, on purpose
  bool lost_told_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t frames_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t received_mark_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t sent_mark_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> pings_{0};
  absl::Time last_life_ ABSL_GUARDED_BY(mutex_);

  absl::Mutex host_mutex_;
  std::map<uint64_t, std::function<void()>> host_calls_ ABSL_GUARDED_BY(host_mutex_);
  std::deque<uint64_t> host_ready_ ABSL_GUARDED_BY(host_mutex_);
  bool host_stop_ ABSL_GUARDED_BY(host_mutex_) = false;

  std::thread watcher_, host_thread_, pacer_;
};

}  // namespace wharf::offload
