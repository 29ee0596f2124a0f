#include "wharf/split/runtime/server_connection.h"

#include <algorithm>

#include "absl/time/time.h"
#include "wharf/split/runtime/upload_times.h"

namespace wharf::split {

ServerConnection::ServerConnection(std::unique_ptr<link::ByteStream> stream, ServerConnectionConfig config)
    : config_(std::move(config)),
      receiver_(*config_.model, *config_.clock, Resource::kDownlink, config_.slow_down),
      handshake_(fmt::format("the server at {}", stream->Peer())) {
  link::ChannelOptions options;
  options.limits = SplitFrameLimits();
  channel_ = link::Channel::Create(std::move(stream), options);
  outbound_ = std::make_unique<Outbound>(*channel_, Resource::kUplink, config_.slow_down);
  channel_->Start(this);
}

ServerConnection::~ServerConnection() {
  Close(Aborted("the session ends"));
  outbound_.reset();
  channel_->Stop();
}

absl::StatusOr<std::unique_ptr<ServerConnection>> ServerConnection::Open(std::unique_ptr<link::ByteStream> stream,
                                                                         ServerConnectionConfig config) {
  std::unique_ptr<ServerConnection> link(new ServerConnection(std::move(stream), std::move(config)));
  WHARF_RETURN_IF_ERROR(link->Greet());
  WHARF_RETURN_IF_ERROR(link->OpenRemoteModel());
  WHARF_RETURN_IF_ERROR(link->Probe());
  return link;
}

// --- The handshake, on the caller's thread ---

void ServerConnection::Expect(FrameKind kind) {
  absl::MutexLock lock(&mutex_);
  awaited_ = kind;
}

absl::StatusOr<ServerConnection::Answer> ServerConnection::Await() {
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return answer_.has_value() || !closed_.ok(); };
  const bool in_time = mutex_.AwaitWithTimeout(absl::Condition(&done), absl::FromChrono(config_.timeout));
  if (!in_time) return DeadlineExceeded("the server at {} does not answer", channel_->Stream().Peer());
  if (!answer_) return closed_;
  return *std::exchange(answer_, std::nullopt);
}

absl::StatusOr<ServerConnection::Answer> ServerConnection::Ask(FrameKind question, std::span<const std::byte> head,
                                                               std::span<const std::byte> bulk, FrameKind answer) {
  Expect(answer);
  // Where sending fails, the server may have said why.
  channel_->Send(static_cast<uint16_t>(question), 0, head, bulk).IgnoreError();
  return Await();
}

absl::Status ServerConnection::Greet() {
  Hello hello;
  if (config_.ticket != nullptr) hello.ticket = *config_.ticket;
  WHARF_ASSIGN_OR_RETURN(const Welcome welcome, handshake_.Greet(*channel_, hello, config_.token, config_.timeout));
  if (config_.ticket != nullptr) *config_.ticket = welcome.ticket;
  return absl::OkStatus();
}

absl::StatusOr<bool> ServerConnection::IsReady(const Answer& answer) {
  WHARF_ASSIGN_OR_RETURN(const ModelState state, wire::Decode<ModelState>(answer.head));
  return state.ready;
}

absl::Status ServerConnection::OpenRemoteModel() {
  const std::vector<std::byte>& bytes = *config_.onnx;
  const OpenModel open{wire::HashOf(bytes), bytes.size()};
  WHARF_ASSIGN_OR_RETURN(const Answer first,
                         Ask(FrameKind::kOpenModel, wire::Encode(open), {}, FrameKind::kModelState));
  WHARF_ASSIGN_OR_RETURN(const bool there, IsReady(first));
  if (there) return absl::OkStatus();
  Expect(FrameKind::kModelState);
  for (size_t begin = 0; begin < bytes.size(); begin += kModelPieceBytes) {
    const size_t size = std::min<size_t>(kModelPieceBytes, bytes.size() - begin);
    const auto piece = std::span(bytes).subspan(begin, size);
    const absl::Status sent =
        channel_->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, piece, link::BulkOwnership::kBorrow);
    if (!sent.ok()) break;
  }
  WHARF_ASSIGN_OR_RETURN(const Answer second, Await());
  WHARF_ASSIGN_OR_RETURN(const bool taken, IsReady(second));
  return taken ? absl::OkStatus() : FailedPrecondition("the server wants the model again");
}

absl::Status ServerConnection::Probe() {
  // Empty ones first, for the round trip: the shortest, because a busy machine makes some look long.
  Nanoseconds round_trip = Nanoseconds::max();
  for (const size_t size : {size_t{0}, size_t{0}, size_t{0}, size_t{kProbeBytes}}) {
    const std::vector<std::byte> bulk(size);
    const TimePoint start = config_.clock->Now();
    WHARF_ASSIGN_OR_RETURN(const Answer answer, Ask(FrameKind::kProbe, {}, bulk, FrameKind::kProbed));
    if (answer.bulk.size() != size) {
      return InvalidArgument("the server answered {} bytes with {}", size, answer.bulk.size());
    }
    const TimePoint end = config_.clock->Now();
    if (size == 0) {
      round_trip = std::min(round_trip, end - start);
      config_.estimator->OnRoundTrip(end - start, Nanoseconds::zero());
    } else {
      // Round trips that were held up say nothing of the way there: without them, half of the time was theirs at most.
      const Nanoseconds elapsed = answer_began_ - start;
      config_.estimator->OnUpload(size, std::max(elapsed / 2, elapsed - round_trip));
      config_.estimator->OnDownload(size, end - answer_began_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ServerConnection::AskMachine() {
  WHARF_ASSIGN_OR_RETURN(const Answer answer, Ask(FrameKind::kAskMachine, {}, {}, FrameKind::kMachine));
  return std::string(reinterpret_cast<const char*>(answer.bulk.data()), answer.bulk.size());
}

// --- Inferences ---

absl::StatusOr<ServerConnection::Inference> ServerConnection::Begin(uint32_t plan_id, const Plan& plan,
                                                                    const SideSteps& steps,
                                                                    std::shared_ptr<Recorder> recorder) {
  Inference inference;
  inference.inbox = std::make_shared<Inbox>(steps.incoming, *config_.clock);
  {
    absl::MutexLock lock(&mutex_);
    if (!closed_.ok()) return closed_;
    inference.number = ++inference_;
    receiver_.Open(inference.number, inference.inbox, recorder);
    recorder_ = recorder;
    downloaded_ = 0;
    downloading_ = Nanoseconds::zero();
    inbox_ = inference.inbox;
  }
  inference.outbox = outbound_->Open(inference.number, std::move(recorder));
  // After what the last inference may still have to send.
  if (known_plans_.insert(plan_id).second) {
    outbound_->Push([this, message = EncodePlan(plan_id, plan)] {
      SendMessage(*channel_, FrameKind::kPlan, message).IgnoreError();
    });
  }
  outbound_->Push([this, plan_id, number = inference.number] {
    {
      absl::MutexLock lock(&mutex_);
      begun_ms_ = Milliseconds(recorder_->Now() - recorder_->Start());
    }
    SendMessage(*channel_, FrameKind::kBegin, split::Begin{plan_id}, number).IgnoreError();
  });
  return inference;
}

std::optional<std::vector<Event>> ServerConnection::ServerEvents(uint64_t inference,
                                                                 std::span<const Event> recorded) const {
  absl::MutexLock lock(&mutex_);
  if (!server_said_ || server_said_->inference != inference) return std::nullopt;
  std::vector<Event> events = server_said_->computed;
  const UploadTimes uploads = TimeUploads(recorded, server_said_->arrivals, server_said_->begun_ms);
  events.insert(events.end(), uploads.sent.begin(), uploads.sent.end());
  return events;
}

void ServerConnection::AwaitServerEvents(uint64_t inference, TimePoint deadline) {
  const auto left = [&] { return absl::FromChrono(deadline - config_.clock->Now()); };
  if (!outbound_->DrainWithin(left())) return;
  absl::MutexLock lock(&mutex_);
  const auto done = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !closed_.ok() || (server_said_ && server_said_->inference >= inference);
  };
  mutex_.AwaitWithTimeout(absl::Condition(&done), left());
}

bool ServerConnection::Alive() const { return Why().ok(); }

absl::Status ServerConnection::Why() const {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

void ServerConnection::Close(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_.ok()) closed_ = why;
    if (inbox_ != nullptr) inbox_->Close(closed_);
  }
  channel_->Close();
}

void ServerConnection::Leave() {
  constexpr Nanoseconds kFarewell = std::chrono::milliseconds(200);
  if (Alive()) SendMessage(*channel_, FrameKind::kGoodbye, Goodbye()).IgnoreError();
  channel_->Close(kFarewell);
}

// --- On the channel's reader thread ---

absl::StatusOr<std::span<std::byte>> ServerConnection::BulkDestination(const link::FrameHeader& header,
                                                                       std::span<const std::byte> head) {
  absl::MutexLock lock(&mutex_);
  const auto kind = static_cast<FrameKind>(header.kind);
  if (kind == FrameKind::kRows) return receiver_.BulkDestination(header, head);
  const uint32_t most = kind == FrameKind::kMachine ? kMaxMachineBytes : (kind == FrameKind::kProbed ? kProbeBytes : 0);
  if (header.bulk_bytes > most || awaited_ != kind) {
    return InvalidArgument("the server sent {} bytes nobody asked for", header.bulk_bytes);
  }
  answer_began_ = config_.clock->Now();
  return std::span<std::byte>();
}

absl::Status ServerConnection::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                       std::vector<std::byte> bulk) {
  const auto kind = static_cast<FrameKind>(header.kind);
  if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
  if (kind == FrameKind::kDone) return OnDone(header, head);
  absl::MutexLock lock(&mutex_);
  if (kind == FrameKind::kRows) {
    WHARF_ASSIGN_OR_RETURN(const Arrival arrival, receiver_.OnRows(header, head));
    downloaded_ += arrival.bytes;
    downloading_ += Nanoseconds(static_cast<int64_t>(arrival.end_nanoseconds - arrival.start_nanoseconds));
    receiver_.Deliver();
    return absl::OkStatus();
  }
  if (awaited_ != kind) return InvalidArgument("the server sent message {} nobody asked for", header.kind);
  awaited_.reset();
  answer_ = Answer{kind, {head.begin(), head.end()}, std::move(bulk)};
  return absl::OkStatus();
}

absl::Status ServerConnection::OnDone(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Done done, wire::Decode<Done>(head));
  WHARF_ASSIGN_OR_RETURN(const auto arrivals, DecodeList<Arrival>(done.arrivals));
  WHARF_ASSIGN_OR_RETURN(const auto computed, DecodeList<Computed>(done.computed));
  std::vector<Event> events;
  absl::MutexLock lock(&mutex_);
  if (header.tag == 0 || header.tag > inference_ || (server_said_ && header.tag <= server_said_->inference)) {
    return InvalidArgument("the server has done inference {}, of which nothing is to be said", header.tag);
  }
  if (header.tag != inference_) return absl::OkStatus();  // of one that the device did not wait for
  for (const Computed& one : computed) {
    events.push_back({Resource::kServer,
                      one.op,
                      {one.lo, one.hi},
                      begun_ms_ + static_cast<double>(one.start_nanoseconds) / 1e6,
                      begun_ms_ + static_cast<double>(one.end_nanoseconds) / 1e6,
                      0});
  }
  const UploadTimes uploads = TimeUploads(recorder_->Events(), arrivals, begun_ms_);
  if (uploads.busy_ms) {
    config_.estimator->OnUpload(static_cast<size_t>(uploads.bytes), FromSeconds(*uploads.busy_ms / 1e3));
  }
  config_.estimator->OnDownload(downloaded_, downloading_);
  server_said_ = ServerSaid{header.tag, std::move(events), arrivals, begun_ms_};
  return absl::OkStatus();
}

void ServerConnection::OnClosed(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    const absl::Status ended = handshake_.OnClosed(why);
    if (closed_.ok()) closed_ = ended;
    if (inbox_ != nullptr) inbox_->Close(closed_);
  }
  if (config_.on_closed) config_.on_closed();
}

}  // namespace wharf::split
