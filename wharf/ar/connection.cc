#include "wharf/ar/connection.h"

#include <utility>

#include "wharf/split/codec/jpeg.h"

namespace wharf::ar {
namespace {

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(std::unique_ptr<link::ByteStream> stream,
                                                             const Hello& hello, const std::string& token,
                                                             ConnectionListener& listener, Nanoseconds timeout) {
  WHARF_RETURN_IF_ERROR(CheckHello(hello));
  std::unique_ptr<Connection> connection(new Connection(listener));
  connection->channel_ = link::Channel::Create(std::move(stream), {.limits = kArFrameLimits});
  connection->channel_->Start(connection.get());
  WHARF_RETURN_IF_ERROR(connection->handshake_.Greet(*connection->channel_, hello, token, timeout).status());
  return connection;
}

Connection::~Connection() {
  closing_ = true;
  channel_->Stop();
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
  if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
  const auto frame = static_cast<int64_t>(header.tag);
  switch (KindOf(header)) {
    case FrameKind::kResult: {
      WHARF_ASSIGN_OR_RETURN(const Result result, DecodeHead<Result>(head, "a result"));
      listener_.OnResult(result, frame, std::move(bulk));
      return absl::OkStatus();
    }
    case FrameKind::kFailed: {
      WHARF_ASSIGN_OR_RETURN(const Failed failed, DecodeHead<Failed>(head, "a failure"));
      listener_.OnFailed(failed.task, frame, wire::StatusOf(Goodbye{failed.code, failed.message}));
      return absl::OkStatus();
    }
    case FrameKind::kSchedule: {
      WHARF_ASSIGN_OR_RETURN(const Schedule schedule, DecodeHead<Schedule>(head, "a schedule"));
      WHARF_ASSIGN_OR_RETURN(std::vector<int64_t> frames, DecodeList<int64_t>(schedule.frames));
      listener_.OnSchedule({std::move(frames), schedule.interval}, schedule.served, wire::LineOf(schedule.why));
      return absl::OkStatus();
    }
    case FrameKind::kRedirect: {
      WHARF_ASSIGN_OR_RETURN(const Redirect redirect, DecodeHead<Redirect>(head, "a redirect"));
      WHARF_ASSIGN_OR_RETURN(std::vector<std::string> servers, ServersOf(redirect));
      listener_.OnRedirect(std::move(servers));
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("the server sends an unknown message {}", header.kind);
  }
}

void Connection::OnClosed(const absl::Status& why) {
  const absl::Status how = handshake_.OnClosed(why);
  if (handshake_.Welcomed() && !closing_) listener_.OnClosed(how);
}

}  // namespace wharf::ar
