#include "wharf/split/runtime/server.h"

#include <new>
#include <string_view>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "wharf/base/log.h"

namespace wharf::split {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);
constexpr size_t kMaxPlanBytes = 16 << 20;  // of all plans of a session, encoded
constexpr int kMaxProbes = 16;              // a client sends four; the answers wait for whoever does not read them

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

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

SplitServerSession::SplitServerSession(std::unique_ptr<link::ByteStream> stream, ServerConfig config)
    : config_(std::move(config)) {
  link::ChannelOptions options;
  options.limits = SplitFrameLimits();
  channel_ = link::Channel::Create(std::move(stream), options);
  outbound_ = std::make_unique<Outbound>(*channel_, Resource::kDownlink);
  computing_ = std::thread([this] { ComputeLoop(); });
  channel_->Start(this);
}

SplitServerSession::~SplitServerSession() {
  channel_->Close();
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (current_ != nullptr) current_->inbox->Close(Aborted("the session ends"));
  }
  computing_.join();
  outbound_.reset();
  channel_->Stop();
}

absl::Status SplitServerSession::Wait() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](std::optional<absl::Status>* closed) { return closed->has_value(); }, &closed_));
  return why_.ok() ? *closed_ : why_;
}

void SplitServerSession::EndBetweenInferences(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    end_soon_ = why;
    if (next_ != nullptr || current_ != nullptr) return;
  }
  End(why).IgnoreError();
}

ServerReport SplitServerSession::Report() {
  const link::ChannelStats traffic = channel_->Stats();
  absl::MutexLock lock(&mutex_);
  return {inferences_, traffic.bytes_received, traffic.bytes_sent, computing_time_};
}

bool SplitServerSession::ClientVanished() {
  absl::MutexLock lock(&mutex_);
  return closed_ && why_.ok() && !client_left_;
}

// --- On the reader thread ---

absl::Status SplitServerSession::End(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (!why_.ok() || closed_) return why;
    why_ = why;
  }
  return wire::EndSession<SplitProtocol>(*channel_, why, "split session ended", kFarewell);
}

absl::Status SplitServerSession::CheckBulk(const link::FrameHeader& header) const {
  const FrameKind kind = KindOf(header);
  if (kind == FrameKind::kModelPiece && awaited_ && header.bulk_bytes <= kModelPieceBytes) return absl::OkStatus();
  if (kind == FrameKind::kProbe && handshake_.Greeted() && header.bulk_bytes <= kProbeBytes) return absl::OkStatus();
  return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
}

absl::StatusOr<std::span<std::byte>> SplitServerSession::BulkDestination(const link::FrameHeader& header,
                                                                         std::span<const std::byte> head) {
  TakePrepared();
  if (KindOf(header) == FrameKind::kRows && receiver_) {
    const auto place = WithinMemory([&] { return receiver_->BulkDestination(header, head); });
    if (!place.ok()) return End(place.status());
    return place;
  }
  if (const absl::Status fits = CheckBulk(header); !fits.ok()) return End(fits);
  return std::span<std::byte>();
}

absl::Status SplitServerSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                         std::vector<std::byte> bulk) {
  const absl::Status handled = WithinMemory([&] { return Handle(header, head, bulk); });
  return handled.ok() ? handled : End(handled);
}

absl::Status SplitServerSession::Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                                        std::span<const std::byte> bulk) {
  const FrameKind kind = KindOf(header);
  TakePrepared();
  if (!handshake_.Greeted()) return OnHello(header, head);
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

absl::Status SplitServerSession::HandleRunning(const link::FrameHeader& header, std::span<const std::byte> head) {
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

absl::Status SplitServerSession::OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const std::optional<Hello> hello, handshake_.Hear(*channel_, header, head));
  if (!hello) return absl::OkStatus();
  Welcome welcome;
  welcome.ticket = config_.ticket;
  return handshake_.Accept(*channel_, *hello, welcome);
}

absl::Status SplitServerSession::OnGoodbye() {
  {
    absl::MutexLock lock(&mutex_);
    client_left_ = true;
  }
  channel_->Close();
  return absl::OkStatus();
}

absl::Status SplitServerSession::OnOpenModel(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const OpenModel open, DecodeHead<OpenModel>(head, "the request for a model"));
  if (std::exchange(opened_, true)) return InvalidArgument("a session has one model");
  if (open.bytes == 0 || open.bytes > config_.max_model_bytes) {
    return ResourceExhausted("a model of {} bytes: the server takes at most {}", open.bytes, config_.max_model_bytes);
  }
  hash_ = open.hash;
  if (auto model = config_.models->InMemory(open.hash); model != nullptr) return UseModel(std::move(model));
  return Prepare([this, open](const GoOn&) -> absl::Status {
    auto model = config_.models->Find(open.hash);
    if (model.ok()) return UseModel(*std::move(model));
    if (!absl::IsNotFound(model.status())) return model.status();
    {
      absl::MutexLock lock(&mutex_);
      wanted_ = open;
    }
    return SendMessage(*channel_, FrameKind::kModelState, ModelState{false});
  });
}

absl::Status SplitServerSession::OnModelPiece(std::span<const std::byte> piece) {
  if (!awaited_ || piece.empty() || piece.size() > awaited_->bytes - pieces_.size()) {
    return InvalidArgument("a piece of a model that was not asked for");
  }
  pieces_.insert(pieces_.end(), piece.begin(), piece.end());
  if (pieces_.size() < awaited_->bytes) return absl::OkStatus();
  awaited_.reset();
  return Prepare([this, hash = hash_, bytes = std::exchange(pieces_, {})](const GoOn&) -> absl::Status {
    WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, config_.models->Add(hash, bytes));
    return UseModel(std::move(model));
  });
}

// On either thread: before the client knows, the reader thread can.
absl::Status SplitServerSession::UseModel(std::shared_ptr<const Model> model) {
  {
    absl::MutexLock lock(&mutex_);
    loaded_ = std::move(model);
  }
  return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
}

void SplitServerSession::TakePrepared() {
  absl::MutexLock lock(&mutex_);
  if (wanted_) awaited_ = std::exchange(wanted_, std::nullopt);
  if (loaded_ == nullptr) return;
  model_ = std::exchange(loaded_, nullptr);
  receiver_.emplace(*model_, *config_.clock, Resource::kUplink);
}

absl::Status SplitServerSession::Prepare(Setup setup) {
  absl::MutexLock lock(&mutex_);
  if (setup_ != nullptr) return InvalidArgument("a question came before the last was answered");
  setup_ = std::move(setup);
  return absl::OkStatus();
}

absl::Status SplitServerSession::OnAskMachine() {
  return Prepare([this, model = model_, hash = hash_](const GoOn& go_on) -> absl::Status {
    std::string json;
    if (config_.machine) {
      WHARF_ASSIGN_OR_RETURN(json, config_.machine(*model, hash, go_on));
    }
    return channel_->Send(static_cast<uint16_t>(FrameKind::kMachine), 0, {}, std::as_bytes(std::span(json)));
  });
}

absl::Status SplitServerSession::OnProbe(std::span<const std::byte> bulk) {
  if (++probes_ > kMaxProbes) return ResourceExhausted("more than {} probes", kMaxProbes);
  return channel_->Send(static_cast<uint16_t>(FrameKind::kProbed), 0, {}, bulk);
}

absl::Status SplitServerSession::OnPlan(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const PlanMessage message, DecodeHead<PlanMessage>(head, "a plan"));
  plan_bytes_ += message.rows.size() + message.bands.size();
  if (plan_bytes_ > kMaxPlanBytes) return ResourceExhausted("plans of more than {} bytes", kMaxPlanBytes);
  const absl::Status too_long =
      DeadlineExceeded("checking and compiling plans took longer than the {:.3g} s that a session has for all of them",
                       Seconds(config_.max_planning));
  const TimePoint start = Clock::Real().Now();
  const absl::Status added = Watched(config_.max_planning - planning_, too_long, [&] { return AddPlan(message); });
  planning_ += Clock::Real().Now() - start;
  return added;
}

absl::Status SplitServerSession::AddPlan(const PlanMessage& message) {
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

absl::Status SplitServerSession::OnBegin(const link::FrameHeader& header, std::span<const std::byte> head) {
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

absl::Status SplitServerSession::OnRows(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Arrival arrival, receiver_->OnRows(header, head));
  {
    absl::MutexLock lock(&mutex_);
    Job* const job = next_ != nullptr ? next_.get() : current_.get();
    if (job != nullptr && job->inference == header.tag) job->arrivals.push_back(arrival);
  }
  receiver_->Deliver();  // now that Done will tell of it
  return absl::OkStatus();
}

void SplitServerSession::OnClosed(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = why;
    ending_ = true;
    if (current_ != nullptr) current_->inbox->Close(why);
  }
  if (config_.on_closed) config_.on_closed();
}

// --- On the computing thread ---

bool SplitServerSession::TakeWork(Setup& setup, std::shared_ptr<Job>& job) {
  const auto work = [this]()
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || setup_ != nullptr || next_ != nullptr; };
  absl::Status end_soon;
  {
    absl::MutexLock lock(&mutex_);
    current_.reset();
    end_soon = end_soon_;
    if (end_soon.ok()) mutex_.Await(absl::Condition(&work));
    if (end_soon.ok() && !ending_) {
      setup = std::exchange(setup_, nullptr);
      job = setup == nullptr ? current_ = std::exchange(next_, nullptr) : nullptr;
      return true;
    }
  }
  if (!end_soon.ok()) End(end_soon).IgnoreError();
  return false;
}

void SplitServerSession::ComputeLoop() {
  Setup setup;
  std::shared_ptr<Job> job;
  while (TakeWork(setup, job)) {
    const absl::Status computed = setup != nullptr ? RunSetup(setup) : WithinMemory([&] { return ComputeOne(*job); });
    const bool gone = absl::IsAborted(computed) || (job != nullptr && absl::IsUnavailable(computed));
    if (!computed.ok() && !gone) End(computed).IgnoreError();
    setup = nullptr;
    job = nullptr;
  }
}

// On either thread. The reader's notices nothing while it works, not even that the client has gone: so whoever runs the
// session hears from here that it is over.
absl::Status SplitServerSession::Watched(Nanoseconds limit, const absl::Status& too_long,
                                         const std::function<absl::Status()>& work) {
  absl::Notification done;
  std::thread watch([&] {
    if (done.WaitForNotificationWithTimeout(absl::FromChrono(limit))) return;
    End(too_long).IgnoreError();
    if (config_.on_closed) config_.on_closed();
  });
  const absl::Status status = WithinMemory(work);
  done.Notify();
  watch.join();
  return status;
}

absl::Status SplitServerSession::RunSetup(const Setup& setup) {
  const absl::Status too_long =
      DeadlineExceeded("loading or measuring the model took longer than the {:.0f} s that the server has for it",
                       Seconds(config_.max_setup));
  const TimePoint end = Clock::Real().Now() + config_.max_setup;
  const GoOn go_on = [&]() -> absl::Status {
    if (Clock::Real().Now() >= end) return too_long;
    absl::MutexLock lock(&mutex_);
    return ending_ ? Aborted("the session ends") : absl::OkStatus();
  };
  return Watched(config_.max_setup, too_long, [&] { return setup(go_on); });
}

absl::Status SplitServerSession::ComputeOne(Job& job) {
  RowStore store(model_->Graph().values.size());
  const auto outbox = outbound_->Open(job.inference, job.recorder);
  WHARF_RETURN_IF_ERROR(
      RunSteps({model_->Program(), *job.steps, kServer, *job.inbox, *outbox, *job.recorder, {}}, store));
  outbound_->Drain();
  Nanoseconds computing{0};
  std::vector<Computed> computed;
  for (const Event& event : job.recorder->Events()) {
    if (event.resource != Resource::kServer) continue;
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
