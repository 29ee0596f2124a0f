#include "wharf/offload/client/client_session.h"

#include <cassert>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/trace.h"
#include "wharf/offload/welcome_check.h"
#include "wharf/wire/goodbye.h"

namespace wharf::offload {
namespace {

using device::CudaError;

uint16_t Number(FrameKind kind) { return static_cast<uint16_t>(kind); }

}  // namespace

absl::StatusOr<std::unique_ptr<ClientSession>> ClientSession::Open(std::unique_ptr<link::ByteStream> stream,
                                                                   ClientSessionOptions options) {
  std::unique_ptr<ClientSession> session(new ClientSession(std::move(stream), std::move(options)));
  session->channel_->Start(session.get());
  WHARF_RETURN_IF_ERROR(session->ShakeHands());
  ClientSession* const raw = session.get();
  if (raw->mode() == Mode::kReplay && (raw->welcome_.features & kFeatureReplay) != 0) {
    raw->replay_ = std::make_unique<ReplayClient>(&raw->uploads_, &raw->requests_, &raw->liveness_, raw->options_.clock,
                                                  raw->options_.unsafe_replay, raw->options_.search);
    raw->replay_->Start();
  }
  raw->liveness_.Start([raw] {
    raw->Lose(fmt::format("no sign of life from the server for {:.0f} ms", Milliseconds(raw->liveness_.timeout())));
  });
  raw->host_calls_.Start();
  return session;
}

ClientSession::ClientSession(std::unique_ptr<link::ByteStream> stream, ClientSessionOptions options)
    : options_(std::move(options)),
      channel_(link::Channel::Create(std::move(stream))),
      uploads_(channel_.get(), &estimator_),
      errors_(options_.on_lost),
      liveness_(channel_.get(), options_.clock, options_.timeout),
      requests_(
          options_.clock, &errors_, &estimator_, liveness_.PingInterval(), [this] { liveness_.Ping(); },
          [this](absl::FunctionRef<bool()> done, Nanoseconds limit) {
            // In replay the reader has to take answers also while nobody waits: those to elided waits.
            return replay_ == nullptr && channel_->ReadHere(done, limit);
          }),
      handshake_(
          "the server", [this](const Welcome&) { errors_.Open(); }, *options_.clock),
      host_calls_(options_.clock, {.done =
                                       [this](uint64_t call) {
                                         (void)channel_->Send(HostCallDone::kNumber, requests_.NextTag(),
                                                              Encode(HostCallDone{call}));
                                       },
                                   .idle = [this] { liveness_.Ping(); }}) {}

ClientSession::~ClientSession() {
  Close({});
  liveness_.Join();
  host_calls_.Join();
  if (replay_ != nullptr) replay_->Join();
  channel_->Stop();  // its reader calls us until it is joined
}

absl::Status ClientSession::ShakeHands() {
  Hello hello;
  hello.program = options_.program;
  hello.memory_wish = options_.memory_wish;
  hello.features = kFeatureKernelPacks;
  if (mode() == Mode::kReplay) hello.features |= kFeatureReplay;
  if (options_.unsafe_replay) hello.features |= kFeatureUnsafeReplay;
  if (options_.compression != Compression::kOff && mode() != Mode::kPerCall) hello.features |= kFeatureCodedBulk;
  WHARF_ASSIGN_OR_RETURN(welcome_, handshake_.Greet(*channel_, hello, options_.token, options_.timeout));
  WHARF_RETURN_IF_ERROR(CheckWelcome(welcome_));
  if ((welcome_.features & hello.features & kFeatureCodedBulk) == 0) return absl::OkStatus();
  codes_bulk_.store(true);
  uploads_.Enable(options_.compression);
  if (options_.compression != Compression::kAlways) return absl::OkStatus();
  const Arrived slow{static_cast<uint64_t>(kAlwaysBitsPerSecond / 8), 1'000'000'000};
  return channel_->Send(Number(FrameKind::kArrived), 0, Encode(slow));
}

void ClientSession::CheckClass(bool permitted) {
  if (permitted) return;
  violations_.fetch_add(1, std::memory_order_relaxed);
  Log(LogLevel::kError, "a call sent what its class forbids", {{"function", CallScope::Current()->function()}});
  assert(false && "a call sent what its class forbids");
}

CudaError ClientSession::SendPosted(uint16_t number, const std::vector<std::byte>& head,
                                    std::span<const std::byte> bulk, link::BulkOwnership ownership,
                                    std::optional<device::StreamId> stream) {
  if (const CallScope* scope = CallScope::Current()) CheckClass(scope->MayPost());
  if (const CudaError error = StickyError(); error != CudaError::kSuccess) return error;
  if (!IsPerCall(options_.mode)) posted_.fetch_add(1, std::memory_order_relaxed);  // else an answer is waited for
  absl::Status sent;
  if (replay_ != nullptr) {
    sent = replay_->Post({number, head, stream, bulk, ownership});
  } else {
    const LivenessMonitor::Busy busy(liveness_);
    SettleElided(number, stream);
    requests_.CountOperation(number, stream);
    sent = uploads_.Send({number, requests_.NextTag(), head, ownership, link::Urgency::kSoon}, {number, head}, bulk);
  }
  return sent.ok() ? CudaError::kSuccess : Lose(std::string(Message(sent)));
}

ClientSession::RequestPtr ClientSession::SendRequest(uint16_t number, const std::vector<std::byte>& head,
                                                     std::span<std::byte> into, Awaited awaited,
                                                     std::optional<device::StreamId> stream) {
  if (const CallScope* scope = CallScope::Current()) CheckClass(scope->MayAsk());
  return Enqueue(number, head, into, awaited, stream);
}

ClientSession::RequestPtr ClientSession::Enqueue(uint16_t number, const std::vector<std::byte>& head,
                                                 std::span<std::byte> into, Awaited awaited,
                                                 std::optional<device::StreamId> stream) {
  auto request = std::make_shared<Request>();
  request->into = into;
  request->detached = awaited == Awaited::kByNobody;
  request->sent = options_.clock->Now();
  request->stream = stream.value_or(device::kDefaultStream);
  request->certain = awaited == Awaited::kForCompletion && !IsPerCall(options_.mode) &&
                     requests_.OnlyCopiesSince(request->stream) && !errors_.HasPending();
  if (StickyError() != CudaError::kSuccess) {
    request->header.error = StickyError();
    request->done = true;
    return request;
  }
  const LivenessMonitor::Busy busy(liveness_);
  absl::Status sent;
  if (replay_ != nullptr) {
    sent = replay_->Ask({number, head, stream}, request);
  } else {
    SettleElided(number, stream);
    request->index = requests_.CountOperation(number, stream);
    requests_.Add(request);
    sent = channel_->Send(number, request->tag, head);
  }
  if (!sent.ok()) Lose(std::string(Message(sent)));
  return request;
}

void ClientSession::SettleElided(uint16_t number, std::optional<device::StreamId> stream) {
  if (requests_.MustSettle(number, stream)) requests_.AwaitElided();
}

CudaError ClientSession::Wait(std::span<const RequestPtr> requests) {
  const TimePoint begun = options_.clock->Now();
  {
    TraceSpan span("wait", "offload");
    const LivenessMonitor::Busy busy(liveness_);
    requests_.Await(requests);
  }
  AddWait(begun);
  CountWait(requests);
  return errors_.Outcome(requests);
}

void ClientSession::CountWait(std::span<const RequestPtr> requests) {
  if (!requests_.CountWait(requests)) return;
  round_trips_.fetch_add(1, std::memory_order_relaxed);
  if (CallScope* scope = CallScope::Current()) scope->CountRoundTrip();
}

void ClientSession::AddWait(TimePoint begun) {
  if (CallScope* scope = CallScope::Current()) scope->AddWait(options_.clock->Now() - begun);
}

void ClientSession::WaitUntil(const std::function<bool()>& ready) {
  const TimePoint begun = options_.clock->Now();
  {
    const LivenessMonitor::Busy busy(liveness_);
    requests_.AwaitThat(ready);
  }
  AddWait(begun);
}

CudaError ClientSession::Collect(const RequestPtr& request) {
  CountWait({&request, 1});
  const CudaError error = StickyError();
  return error != CudaError::kSuccess ? error : request->header.error;
}

void ClientSession::WaitForDetached() {
  if (!requests_.AnyDetached()) return;
  const LivenessMonitor::Busy busy(liveness_);
  requests_.AwaitDetached();
}

bool ClientSession::IsKnownDone(device::StreamId stream) const {
  if (IsPerCall(mode()) || StickyError() != CudaError::kSuccess) return false;
  // The errors second: those of an answer are kept before the answer is given.
  return requests_.IsKnownDone(stream) && !errors_.HasPending();
}

CudaError ClientSession::Finish(CallScope& scope, CudaError error) {
  if (!IsPerCall(mode()) || !scope.outermost() || scope.round_trips() != 0) return error;
  if (scope.call_class() == CallClass::kPlumbing) return error;
  if (options_.mode == Mode::kCached && scope.call_class() == CallClass::kLocal) return error;
  if (StickyError() != CudaError::kSuccess) return error;
  const RequestPtr request =
      Enqueue(Acknowledge::kNumber, Encode(Acknowledge{scope.function()}), {}, Awaited::kByCaller, std::nullopt);
  const CudaError learnt = Wait({&request, 1});
  if (error == CudaError::kSuccess) return learnt;
  if (!device::IsSticky(learnt)) errors_.Keep(learnt);
  return error;
}

CudaError ClientSession::PostHostCall(device::StreamId stream, std::function<void()> call) {
  const uint64_t id = requests_.NextTag();
  requests_.ForbidEliding();
  host_calls_.Add(id, std::move(call));
  return Post(RequestHostCall{stream, id});
}

ClientSessionCounters ClientSession::Counters() const {
  const link::ChannelStats stats = channel_->Stats();
  ClientSessionCounters counters;
  counters.posted_operations = posted_.load();
  counters.bytes_up = stats.bytes_sent;
  counters.bytes_down = stats.bytes_received;
  counters.bulk_up = uploads_.Counters();
  counters.bulk_down = decoder_.Counters();
  if (replay_ != nullptr) {
    const ReplayClientCounters replay = replay_->Counters();
    counters.prediction = replay.prediction;
    counters.sequences = replay.sequences;
    counters.known_operations = replay.known_operations;
  }
  const PushCounters pushes = requests_.Pushes();
  counters.blocking_round_trips = round_trips_.load() + pushes.made_up;
  counters.elided = pushes.elided;
  counters.pushes = pushes.pushes;
  counters.early_pushes = pushes.early;
  counters.void_pushes = pushes.voided;
  return counters;
}

CudaError ClientSession::Lose(std::string reason) {
  errors_.Lose(std::move(reason));
  channel_->Close();
  return CudaError::kRemoteLost;
}

void ClientSession::Close(Nanoseconds drain) {
  if (!errors_.Close()) return;
  liveness_.Stop();
  if (drain.count() > 0) {
    if (replay_ != nullptr) replay_->Flush(drain);
    (void)channel_->Send(Number(FrameKind::kGoodbye), 0, Encode(Goodbye{"the program ended"}));
  }
  channel_->Close(drain);
  if (replay_ != nullptr) replay_->Stop();
  host_calls_.Stop();
}

absl::StatusOr<std::span<std::byte>> ClientSession::BulkDestination(const link::FrameHeader& header,
                                                                    std::span<const std::byte> head) {
  liveness_.NoteFrame();
  const bool is_coded = codes_bulk_.load(std::memory_order_relaxed) && header.flags != 0;
  if (codes_bulk_.load(std::memory_order_relaxed)) arrivals_.Begin(header.bulk_bytes, options_.clock->Now());
  if (is_coded) {
    if (header.bulk_bytes <= kMaxBulkBytes) return std::span<std::byte>();
    return InvalidArgument("the server sent {} bytes in one piece", header.bulk_bytes);
  }
  if (header.kind == Number(FrameKind::kPush)) return requests_.PushDestination(header, head);
  if (header.kind == Number(FrameKind::kReply)) return requests_.ReplyDestination(header);
  return InvalidArgument("the server sent data nobody asked for");
}

absl::Status ClientSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                    std::vector<std::byte> bulk) {
  liveness_.NoteFrame();
  if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
  if (codes_bulk_.load(std::memory_order_relaxed)) {
    NoteArrival(header);
    if (header.flags != 0 && !bulk.empty()) return OnCodedAnswer(header, head, bulk);
  }
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kReply:
      return requests_.OnReply(header, head, !bulk.empty());
    case FrameKind::kPush:
      return requests_.OnPush(header, head, std::move(bulk));
    case FrameKind::kOutput: {
      WHARF_ASSIGN_OR_RETURN(const Output output, Decode<Output>(head));
      requests_.ForbidEliding();
      if (options_.output) options_.output(output.text);
      return absl::OkStatus();
    }
    case FrameKind::kArrived: {
      WHARF_ASSIGN_OR_RETURN(const Arrived arrived, Decode<Arrived>(head));
      estimator_.OnUpload(arrived.bytes, Nanoseconds(static_cast<int64_t>(arrived.nanoseconds)));
      return absl::OkStatus();
    }
    case FrameKind::kHostCall: {
      WHARF_ASSIGN_OR_RETURN(const HostCall call, Decode<HostCall>(head));
      host_calls_.Run(call.call);
      return absl::OkStatus();
    }
    case FrameKind::kGoodbye: {
      WHARF_ASSIGN_OR_RETURN(const Goodbye goodbye, Decode<Goodbye>(head));
      std::string reason = wire::LineOf(goodbye.reason);
      handshake_.OnEnd(Unavailable("{}", reason));
      errors_.NoteGoodbye(std::move(reason));
      return absl::OkStatus();
    }
    case FrameKind::kPing:
      return channel_->Send(Number(FrameKind::kPong), 0, {});
    case FrameKind::kPong:
      return absl::OkStatus();
    default:
      return InvalidArgument("a frame of unknown kind {}", header.kind);
  }
}

// The reader's handlers are short, so it waits for the next frame from now on.
void ClientSession::NoteArrival(const link::FrameHeader& header) {
  const TimePoint now = options_.clock->Now();
  const auto arrival = arrivals_.End(header.bulk_bytes, now);
  arrivals_.Free(now);
  if (!arrival || options_.compression == Compression::kAlways) return;
  const Arrived arrived{arrival->bytes, static_cast<uint64_t>(arrival->duration.count())};
  (void)channel_->Send(Number(FrameKind::kArrived), 0, Encode(arrived), {}, link::BulkOwnership::kCopy,
                       link::Urgency::kSoon);
}

absl::Status ClientSession::OnCodedAnswer(const link::FrameHeader& header, std::span<const std::byte> head,
                                          std::span<const std::byte> bulk) {
  WHARF_ASSIGN_OR_RETURN(const BulkCoding coding, CodingOf(header.flags));
  WHARF_ASSIGN_OR_RETURN(const uint32_t bytes, DeclaredBytes(bulk));
  const bool pushed = header.kind == Number(FrameKind::kPush);
  if (!pushed && header.kind != Number(FrameKind::kReply))
    return InvalidArgument("the server sent data nobody asked for");
  if (bytes > kMaxBulkBytes) return InvalidArgument("the server sent {} bytes in one piece", bytes);
  link::FrameHeader plain = header;
  plain.bulk_bytes = bytes;
  WHARF_ASSIGN_OR_RETURN(std::span<std::byte> into,
                         pushed ? requests_.PushDestination(plain, head) : requests_.ReplyDestination(plain));
  std::vector<std::byte> early;  // nobody has asked for it yet
  if (into.empty()) {
    early.resize(bytes);
    into = early;
  }
  WHARF_RETURN_IF_ERROR(decoder_.DecodeInto(coding, bulk, into));
  return pushed ? requests_.OnPush(plain, head, std::move(early)) : requests_.OnReply(plain, head, false);
}

void ClientSession::OnClosed(const absl::Status& why) {
  errors_.Lose(std::string(Message(why)));  // before anybody's wait ends
  requests_.Close();
  liveness_.Stop();
  handshake_.OnClosed(why).IgnoreError();
}

}  // namespace wharf::offload
