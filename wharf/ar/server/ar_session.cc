#include "wharf/ar/server/ar_session.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "wharf/ar/relay/relay.h"
#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

constexpr const char* kSentAway = "AR client sent away";
constexpr Nanoseconds kFarewell = std::chrono::milliseconds(250);
constexpr Nanoseconds kShortFarewell = std::chrono::milliseconds(20);  // while another waits to be let in
constexpr size_t kMostWaiting = 2;  // pictures of a client that offloads by its own plan
constexpr double kBurst = 8;        // pictures that may come at once, after a stall of the link
// Messages for each picture that may come: it, and a report of what its answer showed.
constexpr double kMessages = 2;
constexpr double kLongestStall = 10;  // seconds of a link, after which all that waited may come at once

Task OnlyTask(const Hello& hello) { return static_cast<Task>(std::countr_zero(hello.tasks)); }
// Of a Hello that asks for one task.
std::string_view OnlyTaskName(const Hello& hello) {
  const auto task = static_cast<size_t>(OnlyTask(hello));
  return task < kTaskNames.size() ? kTaskNames[task] : std::string_view(hello.models);
}
FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }
uint64_t Count(Nanoseconds time) { return static_cast<uint64_t>(std::max(time, Nanoseconds(0)).count()); }

template <typename M>
void Put(link::Outbox& outbox, FrameKind kind, int64_t frame, const M& message, std::vector<std::byte> bulk = {}) {
  outbox.Put(static_cast<uint16_t>(kind), static_cast<uint64_t>(frame), wire::Encode(message), std::move(bulk));
}

void PutFinding(link::Outbox& outbox, Task task, int64_t frame, Finding finding, Nanoseconds waited,
                Nanoseconds computed) {
  if (finding.ok()) {
    Put(outbox, FrameKind::kResult, frame, Result{task, Count(waited), Count(computed)}, *std::move(finding));
  } else {
    const Goodbye why = wire::GoodbyeOf(finding.status());
    Put(outbox, FrameKind::kFailed, frame, Failed{task, why.code, why.message});
  }
}

// What the coordination says, on its way to the client.
class Peer final : public CoordinatedPeer {
 public:
  Peer(std::shared_ptr<link::Outbox> outbox, Task task, std::string next)
      : outbox_(std::move(outbox)), task_(task), next_(std::move(next)) {}
  void Tell(const serving::ClientPlan& plan, bool served, std::string why) override {
    Put(*outbox_, FrameKind::kSchedule, 0, Schedule{EncodeList(plan.frames), plan.interval, served, std::move(why)});
  }
  void Redirect() override {
    if (!next_.empty()) Put(*outbox_, FrameKind::kRedirect, 0, ar::Redirect{next_});
  }
  void Deliver(int64_t frame, Finding finding, Nanoseconds waited, Nanoseconds computed) override {
    PutFinding(*outbox_, task_, frame, std::move(finding), waited, computed);
  }

 private:
  const std::shared_ptr<link::Outbox> outbox_;
  const Task task_;
  const std::string next_;
};

}  // namespace

ArSession::ArSession(const ServerConfig& config, uint64_t id, PictureMemory& memory, ServerTally& tally,
                     std::unique_ptr<link::ByteStream> relay)
    : config_(config), id_(id), memory_(memory), tally_(tally), heard_at_(config.clock->Now().since_epoch.count()) {
  channel_ = link::Channel::Create(std::move(relay), {.limits = kRelayFrameLimits});
  outbox_ = std::make_shared<link::Outbox>(*channel_, config_.max_unread_bytes);
  channel_->Start(this);
}

ArSession::~ArSession() {
  channel_->Close();
  outbox_->Close();
  channel_->Stop();  // no frames come any more
  if (config_.solo != nullptr) config_.solo->Drop(id_);
  if (coordinated_ != 0) config_.coordination->Leave(coordinated_);
}

void ArSession::Redirect() {
  if (handshake_.Greeted()) Put(*outbox_, FrameKind::kRedirect, 0, ar::Redirect{config_.next});
}

void ArSession::GiveWay() {
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(config_.clock->Now() - HeardAt());
  const absl::Status why =
      ResourceExhausted("nothing came of this client for {} s, and another needs its place", silent.count());
  wire::EndSession<ArProtocol>(*channel_, why, "AR client gives way", kShortFarewell).IgnoreError();
  over_ = true;
}

absl::Status ArSession::CheckBulk(const link::FrameHeader& header) const {
  if (!handshake_.Greeted() || KindOf(header) != FrameKind::kPicture)
    return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
  const uint64_t bytes = uint64_t{3} * static_cast<uint64_t>(hello_.width) * static_cast<uint64_t>(hello_.height);
  if (header.bulk_bytes != bytes)
    return InvalidArgument("a picture of {} bytes in place of {}", header.bulk_bytes, bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::span<std::byte>> ArSession::BulkDestination(const link::FrameHeader& header,
                                                                std::span<const std::byte>) {
  if (const absl::Status fits = CheckBulk(header); !fits.ok()) return End(fits);
  incoming_ = {hello_.width, hello_.height, std::vector<uint8_t>(header.bulk_bytes)};
  return std::as_writable_bytes(std::span(incoming_.rgb));
}

absl::Status ArSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                std::vector<std::byte>) {
  heard_at_ = config_.clock->Now().since_epoch.count();
  const absl::Status handled = Handle(header, head);
  return handled.ok() ? handled : End(handled);
}

void ArSession::OnClosed(const absl::Status&) {
  over_ = true;
  if (coordinated_ != 0) config_.coordination->Leave(coordinated_);  // others can have its place at once
}

absl::Status ArSession::End(const absl::Status& why) {
  return wire::EndSession<ArProtocol>(*channel_, why, kSentAway, kFarewell);
}

absl::Status ArSession::OnGoodbye(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const auto goodbye, DecodeHead<Goodbye>(head, "the Goodbye"));
  Log(LogLevel::kWarning, kSentAway, {{"peer", channel_->Stream().Peer()}, {"why", Message(wire::StatusOf(goodbye))}});
  channel_->Close();
  return absl::OkStatus();
}

absl::Status ArSession::Handle(const link::FrameHeader& header, std::span<const std::byte> head) {
  if (KindOf(header) == FrameKind::kGoodbye) return OnGoodbye(head);
  if (!handshake_.Greeted()) return OnHello(header, head);
  WHARF_RETURN_IF_ERROR(CountMessage());
  switch (KindOf(header)) {
    case FrameKind::kPicture:
      return OnPicture(static_cast<int64_t>(header.tag), head);
    case FrameKind::kReport: {
      if (coordinated_ == 0) return InvalidArgument("a report of a client without an agreed accuracy");
      WHARF_ASSIGN_OR_RETURN(const Report report, DecodeHead<Report>(head, "the report"));
      config_.coordination->OnReport(coordinated_, {report.drop_rate, report.network_s, report.frames, report.lost});
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

absl::Status ArSession::CountMessage() {
  if (messages_->Allows(config_.clock->Now())) return absl::OkStatus();
  return ResourceExhausted(
      "more than {:g} messages a second: a client sends its camera's pictures, at the rate that its Hello says and at "
      "most {:g} a second, and a report for each",
      messages_->rate(), config_.max_pictures_per_s);
}

absl::Status ArSession::OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const std::optional<Hello> hello, handshake_.Hear(*channel_, header, head));
  if (!hello) return absl::OkStatus();
  hello_ = *hello;
  WHARF_RETURN_IF_ERROR(CheckHello(hello_));
  const double rate = std::min(hello_.frames_per_s, config_.max_pictures_per_s);
  pictures_.emplace(rate, kBurst);
  messages_.emplace(kMessages * rate, kMessages * rate * kLongestStall);
  WHARF_RETURN_IF_ERROR(Prepare());
  WHARF_ASSIGN_OR_RETURN(share_, memory_.Admit(hello_.width, hello_.height));
  if ((hello_.features & kFeatureCheckOnly) != 0) return AnswerCheck();
  Log(LogLevel::kInfo, "AR client",
      {{"peer", channel_->Stream().Peer()}, {"tasks", int{hello_.tasks}}, {"sla", hello_.sla}});
  Welcome welcome;
  welcome.sessions = memory_.Shares() - 1;
  if (hello_.sla > 0) welcome.inference_nanoseconds = Count(config_.coordination->Inference());
  WHARF_RETURN_IF_ERROR(handshake_.Accept(*channel_, hello_, welcome));
  ++tally_.clients;
  if (hello_.sla > 0) {
    ++tally_.agreed;
    coordinated_ = config_.coordination->Join(hello_.frames_per_s, hello_.sla, hello_.depth_coding,
                                              std::make_shared<Peer>(outbox_, OnlyTask(hello_), config_.next));
  }
  return absl::OkStatus();
}

absl::Status ArSession::AnswerCheck() {
  share_ = PictureMemory::Share();
  Welcome welcome;
  welcome.features = kFeatureCheckOnly;
  welcome.sessions = memory_.Shares();
  WHARF_RETURN_IF_ERROR(handshake_.Accept(*channel_, hello_, welcome));
  channel_->Close(kFarewell);
  return absl::OkStatus();
}

absl::Status ArSession::Prepare() {
  if (hello_.sla == 0) {
    if (!config_.make_solo) return FailedPrecondition("this server serves clients with an agreed accuracy only");
    WHARF_ASSIGN_OR_RETURN(solo_, config_.make_solo(hello_));
    return absl::OkStatus();
  }
  if (config_.coordination == nullptr) return FailedPrecondition("this server agrees on no accuracy");
  const BatchFinder& finder = *config_.batch_finder;
  if (hello_.frames_per_s > config_.max_pictures_per_s)
    return InvalidArgument("an accuracy can be agreed for at most {:g} frames a second", config_.max_pictures_per_s);
  if (OnlyTaskName(hello_) != finder.TaskName())
    return FailedPrecondition("this server agrees on the accuracy of another task: {}", finder.TaskName());
  if (finder.TakesAnySize()) return absl::OkStatus();
  if (hello_.width != finder.Width() || hello_.height != finder.Height())
    return InvalidArgument("pictures of {} x {} for a network that takes {} x {}", hello_.width, hello_.height,
                           finder.Width(), finder.Height());
  return absl::OkStatus();
}

absl::Status ArSession::OnPicture(int64_t frame, std::span<const std::byte> head) {
  scene::Image image = std::exchange(incoming_, {});
  if (image.rgb.empty()) return InvalidArgument("a picture without pixels");
  WHARF_ASSIGN_OR_RETURN(const Picture picture, DecodeHead<Picture>(head, "a picture's head"));
  if (picture.tasks == 0 || (picture.tasks & ~hello_.tasks) != 0)
    return InvalidArgument("a picture for tasks that the Hello does not name");
  if (!pictures_->Allows(config_.clock->Now())) {
    Fail(frame, picture.tasks, ResourceExhausted("more pictures than agreed"));
    return absl::OkStatus();
  }
  ++tally_.pictures;
  if (coordinated_ != 0) {
    config_.coordination->OnPicture(coordinated_, frame, std::move(image));
  } else {
    FindAlone(frame, picture.tasks, std::move(image));
  }
  return absl::OkStatus();
}

void ArSession::FindAlone(int64_t frame, uint8_t tasks, scene::Image image) {
  auto shared = std::make_shared<scene::Frame>();
  shared->index = frame;
  shared->image = std::move(image);
  const TimePoint arrived = config_.clock->Now();
  const bool taken = config_.solo->Push(id_, kMostWaiting, [this, tasks, shared, arrived] {
    for (int i = 0; i < kMostTasks; ++i) {
      if ((tasks >> i & 1) == 0) continue;
      const TimePoint begun = config_.clock->Now();
      Finding finding = solo_->Find(static_cast<Task>(i), shared);
      PutFinding(*outbox_, static_cast<Task>(i), shared->index, std::move(finding), begun - arrived,
                 config_.clock->Now() - begun);
    }
  });
  if (!taken) Fail(frame, tasks, ResourceExhausted("the pictures before it are still being looked at"));
}

void ArSession::Fail(int64_t frame, uint8_t tasks, const absl::Status& why) {
  for (int i = 0; i < kMostTasks; ++i) {
    if ((tasks >> i & 1) != 0) PutFinding(*outbox_, static_cast<Task>(i), frame, why, {}, {});
  }
}

}  // namespace wharf::ar
