#include "wharf/split/runtime/server.h"

#include <new>
#include <string_view>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::split {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);
constexpr size_t kMaxPlanBytes = 16 << 20;  // of all plans of a session, encoded

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

template <typename T>
absl::StatusOr<T> DecodeHead(std::span<const std::byte> head, const char* what) {
  auto message = offload::Decode<T>(head);
  if (!message.ok()) return InvalidArgument("{} is malformed", what);
  return message;
}

// What a client asks for may not fit into the memory that its process is allowed: that is the client's affair. LibTorch
// says it in words.
template <typename F>
auto WithinMemory(F work) -> decltype(work()) {
  const absl::Status too_much =
      ResourceExhausted("this needs more memory than the server gives one session (its --memory)");
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return too_much;
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    if (what.find("can't allocate memory") != std::string_view::npos) return too_much;
    return Internal("{}", what.substr(0, what.find('\n')));
  }
}

}  // namespace

ServerSession::ServerSession(std::unique_ptr<link::ByteStream> stream, ServerConfig config)
    : config_(std::move(config)) {
  link::ChannelOptions options;
  options.limits = SplitFrameLimits();
  channel_ = link::Channel::Create(std::move(stream), options);
  lane_ = std::make_unique<SendLane>(*channel_, Lane::kDownlink);
  computing_ = std::thread([this] { ComputeLoop(); });
  channel_->Start(this);
}

ServerSession::~ServerSession() {
  channel_->Close();
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (current_ != nullptr) current_->inbox->Close(Aborted("the session ends"));
  }
  computing_.join();
  lane_.reset();
  channel_->Stop();
}

absl::Status ServerSession::Wait() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](std::optional<absl::Status>* closed) { return closed->has_value(); }, &closed_));
  return why_.ok() ? *closed_ : why_;
}

void ServerSession::EndBetweenInferences(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    end_soon_ = why;
    if (next_ != nullptr || current_ != nullptr) return;
  }
  End(why).IgnoreError();
}

ServerReport ServerSession::Report() {
  const link::ChannelStats traffic = channel_->Stats();
  absl::MutexLock lock(&mutex_);
  return {inferences_, traffic.bytes_received, traffic.bytes_sent, computing_time_};
}

bool ServerSession::ClientVanished() {
  absl::MutexLock lock(&mutex_);
  return closed_ && why_.ok() && !client_left_;
}

// --- On the reader thread ---

absl::Status ServerSession::End(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (!why_.ok() || closed_) return why;
    why_ = why;
  }
  Log(LogLevel::kWarning, "split session ended", {{"peer", channel_->Stream().Peer()}, {"why", Message(why)}});
  SendMessage(*channel_, FrameKind::kGoodbye, GoodbyeOf(why)).IgnoreError();
  channel_->Close(kFarewell);
  return why;
}

absl::Status ServerSession::CheckBulk(const link::FrameHeader& header) const {
  const FrameKind kind = KindOf(header);
  if (kind == FrameKind::kModelPiece && awaited_ && header.bulk_bytes <= kModelPieceBytes) return absl::OkStatus();
  if (kind == FrameKind::kProbe && greeted_ && header.bulk_bytes <= kProbeBytes) return absl::OkStatus();
  return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
}

absl::StatusOr<std::span<std::byte>> ServerSession::BulkDestination(const link::FrameHeader& header,
                                                                    std::span<const std::byte> head) {
  if (KindOf(header) == FrameKind::kRows && receiver_) {
    const auto place = WithinMemory([&] { return receiver_->BulkDestination(header, head); });
    if (!place.ok()) return End(place.status());
    return place;
  }
  if (const absl::Status fits = CheckBulk(header); !fits.ok()) return End(fits);
  return std::span<std::byte>();
}

absl::Status ServerSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                    std::vector<std::byte> bulk) {
  const absl::Status handled = WithinMemory([&] { return Handle(header, head, bulk); });
  return handled.ok() ? handled : End(handled);
}

absl::Status ServerSession::Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                                   std::span<const std::byte> bulk) {
  const FrameKind kind = KindOf(header);
  if (!greeted_) {
    if (kind != FrameKind::kHello) return InvalidArgument("the first frame must be a Hello");
    return OnHello(head);
  }
  switch (kind) {
    case FrameKind::kOpenModel:
      return OnOpenModel(head);
    case FrameKind::kModelPiece:
      return OnModelPiece(bulk);
    case FrameKind::kProbe:
      return OnProbe(bulk);
    case FrameKind::kGoodbye:
      return OnGoodbye();
    default:
      break;
  }
  if (model_ == nullptr) return InvalidArgument("message {} came before a model", header.kind);
  return HandleRunning(header, head);
}

absl::Status ServerSession::HandleRunning(const link::FrameHeader& header, std::span<const std::byte> head) {
  switch (KindOf(header)) {
    case FrameKind::kAskMachine:
      return OnAskMachine();
    case FrameKind::kPlan:
      return OnPlan(head);
    case FrameKind::kBegin:
      return OnBegin(header, head);
    case FrameKind::kRows:
      return OnRows(header, head);
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

absl::Status ServerSession::OnHello(std::span<const std::byte> head) {
  WHARF_RETURN_IF_ERROR(offload::CheckHelloPrefix(head, kSplitVersion));
  WHARF_ASSIGN_OR_RETURN(const Hello hello, DecodeHead<Hello>(head, "the Hello"));
  greeted_ = true;
  Welcome welcome;
  welcome.minor = std::min(hello.minor, kSplitMinor);
  welcome.ticket = config_.ticket;
  return SendMessage(*channel_, FrameKind::kWelcome, welcome);
}

absl::Status ServerSession::OnGoodbye() {
  {
    absl::MutexLock lock(&mutex_);
    client_left_ = true;
  }
  channel_->Close();
  return absl::OkStatus();
}

absl::Status ServerSession::OnOpenModel(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const OpenModel open, DecodeHead<OpenModel>(head, "the request for a model"));
  if (model_ != nullptr || awaited_) return InvalidArgument("a session has one model");
  if (open.bytes == 0 || open.bytes > config_.max_model_bytes) {
    return ResourceExhausted("a model of {} bytes: the server takes at most {}", open.bytes, config_.max_model_bytes);
  }
  hash_ = open.hash;
  auto model = config_.models->Find(open.hash);
  if (model.ok()) return UseModel(*std::move(model));
  if (model.status().code() != absl::StatusCode::kNotFound) return model.status();
  awaited_ = open;
  return SendMessage(*channel_, FrameKind::kModelState, ModelState{false});
}

absl::Status ServerSession::OnModelPiece(std::span<const std::byte> piece) {
  if (!awaited_ || piece.empty() || piece.size() > awaited_->bytes - pieces_.size()) {
    return InvalidArgument("a piece of a model that was not asked for");
  }
  pieces_.insert(pieces_.end(), piece.begin(), piece.end());
  if (pieces_.size() < awaited_->bytes) return absl::OkStatus();
  const std::vector<std::byte> bytes = std::exchange(pieces_, {});
  awaited_.reset();
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, config_.models->Add(hash_, bytes));
  return UseModel(std::move(model));
}

absl::Status ServerSession::UseModel(std::shared_ptr<const Model> model) {
  receiver_.emplace(*model, *config_.clock, Lane::kUplink);
  model_ = std::move(model);
  return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
}

absl::Status ServerSession::OnAskMachine() {
  std::string json;
  if (config_.machine) {
    WHARF_ASSIGN_OR_RETURN(json, config_.machine(*model_, hash_));
  }
  return channel_->Send(static_cast<uint16_t>(FrameKind::kMachine), 0, {}, std::as_bytes(std::span(json)));
}

absl::Status ServerSession::OnProbe(std::span<const std::byte> bulk) {
  return channel_->Send(static_cast<uint16_t>(FrameKind::kProbed), 0, {}, bulk);
}

absl::Status ServerSession::OnPlan(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const PlanMessage message, DecodeHead<PlanMessage>(head, "a plan"));
  plan_bytes_ += message.rows.size() + message.bands.size();
  if (plan_bytes_ > kMaxPlanBytes) return ResourceExhausted("plans of more than {} bytes", kMaxPlanBytes);
  const auto plan = DecodePlan(message);
  if (!plan.ok()) return InvalidArgument("plan {} is malformed", message.id);
  if (const absl::Status possible = CheckPlan(model_->View().rows, *plan); !possible.ok()) {
    return InvalidArgument("plan {}: {}", message.id, Message(possible));
  }
  WHARF_ASSIGN_OR_RETURN(SideSteps steps, CompileSteps(model_->View(), *plan, kServer));
  if (!plans_.emplace(message.id, std::make_shared<const SideSteps>(std::move(steps))).second) {
    return InvalidArgument("plan {} is there already", message.id);
  }
  return absl::OkStatus();
}

absl::Status ServerSession::OnBegin(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Begin begin, DecodeHead<Begin>(head, "the beginning of an inference"));
  const auto plan = plans_.find(begin.plan);
  if (plan == plans_.end()) return InvalidArgument("there is no plan {}", begin.plan);
  auto job = std::make_shared<Job>();
  job->inference = header.tag;
  job->steps = plan->second;
  job->inbox = std::make_shared<Inbox>(plan->second->incoming, *config_.clock);
  job->recorder = std::make_shared<Recorder>(*config_.clock);
  receiver_->Open(header.tag, job->inbox, job->recorder);
  absl::MutexLock lock(&mutex_);
  if (current_ != nullptr) current_->inbox->Close(Aborted("another inference began"));
  next_ = std::move(job);
  return absl::OkStatus();
}

absl::Status ServerSession::OnRows(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Arrival arrival, receiver_->OnRows(header, head));
  {
    absl::MutexLock lock(&mutex_);
    Job* const job = next_ != nullptr ? next_.get() : current_.get();
    if (job != nullptr && job->inference == header.tag) job->arrivals.push_back(arrival);
  }
  receiver_->Deliver();  // now that Done will tell of it
  return absl::OkStatus();
}

void ServerSession::OnClosed(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = why;
    ending_ = true;
    if (current_ != nullptr) current_->inbox->Close(why);
  }
  if (config_.on_closed) config_.on_closed();
}

// --- On the computing thread ---

std::shared_ptr<ServerSession::Job> ServerSession::TakeJob() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || next_ != nullptr; };
  absl::Status end_soon;
  {
    absl::MutexLock lock(&mutex_);
    current_.reset();
    end_soon = end_soon_;
    if (end_soon.ok()) mutex_.Await(absl::Condition(&work));
    if (end_soon.ok() && !ending_) return current_ = std::exchange(next_, nullptr);
  }
  if (!end_soon.ok()) End(end_soon).IgnoreError();
  return nullptr;
}

void ServerSession::ComputeLoop() {
  while (const std::shared_ptr<Job> job = TakeJob()) {
    const absl::Status computed = WithinMemory([&] { return ComputeOne(*job); });
    const absl::StatusCode code = computed.code();
    if (!computed.ok() && code != absl::StatusCode::kAborted && code != absl::StatusCode::kUnavailable) {
      End(computed).IgnoreError();
    }
  }
}

absl::Status ServerSession::ComputeOne(Job& job) {
  Holdings holdings(model_->Graph().values.size());
  const auto outbox = lane_->Open(job.inference, job.recorder);
  WHARF_RETURN_IF_ERROR(
      RunSteps({model_->Program(), *job.steps, kServer, *job.inbox, *outbox, *job.recorder, {}}, holdings));
  lane_->Drain();
  Nanoseconds computing{0};
  std::vector<Computed> computed;
  for (const Event& event : job.recorder->Events()) {
    if (event.lane != Lane::kServer) continue;
    computing += FromSeconds((event.end_ms - event.start_ms) / 1e3);
    computed.push_back({event.op, event.rows.lo, event.rows.hi, static_cast<uint64_t>(event.start_ms * 1e6),
                        static_cast<uint64_t>(event.end_ms * 1e6)});
  }
  std::vector<Arrival> arrivals;
  {
    absl::MutexLock lock(&mutex_);
    arrivals = job.arrivals;
    ++inferences_;
    computing_time_ += computing;
  }
  return SendMessage(*channel_, FrameKind::kDone, Done{EncodeList(arrivals), EncodeList(computed)}, job.inference);
}

}  // namespace wharf::split
