#include "wharf/ar/relay/relay.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "wharf/ar/relay/picture.h"
#include "wharf/link/forwarding_stream.h"

namespace wharf::ar {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::milliseconds(250);

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

// What an earlier message asked for is on its way once this was.
void SayGoodbye(link::Channel& channel, const absl::Status& why) {
  SendMessage(channel, FrameKind::kGoodbye, wire::GoodbyeOf(why)).IgnoreError();
  channel.Close(kFarewell);
}

}  // namespace

class Relay::FromClient final : public link::FrameHandler {
 public:
  FromClient(Relay& relay, wire::ClientCheck check) : relay_(relay), handshake_(std::move(check)) {}

  // On the server's thread, so that nothing that the server says overtakes it; the client's waits for it.
  absl::Status Welcome(const ar::Welcome& welcome) {
    absl::MutexLock lock(&mutex_);
    if (let_in_.has_value()) return Internal("the server answers twice");
    return handshake_.Accept(*relay_.client_, hello_, welcome);
  }
  // The server has let the client in, or will not.
  void Answer(bool let_in) {
    absl::MutexLock lock(&mutex_);
    if (!let_in_) let_in_ = let_in;
  }
  void AwaitEnd() { ended_.WaitForNotification(); }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte>) override {
    if (const absl::Status fits = CheckBulk(header); !fits.ok()) return SendAway(fits);
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    const absl::Status handled = Handle(header, head, bulk);
    return handled.ok() ? handled : SendAway(handled);
  }
  void OnClosed(const absl::Status&) override {
    relay_.server_->Close();
    ended_.Notify();
  }

  absl::Status CheckBulk(const link::FrameHeader& header) const {
    if (!handshake_.Greeted() || KindOf(header) != FrameKind::kPicture)
      return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
    if (header.bulk_bytes > kMaxPictureBytes) return ResourceExhausted("a picture of {} bytes", header.bulk_bytes);
    return absl::OkStatus();
  }
  absl::Status SendAway(const absl::Status& why) {
    SayGoodbye(*relay_.client_, why);
    SayGoodbye(*relay_.server_, why);
    return why;
  }

  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                      std::span<const std::byte> bulk) {
    if (!handshake_.Greeted()) return OnHandshake(header, head);
    switch (KindOf(header)) {
      case FrameKind::kPicture:
        return OnPicture(header.tag, head, bulk);
      case FrameKind::kReport: {
        WHARF_ASSIGN_OR_RETURN(const Report report, DecodeHead<Report>(head, "the report"));
        return Send(FrameKind::kReport, header.tag, report);
      }
      case FrameKind::kGoodbye:
        relay_.client_->Close();
        return absl::OkStatus();
      default:
        return InvalidArgument("unknown message {}", header.kind);
    }
  }

  // Returns when the server has answered a Hello: a client that goes on before it was let in waits.
  absl::Status OnHandshake(const link::FrameHeader& header, std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(const std::optional<Hello> hello, handshake_.Hear(*relay_.client_, header, head));
    if (!hello) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(CheckHello(*hello));
    {
      absl::MutexLock lock(&mutex_);
      hello_ = *hello;
    }
    WHARF_RETURN_IF_ERROR(Send(FrameKind::kHello, 0, hello_));
    const auto answered = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return let_in_.has_value(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&answered));
    return absl::OkStatus();
  }

  absl::Status OnPicture(uint64_t frame, std::span<const std::byte> head, std::span<const std::byte> jpeg) {
    WHARF_ASSIGN_OR_RETURN(const Picture picture, DecodeHead<Picture>(head, "a picture's head"));
    WHARF_ASSIGN_OR_RETURN(const scene::Image image, DecodePicture(jpeg, hello_.width, hello_.height));
    return Send(FrameKind::kPicture, frame, picture, std::as_bytes(std::span(image.rgb)));
  }

  // A server that is gone is no fault of the client: the connection to it ends this one.
  template <typename Message>
  absl::Status Send(FrameKind kind, uint64_t tag, const Message& message, std::span<const std::byte> bulk = {}) {
    SendMessage(*relay_.server_, kind, message, tag, bulk, link::BulkOwnership::kBorrow).IgnoreError();
    return absl::OkStatus();
  }

  Relay& relay_;
  wire::ServerHandshake<ArProtocol> handshake_;
  absl::Mutex mutex_;  // of what the server's thread looks at while this one waits
  Hello hello_;
  std::optional<bool> let_in_ ABSL_GUARDED_BY(mutex_);
  absl::Notification ended_;
};

class Relay::FromServer final : public link::FrameHandler {
 public:
  explicit FromServer(Relay& relay) : relay_(relay) {}
  void AwaitEnd() { ended_.WaitForNotification(); }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte>) override {
    if (KindOf(header) != FrameKind::kResult) return Internal("the server sends bytes that mean nothing");
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    switch (KindOf(header)) {
      case FrameKind::kWelcome: {
        WHARF_ASSIGN_OR_RETURN(const ar::Welcome welcome, DecodeHead<ar::Welcome>(head, "the Welcome"));
        WHARF_RETURN_IF_ERROR(relay_.from_client_->Welcome(welcome));
        relay_.from_client_->Answer(/*let_in=*/true);
        return absl::OkStatus();
      }
      case FrameKind::kGoodbye:
        Forward(header, head, {});
        End();
        return absl::OkStatus();
      case FrameKind::kResult:
      case FrameKind::kFailed:
      case FrameKind::kSchedule:
      case FrameKind::kRedirect:
        Forward(header, head, bulk);
        return absl::OkStatus();
      default:
        return Internal("the server sends an unknown message {}", header.kind);
    }
  }
  void OnClosed(const absl::Status&) override {
    End();
    ended_.Notify();
  }

  // Waits while the client does not read, and so does the server then.
  void Forward(const link::FrameHeader& header, std::span<const std::byte> head, std::span<const std::byte> bulk) {
    relay_.client_->Send(header.kind, header.tag, head, bulk, link::BulkOwnership::kBorrow).IgnoreError();
  }
  void End() {
    relay_.from_client_->Answer(/*let_in=*/false);
    relay_.client_->Close(kFarewell);
  }

  Relay& relay_;
  absl::Notification ended_;
};

Relay::Relay(std::unique_ptr<link::ByteStream> client, std::unique_ptr<link::ByteStream> server,
             wire::ClientCheck check)
    : client_(link::Channel::Create(std::move(client), {.limits = kArFrameLimits})),
      server_(link::Channel::Create(std::move(server), {.limits = kRelayFrameLimits})),
      from_client_(std::make_unique<FromClient>(*this, std::move(check))),
      from_server_(std::make_unique<FromServer>(*this)) {
  server_->Start(from_server_.get());
  client_->Start(from_client_.get());
}

Relay::~Relay() {
  // Either may wait for the other.
  client_->Close();
  server_->Close();
  from_client_->Answer(/*let_in=*/false);
  client_->Stop();
  server_->Stop();
}

void Relay::AwaitEnd() {
  from_client_->AwaitEnd();
  from_server_->AwaitEnd();
}

void TellServer(std::unique_ptr<link::ByteStream> server, const absl::Status& why) {
  SayGoodbye(*link::Channel::Create(std::move(server), {.limits = kRelayFrameLimits}), why);
}

namespace {

// Owns the relay at whose server's end it is.
class RelayedStream final : public link::ForwardingStream {
 public:
  RelayedStream(std::unique_ptr<link::ByteStream> stream, std::unique_ptr<Relay> relay)
      : ForwardingStream(std::move(stream)), relay_(std::move(relay)) {}

 private:
  const std::unique_ptr<Relay> relay_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<link::ByteStream>> RelayInProcess(std::unique_ptr<link::ByteStream> client,
                                                                 wire::ClientCheck check) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  auto relay = std::make_unique<Relay>(std::move(client), link::FromSocket(ends[0]), std::move(check));
  return std::make_unique<RelayedStream>(link::FromSocket(ends[1]), std::move(relay));
}

}  // namespace wharf::ar
