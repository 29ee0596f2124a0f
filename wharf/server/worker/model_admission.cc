#include "wharf/server/worker/model_admission.h"

#include <array>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/link/resume/resume_opening.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/worker/connection_relay.h"
#include "wharf/split/messages/messages.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);
// Of a Hello, or a Proof.
constexpr link::FrameLimits kHelloLimits = {.max_head_bytes = 1 << 10, .max_bulk_bytes = 0};

absl::Status ReadAll(link::ByteStream& stream, std::span<std::byte> into) {
  WHARF_ASSIGN_OR_RETURN(const size_t count, link::ReadUpTo(stream, into));
  return count == into.size() ? absl::OkStatus() : Unavailable("the connection ended within the Hello");
}

// As a channel would send it.
std::vector<std::byte> FrameOf(split::FrameKind kind, std::span<const std::byte> head) {
  std::vector<std::byte> frame(link::kFrameHeaderBytes);
  const link::FrameHeader header{.kind = static_cast<uint16_t>(kind), .head_bytes = static_cast<uint32_t>(head.size())};
  link::EncodeFrameHeader(header, std::span(frame).first<link::kFrameHeaderBytes>());
  frame.insert(frame.end(), head.begin(), head.end());
  return frame;
}

struct HelloFrame {
  link::FrameHeader header;
  std::vector<std::byte> head;
};
absl::StatusOr<HelloFrame> ReadFrame(link::ByteStream& stream) {
  std::array<std::byte, link::kFrameHeaderBytes> bytes{};
  WHARF_RETURN_IF_ERROR(ReadAll(stream, bytes));
  HelloFrame frame;
  WHARF_ASSIGN_OR_RETURN(frame.header, link::DecodeFrameHeader(bytes, kHelloLimits));
  frame.head.resize(frame.header.head_bytes);
  WHARF_RETURN_IF_ERROR(ReadAll(stream, frame.head));
  return frame;
}

absl::Status WriteFrame(link::ByteStream& stream, split::FrameKind kind, std::span<const std::byte> head) {
  const std::vector<std::byte> frame = FrameOf(kind, head);
  const std::span<const std::byte> piece(frame);
  return stream.Write({&piece, 1});
}

// The Hello of a client that may be let in.
absl::StatusOr<split::Hello> Hear(link::ByteStream& stream, Configure& configure) {
  const link::StreamDeadline deadline(stream, Clock::Real(), Nanoseconds(configure.hello_timeout_ns));
  wire::ServerHandshake<split::SplitProtocol> handshake(TakeCheck(configure));
  for (;;) {
    WHARF_ASSIGN_OR_RETURN(const HelloFrame frame, ReadFrame(stream));
    WHARF_ASSIGN_OR_RETURN(auto judgement, handshake.Judge(frame.header, frame.head, stream));
    if (judgement.answer) {
      WHARF_RETURN_IF_ERROR(WriteFrame(stream, judgement.answer->kind, judgement.answer->head));
    }
    if (judgement.hello) return *std::move(judgement.hello);
  }
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
  const split::ResumeTicket ticket = std::exchange(hello.ticket, {});
  const ServeModels wish{FrameOf(split::FrameKind::kHello, wire::Encode(hello)), ticket.session, ticket.secret};
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
  if (!WriteFrame(stream, split::FrameKind::kGoodbye, wire::Encode(wire::GoodbyeOf(why))).ok()) return;
  stream.FinishWriting();
  std::array<std::byte, 4096> unread;
  while (stream.Read(unread).value_or(0) > 0) {
  }
}

}  // namespace

wire::ClientCheck TakeCheck(Configure& configure) {
  wire::ClientCheck check;
  if (configure.wants_token) check.keys[wire::kClientRole] = configure.token_key;
  configure.token_key = {};
  check.by_certificate = !configure.tls_client_ca.empty();
  return check;
}

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

int AdmitModelClient(int control, Configure configure, std::unique_ptr<link::ByteStream> stream, int fd) {
  const auto admitted = [&]() -> absl::StatusOr<std::unique_ptr<ConnectionRelay>> {
    WHARF_ASSIGN_OR_RETURN(split::Hello hello, Hear(*stream, configure));
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<ConnectionRelay> relay, ConnectionRelay::Make(fd));
    WHARF_RETURN_IF_ERROR(AskDaemon(control, std::move(hello), relay->Descriptor()));
    return relay;
  }();
  if (admitted.ok()) {
    (*admitted)->Carry(*stream);
    return 0;
  }
  const absl::Status& why = admitted.status();
  const ClientRefused refusal{RefusedAt::kHello, stream->Peer(), std::string(Message(why))};
  SendControl(control, ControlKind::kClientRefused, refusal).IgnoreError();
  SayGoodbye(*stream, why);
  return 0;
}

}  // namespace wharf::server
