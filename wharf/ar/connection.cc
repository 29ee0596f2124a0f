#include "wharf/ar/connection.h"

#include <utility>

#include "absl/time/time.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::ar {
namespace {

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(std::unique_ptr<link::ByteStream> stream,
                                                             const Hello& hello, ConnectionListener& listener,
                                                             Nanoseconds timeout) {
  WHARF_RETURN_IF_ERROR(CheckHello(hello));
  std::unique_ptr<Connection> connection(new Connection(listener));
  connection->channel_ = link::Channel::Create(std::move(stream), {.limits = kArFrameLimits});
  connection->channel_->Start(connection.get());
  WHARF_RETURN_IF_ERROR(connection->Greet(hello, timeout));
  return connection;
}

Connection::~Connection() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  channel_->Stop();
}

absl::Status Connection::Greet(const Hello& hello, Nanoseconds timeout) {
  // That it could not be sent shows in how the connection ended.
  SendMessage(*channel_, FrameKind::kHello, hello).IgnoreError();
  const auto answered = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return welcome_ || closed_.has_value(); };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&answered), absl::FromChrono(timeout)))
    return absl::DeadlineExceededError("the server does not answer");
  return welcome_ ? absl::OkStatus() : *closed_;
}

absl::Status Connection::Send(int64_t frame, uint8_t tasks, const scene::Image& picture, int quality) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> jpeg,
                         split::EncodeJpeg({picture.width, picture.height, 3, picture.rgb}, quality));
  return SendMessage(*channel_, FrameKind::kPicture, Picture{tasks}, static_cast<uint64_t>(frame), jpeg);
}

absl::Status Connection::Tell(const Report& report) { return SendMessage(*channel_, FrameKind::kReport, report); }

absl::StatusOr<std::span<std::byte>> Connection::BulkDestination(const link::FrameHeader& header,
                                                                 std::span<const std::byte>) {
  if (KindOf(header) != FrameKind::kResult) return InvalidArgument("the server sends bytes that mean nothing");
  return std::span<std::byte>();
}

absl::Status Connection::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                 std::vector<std::byte> bulk) {
  const auto frame = static_cast<int64_t>(header.tag);
  switch (KindOf(header)) {
    case FrameKind::kWelcome: {
      WHARF_ASSIGN_OR_RETURN(const Welcome welcome, DecodeHead<Welcome>(head, "the Welcome"));
      listener_.OnWelcome(welcome);
      absl::MutexLock lock(&mutex_);
      welcome_ = true;
      return absl::OkStatus();
    }
    case FrameKind::kResult: {
      WHARF_ASSIGN_OR_RETURN(const Result result, DecodeHead<Result>(head, "a result"));
      listener_.OnResult(result, frame, std::move(bulk));
      return absl::OkStatus();
    }
    case FrameKind::kFailed: {
      WHARF_ASSIGN_OR_RETURN(const Failed failed, DecodeHead<Failed>(head, "a failure"));
      listener_.OnFailed(failed.task, frame, split::StatusOf(Goodbye{failed.code, failed.message}));
      return absl::OkStatus();
    }
    case FrameKind::kSchedule: {
      WHARF_ASSIGN_OR_RETURN(const Schedule schedule, DecodeHead<Schedule>(head, "a schedule"));
      WHARF_ASSIGN_OR_RETURN(std::vector<int64_t> frames, DecodeList<int64_t>(schedule.frames));
      listener_.OnSchedule({std::move(frames), schedule.interval}, schedule.served);
      return absl::OkStatus();
    }
    case FrameKind::kHandOver: {
      WHARF_ASSIGN_OR_RETURN(const HandOver hand_over, DecodeHead<HandOver>(head, "a hand-over"));
      WHARF_ASSIGN_OR_RETURN(std::vector<std::string> servers, ServersOf(hand_over));
      listener_.OnHandOver(std::move(servers));
      return absl::OkStatus();
    }
    case FrameKind::kGoodbye: {
      WHARF_ASSIGN_OR_RETURN(const Goodbye goodbye, DecodeHead<Goodbye>(head, "the Goodbye"));
      absl::MutexLock lock(&mutex_);
      goodbye_ = split::StatusOf(goodbye);
      return *goodbye_;  // ends the connection
    }
    default:
      return InvalidArgument("the server sends an unknown message {}", header.kind);
  }
}

void Connection::OnClosed(const absl::Status& why) {
  bool tell = false;
  absl::Status how;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = goodbye_.value_or(why);
    how = *closed_;
    tell = welcome_ && !closing_;
  }
  if (tell) listener_.OnClosed(how);
}

}  // namespace wharf::ar
