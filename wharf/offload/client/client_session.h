// ClientSession: the client's end of an offloaded CUDA program. It shakes hands, sends the operations of wire.h over a
// channel, waits for replies, and keeps CUDA's asynchronous error state. It is made of parts, each with a page of its
// own: what waits for answers (RequestTable), errors (ErrorState), the watch over a silent server (LivenessMonitor),
// the program's host functions (HostCallRunner), and the replay modes (ReplayClient).
//
// Errors: posted operations report nothing; what went wrong with them arrives with a later reply and is returned by the
// call that waits for it. A fault of the device, and the loss of the server, are sticky: every later call returns them.
// The server counts as lost when nothing was heard from it, and nothing could be sent, for Options::timeout; while a
// thread waits, pings ask for a sign of life, so a long kernel is no loss.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/offload/bulk/arrival_meter.h"
#include "wharf/offload/bulk/bulk_decoder.h"
#include "wharf/offload/client/call_scope.h"
#include "wharf/offload/client/error_state.h"
#include "wharf/offload/client/host_call_runner.h"
#include "wharf/offload/client/liveness_monitor.h"
#include "wharf/offload/client/replay_client.h"
#include "wharf/offload/client/request.h"
#include "wharf/offload/client/request_table.h"
#include "wharf/offload/client/upload_sender.h"
#include "wharf/offload/handshake.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

struct ClientSessionOptions {
  std::string token, program;
  uint64_t memory_wish = 0;
  Nanoseconds timeout = std::chrono::seconds(10);
  Mode mode = Mode::kPosted;
  Compression compression = Compression::kOff;  // kPerCall never compresses: it is the papers' baseline
  // Of kReplay. Unsafe: as published, the server runs ahead without a way back. The search reports sequences only.
  bool unsafe_replay = false;
  LaneSearchFactory search = MakeIncrementalSearch;
  std::function<void(std::string_view)> output;   // text printed by kernels; on the thread that reads
  std::function<void(std::string_view)> on_lost;  // once, with the reason
  const Clock* clock = &Clock::Real();            // outlives the session
};

struct ClientSessionCounters {
  uint64_t posted_operations = 0;
  // Waits for something the server could not have sent before it heard what the program has done since its last wait.
  uint64_t blocking_round_trips = 0;
  uint64_t bytes_up = 0, bytes_down = 0;
  BulkTraffic bulk_up, bulk_down;
  PredictionCounters prediction;  // replay modes only, as is what follows
  SequenceCounters sequences;
  uint64_t known_operations = 0;
  uint64_t elided = 0;                                     // waits for nothing but completion, answered here
  uint64_t pushes = 0, early_pushes = 0, void_pushes = 0;  // answers to predicted operations; came before they were
                                                           // asked for; were thrown away
};

// Thread-safe. Locks, in the order in which they may be taken: the replay client's; the upload sender's, or the request
// table's, the liveness monitor's or the handshake's; the error state's. The host-call runner's is taken with no other.
class ClientSession final : private link::FrameHandler {
 public:
  // Shakes hands. kUnauthenticated, kUnavailable and so on with the server's own words if it refuses; kDeadlineExceeded
  // if it says nothing for the timeout.
  static absl::StatusOr<std::unique_ptr<ClientSession>> Open(std::unique_ptr<link::ByteStream> stream,
                                                             ClientSessionOptions options);
  ~ClientSession() override;

  const Welcome& welcome() const { return welcome_; }
  const ClientSessionOptions& options() const { return options_; }
  Mode mode() const { return options_.mode; }

  using Request = offload::Request;
  using RequestPtr = offload::RequestPtr;

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
    const RequestPtr request = Enqueue(Op::kNumber, Encode(op), {}, Awaited::kByCaller, StreamOf(op));
    const device::CudaError error = Wait({&request, 1});
    return error == device::CudaError::kSuccess ? DecodeReply(*request, *reply) : error;
  }
  // The two halves of Ask, to have several requests under way in one round trip. `into` takes the reply's bulk part; it
  // must stay valid until the request is done.
  template <typename Op>
  RequestPtr Start(const Op& op, std::span<std::byte> into = {}, bool detached = false) {
    static_assert(Op::kAnswer == Answer::kBlocking);
    const Awaited awaited = detached ? Awaited::kByNobody : Awaited::kByCaller;
    return SendRequest(Op::kNumber, Encode(op), into, awaited, StreamOf(op));
  }
  // As Start, for a caller who wants to know nothing but that the stream is done. If it has nothing to do but copies to
  // the device, whose data have been sent, the request is done at once, before the server's answer: what is then sent
  // to other streams comes behind that.
  RequestPtr StartSynchronize(const SynchronizeStream& op) {
    return SendRequest(SynchronizeStream::kNumber, Encode(op), {}, Awaited::kForCompletion, op.stream);
  }
  device::CudaError Wait(std::span<const RequestPtr> requests);
  // For a caller that has many requests under way and takes them as they are answered: waits until `ready` holds, a
  // function that may look whether requests are done (and must not call the session). It is asked again whenever one
  // is and after Wake; the loss of the server ends the wait as well.
  void WaitUntil(const std::function<bool()>& ready);
  void Wake() { requests_.Wake(); }
  // Then, once for each request, in the place of Wait: the sticky error or the request's own.
  device::CudaError Collect(const RequestPtr& request);
  // And the pending error of posted operations, which is then no longer pending.
  device::CudaError TakePendingError() { return errors_.TakePending(); }
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
  void NoteDone(const Request& request, device::StreamId stream) { requests_.NoteDone(request, stream); }
  // Never true in the per-call modes; false if an error waits to be reported.
  bool IsKnownDone(device::StreamId stream) const;

  // Ends a call: in the per-call modes it waits for an acknowledgement if the call made no round trip yet. Returns what
  // the call returns: `error`, or what the acknowledgement brought.
  device::CudaError Finish(CallScope& scope, device::CudaError error);

  // Has the device run work ordered after everything on `stream`: `call` runs on a thread of the session, which must
  // not block for long on the device.
  device::CudaError PostHostCall(device::StreamId stream, std::function<void()> call);

  // kSuccess, the device's fault or kRemoteLost.
  device::CudaError StickyError() const { return errors_.Sticky(); }
  std::string StickyMessage() const { return errors_.StickyMessage(); }
  // How often a call sent what its class does not permit: 0 unless the table of calls is wrong.
  uint64_t ClassViolations() const { return violations_.load(std::memory_order_relaxed); }
  ClientSessionCounters Counters() const;
  link::LinkEstimate Link() const { return estimator_.Estimate(); }

  // Says goodbye, sends what is queued for at most `drain`, closes. Later calls fail. Idempotent.
  void Close(Nanoseconds drain);

 private:
  ClientSession(std::unique_ptr<link::ByteStream> stream, ClientSessionOptions options);

  absl::Status ShakeHands();
  device::CudaError SendPosted(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> bulk,
                               link::BulkOwnership ownership, std::optional<device::StreamId> stream);
  enum class Awaited : uint8_t { kByCaller, kByNobody, kForCompletion };
  RequestPtr SendRequest(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into,
                         Awaited awaited, std::optional<device::StreamId> stream);
  RequestPtr Enqueue(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into, Awaited awaited,
                     std::optional<device::StreamId> stream);
  // Before an operation is sent that waits answered on this side may have been for.
  void SettleElided(uint16_t number, std::optional<device::StreamId> stream);
  void CheckClass(bool permitted);
  // An answer whose data are coded.
  absl::Status OnCodedAnswer(const link::FrameHeader& header, std::span<const std::byte> head,
                             std::span<const std::byte> bulk);
  // How long data took to arrive is told to the server.
  void NoteArrival(const link::FrameHeader& header);
  // Counts a wait that is over.
  void CountWait(std::span<const RequestPtr> requests);
  // What this thread's call waited for an answer, from `begun` till now.
  void AddWait(TimePoint begun);
  // Closes the channel; every waiting and later call gets kRemoteLost.
  device::CudaError Lose(std::string reason);

  // link::FrameHandler
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  const ClientSessionOptions options_;
  const std::unique_ptr<link::Channel> channel_;  // never null
  Welcome welcome_;                               // written before the handshake ends
  link::LinkEstimator estimator_;
  UploadSender uploads_;
  ErrorState errors_;
  LivenessMonitor liveness_;
  RequestTable requests_;
  wire::ClientHandshake<ProgramProtocol> handshake_;
  HostCallRunner host_calls_;
  std::unique_ptr<ReplayClient> replay_;  // null unless both sides replay; set before the session is used
  std::atomic<uint64_t> posted_{0}, round_trips_{0}, violations_{0};
  std::atomic<bool> codes_bulk_{false};
  ArrivalMeter arrivals_;  // reader thread only, as the decoder
  BulkDecoder decoder_;
};

}  // namespace wharf::offload
