// How a session begins: the client says Hello, the server answers with a Welcome or says why not and closes. One half
// for each side, to be used within the FrameHandler of whoever owns the channel. docs/protocol.md, "Handshake".
//
// A protocol describes itself to them:
//
//   struct Protocol {
//     static constexpr ProtocolVersion kVersion = {...};
//     using Hello = ...;    // begins with u32 magic, u16 major, u16 minor; has a token
//     using Welcome = ...;  // begins with u16 major, u16 minor
//     using Goodbye = ...;  // StatusOf(goodbye) is what it says, never OK
//     static constexpr FrameKind kHello = ..., kWelcome = ..., kGoodbye = ...;
//   };
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/log.h"
#include "wharf/base/status.h"
#include "wharf/link/channel.h"
#include "wharf/wire/codec.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/send.h"

namespace wharf::wire {

struct ProtocolVersion {
  const char* client;    // whose Hello it is: "Wharf client"
  const char* protocol;  // what both speak: "protocol"
  uint32_t magic = 0;
  uint16_t major = 0, minor = 0;
};

// The fields that the Hello of every kind of session and of every version of its protocol begins with, so that any two
// can tell each other that they do not fit. kInvalidArgument: no such client's Hello; kFailedPrecondition: of another
// major version. The message is the line to show to the user.
absl::Status CheckHelloPrefix(std::span<const std::byte> head, const ProtocolVersion& ours);
// The same of a Welcome. kFailedPrecondition.
absl::Status CheckWelcomePrefix(std::span<const std::byte> head, const ProtocolVersion& ours);

// How a client's handshake came out. Thread-safe.
class HandshakeOutcome {
 public:
  HandshakeOutcome(std::string peer, const Clock& clock) : peer_(std::move(peer)), clock_(clock) {}

  // To be called before the Hello is sent: what the peer does next may come at any time.
  void Begin();
  bool Succeeded() const;
  void Succeed();
  // `why` is what the peer said, or what is wrong with what it sent. The first counts, also after success: returns it.
  absl::Status Fail(const absl::Status& why);
  // The channel closed. As above; before success, a peer that just left is told apart from one that said why.
  absl::Status Close(const absl::Status& why);
  // OK: succeeded; else why not. kDeadlineExceeded: nothing is known `timeout` after Begin.
  absl::Status Await(Nanoseconds timeout);

 private:
  const std::string peer_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  TimePoint began_ ABSL_GUARDED_BY(mutex_);
  bool succeeded_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);  // OK: not yet
};

// The client's half, for one connection. Thread-safe.
template <typename Protocol>
class ClientHandshake {
 public:
  using Hello = typename Protocol::Hello;
  using Welcome = typename Protocol::Welcome;

  // `peer` is who messages speak of: "the server". `on_welcome`, if any, is called on the channel's reader thread
  // before Await returns. `clock` must outlive it.
  explicit ClientHandshake(std::string peer = "the server", std::function<void(const Welcome&)> on_welcome = {},
                           const Clock& clock = Clock::Real())
      : on_welcome_(std::move(on_welcome)), outcome_(std::move(peer), clock) {}

  // SayHello, then Await.
  absl::StatusOr<Welcome> Greet(link::Channel& channel, const Hello& hello, Nanoseconds timeout) {
    SayHello(channel, hello);
    return Await(timeout);
  }
  // That it cannot be sent shows in how the connection ends: the server may have said why.
  void SayHello(link::Channel& channel, const Hello& hello) {
    outcome_.Begin();
    SendMessage(channel, Protocol::kHello, hello).IgnoreError();
  }
  // The Welcome. What the server's Goodbye says. kFailedPrecondition: it speaks another version, or its Welcome is
  // malformed. kDeadlineExceeded: no answer `timeout` after SayHello. kUnavailable: it closed the connection without
  // one, which servers do that want TLS or are none of ours. Else how the channel ended.
  absl::StatusOr<Welcome> Await(Nanoseconds timeout) {
    WHARF_RETURN_IF_ERROR(outcome_.Await(timeout));
    return *welcome_;
  }
  bool Welcomed() const { return outcome_.Succeeded(); }

  // --- For the FrameHandler, on the reader thread ---

  // Whether a frame is for OnFrame: a Welcome, or a Goodbye at any time.
  static bool Takes(const link::FrameHeader& header) {
    return header.kind == static_cast<uint16_t>(Protocol::kWelcome) ||
           header.kind == static_cast<uint16_t>(Protocol::kGoodbye);
  }
  // To be returned from the handler's OnFrame.
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head) {
    const bool welcome = header.kind == static_cast<uint16_t>(Protocol::kWelcome);
    const absl::Status taken = welcome ? OnWelcome(head) : OnGoodbye(head);
    return taken.ok() ? taken : outcome_.Fail(taken);
  }
  // The server said by a message of its own why it ends.
  void OnEnd(const absl::Status& why) { outcome_.Fail(why).IgnoreError(); }
  // How the connection ended, for the handler to go on with: what the server said, or what was wrong, or `why`.
  absl::Status OnClosed(const absl::Status& why) { return outcome_.Close(why); }

 private:
  absl::Status OnWelcome(std::span<const std::byte> head) {
    if (Welcomed()) return InvalidArgument("a second Welcome");
    WHARF_RETURN_IF_ERROR(CheckWelcomePrefix(head, Protocol::kVersion));
    auto welcome = Decode<Welcome>(head);
    if (!welcome.ok()) return FailedPrecondition("the server's Welcome is malformed");
    welcome_ = *std::move(welcome);
    if (on_welcome_) on_welcome_(*welcome_);
    outcome_.Succeed();
    return absl::OkStatus();
  }
  static absl::Status OnGoodbye(std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(const auto goodbye, DecodeHead<typename Protocol::Goodbye>(head, "the Goodbye"));
    return StatusOf(goodbye);
  }

  const std::function<void(const Welcome&)> on_welcome_;
  std::optional<Welcome> welcome_;  // written before success, and never again
  HandshakeOutcome outcome_;
};

// Says whether a Hello's token is right, in the words for its user. Null: any is.
using TokenCheck = std::function<absl::Status(const std::string& given)>;
// Where `admit` says whether one is right; null: any is. `right_one`: where to find it.
TokenCheck TokensOf(std::function<bool(const std::string& given)> admit,
                    const std::string& right_one = "the server's token file");

// The server's half, for one connection. Greeted and Late are thread-safe; the rest is for one thread at a time.
template <typename Protocol>
class ServerHandshake {
 public:
  using Hello = typename Protocol::Hello;
  using Welcome = typename Protocol::Welcome;

  // `clock` must outlive it.
  explicit ServerHandshake(TokenCheck check_token = {}, const Clock& clock = Clock::Real())
      : check_token_(std::move(check_token)), since_(clock.Now()) {}

  // The Hello, without its token. kInvalidArgument: the frame is none, or malformed; kFailedPrecondition: of another
  // version; what the token's check says. The message is for the client.
  absl::StatusOr<Hello> Judge(const link::FrameHeader& header, std::span<const std::byte> head) const {
    if (header.kind != static_cast<uint16_t>(Protocol::kHello)) {
      return InvalidArgument("the first frame must be a Hello");
    }
    WHARF_RETURN_IF_ERROR(CheckHelloPrefix(head, Protocol::kVersion));
    WHARF_ASSIGN_OR_RETURN(Hello hello, DecodeHead<Hello>(head, "the Hello"));
    if (check_token_) WHARF_RETURN_IF_ERROR(check_token_(hello.token));
    hello.token.clear();
    return hello;
  }
  // Lets the client in: both speak the lower minor version.
  absl::Status Accept(link::Channel& channel, const Hello& hello, Welcome welcome = {}) {
    welcome.minor = std::min(hello.minor, Protocol::kVersion.minor);
    const absl::Status sent = SendMessage(channel, Protocol::kWelcome, welcome);
    channel.Stream().SetAdmitted();
    greeted_ = true;  // who looks at it may send what comes after the Welcome
    return sent;
  }
  bool Greeted() const { return greeted_; }
  // The client has not been let in for too long.
  bool Late(TimePoint now) const {
    constexpr Nanoseconds kPatience = std::chrono::seconds(10);
    return !greeted_ && now - since_ > kPatience;
  }

 private:
  const TokenCheck check_token_;
  const TimePoint since_;
  std::atomic<bool> greeted_ = false;
};

// Tells the peer why the session ends, at any time, and closes the channel; what it has not read yet is not lost for
// `farewell` at most. `event` is the log's. Returns `why`.
template <typename Protocol>
absl::Status EndSession(link::Channel& channel, const absl::Status& why, const char* event, Nanoseconds farewell) {
  Log(LogLevel::kWarning, event, {{"peer", channel.Stream().Peer()}, {"why", Message(why)}});
  SendMessage(channel, Protocol::kGoodbye, GoodbyeOf(why)).IgnoreError();
  channel.Close(farewell);
  return why;
}

}  // namespace wharf::wire
