#include "wharf/server/model_door.h"

#include <array>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/link/resume_opening.h"
#include "wharf/server/control_codec.h"
#include "wharf/server/hand_over.h"
#include "wharf/server/options.h"
#include "wharf/split/runtime/messages.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);
// Of a Hello: a token has at most 4 KiB.
constexpr link::FrameLimits kHelloLimits = {.max_head_bytes = 8 << 10, .max_bulk_bytes = 0};

absl::Status ReadAll(link::ByteStream& stream, std::span<std::byte> into) {
  WHARF_ASSIGN_OR_RETURN(const size_t count, link::ReadUpTo(stream, into));
  return count == into.size() ? absl::OkStatus() : Unavailable("the connection ended within the Hello");
}

absl::StatusOr<split::Hello> ReadHello(link::ByteStream& stream, Nanoseconds timeout) {
  const link::StreamDeadline deadline(stream, Clock::Real(), timeout);
  std::array<std::byte, link::kFrameHeaderBytes> bytes{};
  WHARF_RETURN_IF_ERROR(ReadAll(stream, bytes));
  WHARF_ASSIGN_OR_RETURN(const link::FrameHeader header, link::DecodeFrameHeader(bytes, kHelloLimits));
  std::vector<std::byte> head(header.head_bytes);
  WHARF_RETURN_IF_ERROR(ReadAll(stream, head));
  WHARF_RETURN_IF_ERROR(offload::CheckHelloPrefix(head, split::kSplitVersion));
  auto hello = offload::Decode<split::Hello>(head);
  if (!hello.ok()) return InvalidArgument("the Hello is malformed");
  return hello;
}

absl::Status CheckToken(const std::string& given, const std::string& expected) {
  if (expected.empty() || TokensEqual(given, expected)) return absl::OkStatus();
  return given.empty() ? Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)")
                       : Unauthenticated("the token is wrong: use the server's token file");
}

// As a channel would send it.
std::vector<std::byte> FrameOf(split::FrameKind kind, std::span<const std::byte> head) {
  std::vector<std::byte> frame(link::kFrameHeaderBytes);
  const link::FrameHeader header{.kind = static_cast<uint16_t>(kind), .head_bytes = static_cast<uint32_t>(head.size())};
  link::EncodeFrameHeader(header, std::span(frame).first<link::kFrameHeaderBytes>());
  frame.insert(frame.end(), head.begin(), head.end());
  return frame;
}

absl::Status StatusOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAdmitted:
      return absl::OkStatus();
    case Verdict::kFull:
      return ResourceExhausted("the server is full: try again later, or raise its --max-sessions");
    case Verdict::kDraining:
      return Unavailable("the server is shutting down");
    case Verdict::kNoModels:
      return FailedPrecondition("this server cannot run models: install wharf-model there");
  }
  return Internal("an unknown verdict");
}

// Whether the daemon found a process for the client and passed the connection on to it.
absl::Status AskDaemon(int control, split::Hello hello, int descriptor) {
  const split::Ticket ticket = std::exchange(hello.ticket, {});
  hello.token.clear();
  const ServeModels wish{FrameOf(split::FrameKind::kHello, offload::Encode(hello)), ticket.session, ticket.secret};
  WHARF_RETURN_IF_ERROR(SendControl(control, ControlKind::kServeModels, wish, descriptor));
  while (true) {
    WHARF_ASSIGN_OR_RETURN(const ControlMessage message, ReceiveControl(control));
    const auto admission = DecodeControl<Admission>(message, ControlKind::kAdmission);
    if (admission.ok()) return StatusOf(admission->verdict);  // anything else (Drain) is for the session's worker
  }
}

// Then reads what the client still sends and throws it away: TCP resets a connection that is closed with bytes unread,
// and the client might never see why it was refused.
void SayGoodbye(link::ByteStream& stream, const absl::Status& why) {
  const link::StreamDeadline deadline(stream, Clock::Real(), kFarewell);
  const std::vector<std::byte> frame = FrameOf(split::FrameKind::kGoodbye, offload::Encode(split::GoodbyeOf(why)));
  const std::span<const std::byte> piece(frame);
  if (!stream.Write({&piece, 1}).ok()) return;
  stream.FinishWriting();
  std::array<std::byte, 4096> unread;
  while (stream.Read(unread).value_or(0) > 0) {
  }
}

}  // namespace

absl::StatusOr<FirstFrame> ReadFirstFrame(std::unique_ptr<link::ByteStream> stream, Nanoseconds timeout) {
  const link::StreamDeadline deadline(*stream, Clock::Real(), timeout);
  std::vector<std::byte> bytes(link::kFrameHeaderBytes);
  WHARF_ASSIGN_OR_RETURN(const size_t count, link::ReadUpTo(*stream, bytes));
  bytes.resize(count);
  bool split = false;
  if (count == link::kFrameHeaderBytes) {
    const auto header = link::DecodeFrameHeader(bytes, split::SplitFrameLimits());
    split = header.ok() && header->kind == static_cast<uint16_t>(split::FrameKind::kHello);
  }
  return FirstFrame{link::WithPrefix(std::move(bytes), std::move(stream)), split};
}

int AdmitModelClient(int control, const Configure& configure, std::unique_ptr<link::ByteStream> stream, int fd) {
  const auto admitted = [&]() -> absl::StatusOr<std::unique_ptr<Passage>> {
    WHARF_ASSIGN_OR_RETURN(split::Hello hello, ReadHello(*stream, Nanoseconds(configure.hello_timeout_ns)));
    WHARF_RETURN_IF_ERROR(CheckToken(hello.token, configure.token));
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<Passage> passage, Passage::Make(fd));
    WHARF_RETURN_IF_ERROR(AskDaemon(control, std::move(hello), passage->Descriptor()));
    return passage;
  }();
  if (admitted.ok()) {
    (*admitted)->Carry(*stream);
    return 0;
  }
  const absl::Status& why = admitted.status();
  Log(LogLevel::kWarning, "client refused", {{"peer", stream->Peer()}, {"why", Message(why)}});
  SessionReport report;
  report.refused = true;
  SendControl(control, ControlKind::kSessionReport, report).IgnoreError();
  SayGoodbye(*stream, why);
  return 0;
}

}  // namespace wharf::server
