#include "wharf/offload/session.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/trace.h"
#include "wharf/link/threads.h"

namespace wharf::offload {
namespace {

using device::CudaError;

// The message of code that cannot run names the kernel and the instruction: the user needs it, and CUDA's error has it
// not.
LogLevel LevelOf(CudaError error) {
  return error == CudaError::kUnsupportedPtx || error == CudaError::kInvalidPtx ? LogLevel::kWarning : LogLevel::kInfo;
}

uint16_t Number(FrameKind kind) { return static_cast<uint16_t>(kind); }

// An idle connection is kept alive against middle boxes that forget it.
constexpr absl::Duration kKeepAlive = absl::Seconds(15);

absl::Status RefusalStatus(const Refusal& refusal) {
  switch (refusal.reason) {
    case RefusalReason::kUnauthenticated:
      return Unauthenticated("{}", refusal.message);
    case RefusalReason::kVersion:
      return FailedPrecondition("{}", refusal.message);
    case RefusalReason::kMalformed:
      return InvalidArgument("{}", refusal.message);
    default:
      return Unavailable("{}", refusal.message);
  }
}

}  // namespace

Session::Busy::Busy(Session& session) : session_(session) {
  absl::MutexLock lock(&session_.mutex_);
  if (session_.busy_++ == 0) session_.last_life_ = absl::Now();
}

Session::Busy::~Busy() {
  absl::MutexLock lock(&session_.mutex_);
  --session_.busy_;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(std::unique_ptr<link::ByteStream> stream,
                                                       SessionOptions options) {
  std::unique_ptr<Session> session(new Session(std::move(stream), std::move(options)));
  session->channel_->Start(session.get());
  WHARF_RETURN_IF_ERROR(session->ShakeHands());
  Session* const raw = session.get();
  raw->replays_ = IsReplay(raw->mode()) && (raw->welcome_.features & kFeatureReplay) != 0;
  raw->watcher_ = link::StartThread("wharf-watch", [raw] { raw->Watch(); });
  raw->host_thread_ = link::StartThread("wharf-calls", [raw] { raw->RunHostCalls(); });
  if (raw->replays_) raw->pacer_ = link::StartThread("wharf-pace", [raw] { raw->Pace(); });
  return session;
}

Session::Session(std::unique_ptr<link::ByteStream> stream, SessionOptions options)
    : options_(std::move(options)), channel_(link::Channel::Create(std::move(stream))), last_life_(absl::Now()) {}

Session::~Session() {
  Close({});
  if (watcher_.joinable()) watcher_.join();
  if (host_thread_.joinable()) host_thread_.join();
  if (pacer_.joinable()) pacer_.join();
  channel_->Stop();  // its reader calls us until it is joined
}

absl::Status Session::ShakeHands() {
  Hello hello;
  hello.token = options_.token;
  hello.program = options_.program;
  hello.memory_wish = options_.memory_wish;
  if (IsReplay(mode())) hello.features |= kFeatureReplay;
  if (mode() == Mode::kReplaySpeculative) hello.features |= kFeatureUnsafeReplay;
  WHARF_RETURN_IF_ERROR(channel_->Send(Number(FrameKind::kHello), 0, Encode(hello)));
  const absl::Time deadline = absl::Now() + absl::FromChrono(options_.timeout);
  absl::MutexLock lock(&mutex_);
  while (!welcomed_ && refusal_.ok() && !closed_) {
    if (changed_.WaitWithDeadline(&mutex_, deadline)) return DeadlineExceeded("the server does not answer");
  }
  WHARF_RETURN_IF_ERROR(refusal_);
  if (!welcomed_) return Unavailable("{}", goodbye_.empty() ? "the server closed the connection" : goodbye_);
  if (welcome_.major != kProtocolMajor) {
    return FailedPrecondition("the server speaks protocol {}, this client {}: install the same version on both",
                              welcome_.major, kProtocolMajor);
  }
  return absl::OkStatus();
}

void Session::Check(bool permitted) {
  if (permitted) return;
  violations_.fetch_add(1, std::memory_order_relaxed);
  Log(LogLevel::kError, "a call sent what its class forbids", {{"function", CallScope::Current()->function()}});
  assert(false && "a call sent what its class forbids");
}

CudaError Session::SendPosted(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> bulk,
                              link::BulkOwnership ownership, std::optional<device::StreamId> stream) {
  if (const CallScope* scope = CallScope::Current()) Check(scope->MayPost());
  if (const CudaError error = StickyError(); error != CudaError::kSuccess) return error;
  posted_.fetch_add(1, std::memory_order_relaxed);
  absl::Status sent;
  if (replays_) {
    sent = PostForeseen(number, head, bulk, ownership, stream);
  } else {
    const Busy busy(*this);
    operations_.fetch_add(1);
    sent = channel_->Send(number, next_tag_.fetch_add(1), head, bulk, ownership, link::Urgency::kSoon);
  }
  return sent.ok() ? CudaError::kSuccess : Lose(std::string(Message(sent)));
}

Session::RequestPtr Session::SendRequest(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into,
                                         bool detached, std::optional<device::StreamId> stream) {
  if (const CallScope* scope = CallScope::Current()) Check(scope->MayAsk());
  return Enqueue(number, head, into, detached, stream);
}

Session::RequestPtr Session::Enqueue(uint16_t number, const std::vector<std::byte>& head, std::span<std::byte> into,
                                     bool detached, std::optional<device::StreamId> stream) {
  auto request = std::make_shared<Request>();
  request->into = into;
  request->detached = detached;
  request->sent = absl::Now();
  if (StickyError() != CudaError::kSuccess) {
    request->header.error = StickyError();
    request->done = true;
    return request;
  }
  const Busy busy(*this);
  absl::Status sent;
  if (replays_) {
    sent = RequestForeseen(number, head, request, stream);
  } else {
    request->index = operations_.fetch_add(1) + 1;
    sent = SendWhole(number, head, request);
  }
  if (!sent.ok()) Lose(std::string(Message(sent)));
  return request;
}

absl::Status Session::SendWhole(uint16_t number, const std::vector<std::byte>& head, const RequestPtr& request) {
  request->tag = next_tag_.fetch_add(1);
  {
    absl::MutexLock lock(&mutex_);
    requests_.emplace(request->tag, request);
    if (request->detached) ++detached_;
  }
  return channel_->Send(number, request->tag, head);
}

CudaError Session::Wait(std::span<const RequestPtr> requests) {
  const auto done = [&] {
    return std::all_of(requests.begin(), requests.end(), [](auto& request) { return request->done; });
  };
  {
    TraceSpan span("wait", "offload");
    const Busy busy(*this);
    absl::MutexLock lock(&mutex_);
    Await(done);
  }
  CountWait(requests);
  return Outcome(requests);
}

void Session::CountWait(std::span<const RequestPtr> requests) {
  bool round_trip = false;
  {
    absl::MutexLock lock(&mutex_);
    for (const RequestPtr& request : requests) {
      round_trip |= !request->elided && ((request->tag & kForeseen) == 0 || request->known > settled_);
    }
    for (const RequestPtr& request : requests) {
      if (!request->elided) settled_ = std::max(settled_, request->index);
    }
  }
  if (!round_trip) return;
  round_trips_.fetch_add(1, std::memory_order_relaxed);
  if (CallScope* scope = CallScope::Current()) scope->CountRoundTrip();
}

void Session::WaitUntil(const std::function<bool()>& ready) {
  const Busy busy(*this);
  absl::MutexLock lock(&mutex_);
  Await(ready);
}

void Session::Wake() {
  absl::MutexLock lock(&mutex_);
  changed_.SignalAll();
}

CudaError Session::Collect(const RequestPtr& request) {
  CountWait({&request, 1});
  const CudaError error = StickyError();
  return error != CudaError::kSuccess ? error : request->header.error;
}

CudaError Session::TakePendingError() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(pending_error_, CudaError::kSuccess);
}

void Session::WaitForDetached() {
  {
    absl::MutexLock lock(&mutex_);
    if (detached_ == 0) return;
  }
  const Busy busy(*this);
  absl::MutexLock lock(&mutex_);
  Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return detached_ == 0; });
}

CudaError Session::Outcome(std::span<const RequestPtr> requests) {
  absl::MutexLock lock(&mutex_);
  if (const CudaError error = StickyError(); error != CudaError::kSuccess) return error;
  if (pending_error_ != CudaError::kSuccess) return std::exchange(pending_error_, CudaError::kSuccess);
  for (const RequestPtr& request : requests) {
    if (request->header.error == CudaError::kSuccess) continue;
    if (!request->header.message.empty() && request->header.error != CudaError::kNotReady) {
      Log(LevelOf(request->header.error), "the server reports an error", {{"message", request->header.message}});
    }
    return request->header.error;
  }
  return CudaError::kSuccess;
}

void Session::NoteDone(const Request& request, device::StreamId stream) {
  absl::MutexLock lock(&mutex_);
  if (request.index < done_index_) return;
  done_index_ = request.index;
  done_stream_ = stream;
}

bool Session::IsKnownDone(device::StreamId stream) const {
  if (IsPerCall(mode()) || StickyError() != CudaError::kSuccess) return false;
  absl::MutexLock lock(&mutex_);
  return done_index_ != 0 && done_stream_ == stream && operations_.load() == done_index_ &&
         pending_error_ == CudaError::kSuccess;
}

CudaError Session::Finish(CallScope& scope, CudaError error) {
  if (!IsPerCall(mode()) || !scope.outermost() || scope.round_trips() != 0) return error;
  if (scope.call_class() == CallClass::kPlumbing) return error;
  if (options_.mode == Mode::kCached && scope.call_class() == CallClass::kLocal) return error;
  if (StickyError() != CudaError::kSuccess) return error;
  const RequestPtr request =
      Enqueue(Acknowledge::kNumber, Encode(Acknowledge{scope.function()}), {}, false, std::nullopt);
  const CudaError learnt = Wait({&request, 1});
  if (error == CudaError::kSuccess) return learnt;
  absl::MutexLock lock(&mutex_);
  const bool keeps = pending_error_ == CudaError::kSuccess && !device::IsSticky(learnt);
  if (keeps) pending_error_ = learnt;
  return error;
}

CudaError Session::PostHostCall(device::StreamId stream, std::function<void()> call) {
  const uint64_t id = next_tag_.fetch_add(1);
  calls_host_.store(true, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&host_mutex_);
    host_calls_.emplace(id, std::move(call));
  }
  return Post(RequestHostCall{stream, id});
}

std::string Session::StickyMessage() const {
  absl::MutexLock lock(&mutex_);
  return sticky_message_;
}

SessionCounters Session::Counters() const {
  const link::ChannelStats stats = channel_->Stats();
  SessionCounters counters;
  counters.posted_operations = posted_.load();
  counters.blocking_round_trips = round_trips_.load();
  counters.bytes_up = stats.bytes_sent;
  counters.bytes_down = stats.bytes_received;
  {
    absl::MutexLock order(&order_mutex_);
    counters.prediction = predictor_.Counters();
    counters.sequences = predictor_.Sequences();
    counters.known_operations = predictor_.KnownOperations();
  }
  absl::MutexLock lock(&mutex_);
  counters.elided = elided_total_;
  counters.pushes = pushes_;
  counters.early_pushes = early_pushes_;
  counters.void_pushes = void_pushes_;
  return counters;
}

CudaError Session::Lose(std::string reason) {
  {
    absl::MutexLock lock(&mutex_);
    if (!closing_ && !lost_told_) {
      lost_told_ = true;
      if (!goodbye_.empty()) reason = goodbye_;
      sticky_message_ = reason;
      if (options_.on_lost) options_.on_lost(reason);
    }
    sticky_.store(CudaError::kRemoteLost, std::memory_order_release);
  }
  channel_->Close();
  return CudaError::kRemoteLost;
}

void Session::Close(Nanoseconds drain) {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(closing_, true)) return;
    stopping_.SignalAll();
  }
  if (drain.count() > 0) {
    FlushProgress(drain);
    (void)channel_->Send(Number(FrameKind::kGoodbye), 0, Encode(Goodbye{"the program ended"}));
  }
  channel_->Close(drain);
  StopPacing();
  absl::MutexLock lock(&host_mutex_);
  host_stop_ = true;
}

absl::StatusOr<std::span<std::byte>> Session::BulkDestination(const link::FrameHeader& header,
                                                              std::span<const std::byte> head) {
  absl::MutexLock lock(&mutex_);
  ++frames_seen_;
  if (header.kind == Number(FrameKind::kPush)) return PushDestination(header, head);
  const auto found = requests_.find(header.tag);
  if (header.kind != Number(FrameKind::kReply) || found == requests_.end()) {
    return InvalidArgument("the server sent data nobody asked for");
  }
  if (found->second->into.size() != header.bulk_bytes) return InvalidArgument("the server sent data of another size");
  return found->second->into;
}

absl::Status Session::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                              std::vector<std::byte> bulk) {
  {
    absl::MutexLock lock(&mutex_);
    ++frames_seen_;
  }
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kReply:
      return OnReply(header, head, !bulk.empty());
    case FrameKind::kPush:
      return OnPush(header, head, std::move(bulk));
    case FrameKind::kWelcome: {
      WHARF_ASSIGN_OR_RETURN(Welcome welcome, Decode<Welcome>(head));
      absl::MutexLock lock(&mutex_);
      if (welcomed_) return InvalidArgument("a second welcome");
      welcome_ = std::move(welcome);
      welcomed_ = true;
      changed_.SignalAll();
      return absl::OkStatus();
    }
    case FrameKind::kRefusal: {
      WHARF_ASSIGN_OR_RETURN(const Refusal refusal, Decode<Refusal>(head));
      absl::MutexLock lock(&mutex_);
      refusal_ = RefusalStatus(refusal);
      changed_.SignalAll();
      return absl::OkStatus();
    }
    case FrameKind::kOutput: {
      WHARF_ASSIGN_OR_RETURN(const Output output, Decode<Output>(head));
      {
        absl::MutexLock lock(&mutex_);
        has_printed_ = true;
      }
      if (options_.output) options_.output(output.text);
      return absl::OkStatus();
    }
    case FrameKind::kHostCall: {
      WHARF_ASSIGN_OR_RETURN(const HostCall call, Decode<HostCall>(head));
      absl::MutexLock lock(&host_mutex_);
      host_ready_.push_back(call.call);
      return absl::OkStatus();
    }
    case FrameKind::kGoodbye: {
      WHARF_ASSIGN_OR_RETURN(const Goodbye goodbye, Decode<Goodbye>(head));
      absl::MutexLock lock(&mutex_);
      goodbye_ = goodbye.reason;
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

absl::Status Session::OnReply(const link::FrameHeader& header, std::span<const std::byte> head, bool has_stray_data) {
  // The header's fields come first; what is left is the operation's own.
  Decoder decoder(head);
  ReplyHeader reply;
  decoder.Get(reply);
  if (!decoder.ok()) return DataLoss("a reply's head is too short");
  absl::MutexLock lock(&mutex_);
  const auto found = requests_.find(header.tag);
  if (found == requests_.end()) return InvalidArgument("a reply nobody waits for");
  const RequestPtr request = found->second;
  requests_.erase(found);
  if (request->detached) --detached_;
  if (has_stray_data) return InvalidArgument("a reply's data has no place");
  const bool wants_data = !request->into.empty() && reply.error == CudaError::kSuccess;
  if (wants_data && header.bulk_bytes != request->into.size()) return InvalidArgument("a reply without its data");
  request->received = header.bulk_bytes;
  Latch(reply, request->detached);
  Finish(*request, std::move(reply), decoder.Rest());
  Measure(*request);
  return absl::OkStatus();
}

void Session::Finish(Request& request, ReplyHeader header, std::span<const std::byte> rest) {
  request.head.assign(rest.begin(), rest.end());
  request.header = std::move(header);
  request.done = true;
  changed_.SignalAll();
}

void Session::Latch(ReplyHeader& header, bool include_own) {
  CudaError posted = std::exchange(header.posted_error, CudaError::kSuccess);
  if (include_own && posted == CudaError::kSuccess) posted = header.error;
  if (posted != CudaError::kSuccess && pending_error_ == CudaError::kSuccess) {
    pending_error_ = posted;
    Log(LevelOf(posted), "an earlier call failed on the server", {{"message", header.message}});
  }
  if (header.fault == CudaError::kSuccess || StickyError() != CudaError::kSuccess) return;
  sticky_message_ = header.message;
  sticky_.store(header.fault, std::memory_order_release);
  Log(LogLevel::kWarning, "the device faulted", {{"message", header.message}});
}

void Session::Measure(const Request& request) {
  const Nanoseconds elapsed = absl::ToChronoNanoseconds(absl::Now() - request.sent);
  const Nanoseconds server(request.header.server_nanoseconds);
  if (server >= elapsed) return;
  if (request.received == 0) {
    estimator_.OnRoundTrip(elapsed, server);
  } else {
    estimator_.OnDownload(request.received, elapsed - server);
  }
}

void Session::OnClosed(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  if (!closing_ && !lost_told_ && welcomed_) {
    lost_told_ = true;
    const std::string reason(goodbye_.empty() ? std::string(Message(why)) : goodbye_);
    sticky_message_ = reason;
    if (options_.on_lost) options_.on_lost(reason);
  }
  sticky_.store(CudaError::kRemoteLost, std::memory_order_release);
  requests_.clear();
  early_.clear();
  changed_.SignalAll();
  stopping_.SignalAll();
}

void Session::Ping() {
  pings_.fetch_add(1, std::memory_order_relaxed);
  (void)channel_->Send(Number(FrameKind::kPing), 0, {});
}

// A long upload is a sign of life too, our own pings are not: the kernel takes those of a dead connection as well.
bool Session::SawLife() {
  const uint64_t pinged = pings_.load(std::memory_order_relaxed) * link::kFrameHeaderBytes;
  const link::ChannelStats stats = channel_->Stats();
  const uint64_t received = frames_seen_ + stats.bytes_received;
  const int64_t sent = static_cast<int64_t>(stats.bytes_sent) - static_cast<int64_t>(pinged);
  const bool life = received != received_mark_ || sent > sent_mark_;
  received_mark_ = received;
  sent_mark_ = std::max(sent_mark_, sent);
  return life;
}

void Session::Watch() {
  const absl::Duration timeout = absl::FromChrono(options_.timeout);
  const absl::Duration tick = std::max(timeout / 8, absl::Milliseconds(1));
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (!closed_ && !closing_) stopping_.WaitWithTimeout(&mutex_, tick);
      if (closed_ || closing_) return;
      // A stream that is being restored has a limit of its own.
      if (busy_ == 0 || SawLife() || channel_->Stream().Resuming()) last_life_ = absl::Now();
      if (absl::Now() - last_life_ < timeout) continue;
    }
    Lose(fmt::format("no sign of life from the server for {} ms", absl::ToInt64Milliseconds(timeout)));
    return;
  }
}

void Session::RunHostCalls() {
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(host_mutex_) { return host_stop_ || !host_ready_.empty(); };
  while (true) {
    uint64_t id = 0;
    std::function<void()> call;
    {
      absl::MutexLock lock(&host_mutex_);
      const bool woken = host_mutex_.AwaitWithTimeout(absl::Condition(&wake), kKeepAlive);
      if (host_stop_) return;
      if (woken) {
        id = host_ready_.front();
        host_ready_.pop_front();
        const auto found = host_calls_.find(id);
        if (found == host_calls_.end()) continue;
        call = std::move(found->second);
        host_calls_.erase(found);
      }
    }
    if (call == nullptr) {
      Ping();
      continue;
    }
    call();
    (void)channel_->Send(HostCallDone::kNumber, next_tag_.fetch_add(1), Encode(HostCallDone{id}));
  }
}

}  // namespace wharf::offload
