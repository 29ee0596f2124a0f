// How a session begins: the client says Hello, the server answers with a Welcome or says why not and closes. Where the
// server wants a token, both prove in between that they know it. One half for each side, to be used within the
// FrameHandler of whoever owns the channel. docs/protocol.md, "Handshake".
//
// A protocol describes itself to them:
//
//   struct Protocol {
//     static constexpr ProtocolVersion kVersion = {...};
//     using Hello = ...;    // begins with u32 magic, u16 major, u16 minor; has a nonce
//     using Welcome = ...;  // begins with u16 major, u16 minor
//     using Goodbye = ...;  // StatusOf(goodbye) is what it says, never OK
//     static constexpr FrameKind kHello = ..., kWelcome = ..., kGoodbye = ..., kChallenge = ..., kProof = ...;
//     static std::string RoleOf(const Hello& hello);  // where not all who connect are kClientRole
//   };
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/log.h"
#include "wharf/base/status.h"
#include "wharf/link/channel.h"
#include "wharf/wire/codec.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/proof.h"
#include "wharf/wire/send.h"
#include "wharf/wire/session_kind.h"

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

template <typename Protocol>
std::string RoleOf(const typename Protocol::Hello& hello) {
  if constexpr (requires { Protocol::RoleOf(hello); }) {
    return Protocol::RoleOf(hello);
  } else {
    return kClientRole;
  }
}

// A client's part in proving the token. Thread-safe.
class ClientProof {
 public:
  // The Hello is about to be sent over `channel`, which must outlive it. `token`: "" if there is none.
  void Begin(link::Channel& channel, const std::string& token, HandshakeFacts facts);
  // What to answer. kUnauthenticated: there is no token; kInvalidArgument: nobody expects a challenge.
  absl::StatusOr<Proof> OnChallenge(const Challenge& challenge);
  // kUnauthenticated: the server does not know the token.
  absl::Status OnProof(const Proof& proof);
  // Whether the server may let the client in now. kUnauthenticated: there is a token, and the server has proved neither
  // that it knows it nor, by a certificate, who it is; kInvalidArgument: nobody has said Hello.
  absl::Status OnWelcome() const;
  // The channel of Begin.
  link::Channel* Channel() const;

 private:
  enum class State { kSilent, kGreeted, kChallenged, kProved };
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kSilent;
  link::Channel* channel_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::optional<TokenKey> key_ ABSL_GUARDED_BY(mutex_);
  HandshakeFacts facts_ ABSL_GUARDED_BY(mutex_);
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
  absl::StatusOr<Welcome> Greet(link::Channel& channel, const Hello& hello, const std::string& token,
                                Nanoseconds timeout) {
    SayHello(channel, hello, token);
    return Await(timeout);
  }
  // That it cannot be sent shows in how the connection ends: the server may have said why. `token`: what the server is
  // asked to know, and may ask for; "": none. It is not sent.
  void SayHello(link::Channel& channel, Hello hello, const std::string& token) {
    hello.nonce = MakeNonce();
    proof_.Begin(
        channel, token,
        {Protocol::kVersion.magic, RoleOf<Protocol>(hello), hello.nonce, {}, channel.Stream().ChannelBinding()});
    outcome_.Begin();
    SendMessage(channel, Protocol::kHello, hello).IgnoreError();
  }
  // The Welcome. What the server's Goodbye says. kUnauthenticated: it wants a token, or does not know ours.
  // kFailedPrecondition: it speaks another version, or its Welcome is malformed. kDeadlineExceeded: no answer `timeout`
  // after SayHello. kUnavailable: it closed the connection without one, which servers do that want TLS or are none of
  // ours. Else how the channel ended.
  absl::StatusOr<Welcome> Await(Nanoseconds timeout) {
    WHARF_RETURN_IF_ERROR(outcome_.Await(timeout));
    return *welcome_;
  }
  bool Welcomed() const { return outcome_.Succeeded(); }

  // --- For the FrameHandler, on the reader thread ---

  // Whether a frame is for OnFrame: a Challenge, a Proof, a Welcome, or a Goodbye at any time; or what a server of
  // another kind answers.
  static bool Takes(const link::FrameHeader& header) {
    return Is(header, Protocol::kWelcome) || Is(header, Protocol::kGoodbye) || Is(header, Protocol::kChallenge) ||
           Is(header, Protocol::kProof) || !CheckServer(header.kind, static_cast<uint16_t>(Protocol::kHello)).ok();
  }
  // To be returned from the handler's OnFrame.
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head) {
    const absl::Status taken = Is(header, Protocol::kWelcome)     ? OnWelcome(head)
                               : Is(header, Protocol::kChallenge) ? OnChallenge(head)
                               : Is(header, Protocol::kProof)     ? OnProof(head)
                               : Is(header, Protocol::kGoodbye)
                                   ? OnGoodbye(head)
                                   : CheckServer(header.kind, static_cast<uint16_t>(Protocol::kHello));
    return taken.ok() ? taken : outcome_.Fail(taken);
  }
  // The server said by a message of its own why it ends.
  void OnEnd(const absl::Status& why) { outcome_.Fail(why).IgnoreError(); }
  // How the connection ended, for the handler to go on with: what the server said, or what was wrong, or `why`.
  absl::Status OnClosed(const absl::Status& why) { return outcome_.Close(why); }

 private:
  template <typename Kind>
  static bool Is(const link::FrameHeader& header, Kind kind) {
    return header.kind == static_cast<uint16_t>(kind);
  }
  absl::Status OnChallenge(std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(const auto challenge, DecodeHead<Challenge>(head, "the server's Challenge"));
    WHARF_ASSIGN_OR_RETURN(const Proof proof, proof_.OnChallenge(challenge));
    return SendMessage(*proof_.Channel(), Protocol::kProof, proof);
  }
  absl::Status OnProof(std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(const auto proof, DecodeHead<Proof>(head, "the server's Proof"));
    return proof_.OnProof(proof);
  }
  absl::Status OnWelcome(std::span<const std::byte> head) {
    if (Welcomed()) return InvalidArgument("a second Welcome");
    WHARF_RETURN_IF_ERROR(CheckWelcomePrefix(head, Protocol::kVersion));
    auto welcome = Decode<Welcome>(head);
    if (!welcome.ok()) return FailedPrecondition("the server's Welcome is malformed");
    WHARF_RETURN_IF_ERROR(proof_.OnWelcome());
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
  ClientProof proof_;
  std::optional<Welcome> welcome_;  // written before success, and never again
  HandshakeOutcome outcome_;
};

// What a server wants to see of who connects.
struct ClientCheck {
  std::map<std::string, TokenKey> keys;                 // of roles; none at all: nobody is asked for a token
  std::string right_token = "the server's token file";  // where to find it, for who has a wrong one
  bool by_certificate = false;  // who connects has shown a certificate, which says what roles it is for
};
// Whether a certificate with these units (OU) is for `role`: "wharf-ROLE" is one of them; without any that begins so it
// is a client's. kUnauthenticated.
absl::Status CheckUnits(const std::vector<std::string>& units, const std::string& role);
// Whoever is a client and knows `token`; "": whoever is a client.
ClientCheck ClientsWith(const std::string& token);

// The server's part in proving a token. For one thread at a time.
class ServerProof {
 public:
  explicit ServerProof(ClientCheck check) : check_(std::move(check)) {}
  // The Challenge for who says Hello; nothing if it may come in without. kUnauthenticated: not in this role.
  absl::StatusOr<std::optional<Challenge>> OnHello(HandshakeFacts facts, const std::vector<std::string>& units);
  // The server's own, for a client that has answered the Challenge. kUnauthenticated: with a wrong token.
  absl::StatusOr<Proof> OnProof(const Proof& proof);
  // The keys are not needed any more.
  void Forget() { check_.keys.clear(); }

 private:
  ClientCheck check_;
  HandshakeFacts facts_;
};

// The server's half, for one connection. Greeted and Late are thread-safe; the rest is for one thread at a time.
template <typename Protocol>
class ServerHandshake {
 public:
  using Hello = typename Protocol::Hello;
  using Welcome = typename Protocol::Welcome;
  using Kind = std::remove_cv_t<decltype(Protocol::kHello)>;

  // `clock` must outlive it.
  explicit ServerHandshake(ClientCheck check = {}, const Clock& clock = Clock::Real())
      : proof_(std::move(check)), since_(clock.Now()) {}

  // What a frame of a client comes to that was not let in yet.
  struct Judgement {
    std::optional<Hello> hello;  // of a client that may be let in; nothing: it is to be heard again
    struct Message {
      Kind kind;
      std::vector<std::byte> head;
    };
    std::optional<Message> answer;  // goes to the client before anything else
  };
  // kInvalidArgument: the frame is not the one that is awaited, or malformed; kFailedPrecondition: a Hello of another
  // version; kUnauthenticated: who says it does not know the token. The message is for the client.
  absl::StatusOr<Judgement> Judge(const link::FrameHeader& header, std::span<const std::byte> head,
                                  const link::ByteStream& stream) {
    return challenged_ ? JudgeProof(header, head) : JudgeHello(header, head, stream);
  }
  // Judges, and sends the answer: the Hello of a client that may be let in.
  absl::StatusOr<std::optional<Hello>> Hear(link::Channel& channel, const link::FrameHeader& header,
                                            std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(Judgement judgement, Judge(header, head, channel.Stream()));
    if (const auto& answer = judgement.answer; answer.has_value()) {
      WHARF_RETURN_IF_ERROR(channel.Send(static_cast<uint16_t>(answer->kind), 0, answer->head));
    }
    return std::move(judgement.hello);
  }
  // Lets the client in: both speak the lower minor version.
  absl::Status Accept(link::Channel& channel, const Hello& hello, Welcome welcome = {}) {
    proof_.Forget();
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
  absl::StatusOr<Judgement> JudgeHello(const link::FrameHeader& header, std::span<const std::byte> head,
                                       const link::ByteStream& stream) {
    if (judged_ || header.kind != static_cast<uint16_t>(Protocol::kHello)) {
      return WrongHello(header.kind, static_cast<uint16_t>(Protocol::kHello));
    }
    judged_ = true;
    WHARF_RETURN_IF_ERROR(CheckHelloPrefix(head, Protocol::kVersion));
    WHARF_ASSIGN_OR_RETURN(Hello hello, DecodeHead<Hello>(head, "the Hello"));
    WHARF_ASSIGN_OR_RETURN(const std::optional<Challenge> challenge,
                           proof_.OnHello({Protocol::kVersion.magic, RoleOf<Protocol>(hello), hello.nonce, MakeNonce(),
                                           stream.ChannelBinding()},
                                          stream.PeerUnits()));
    if (!challenge.has_value()) return Judgement{std::move(hello), {}};
    challenged_ = std::move(hello);
    return Judgement{{}, {{Protocol::kChallenge, Encode(*challenge)}}};
  }
  absl::StatusOr<Judgement> JudgeProof(const link::FrameHeader& header, std::span<const std::byte> head) {
    std::optional<Hello> hello = std::exchange(challenged_, std::nullopt);
    if (header.kind != static_cast<uint16_t>(Protocol::kProof)) {
      return InvalidArgument("the answer to a Challenge must be a Proof");
    }
    WHARF_ASSIGN_OR_RETURN(const auto proof, DecodeHead<Proof>(head, "the Proof"));
    WHARF_ASSIGN_OR_RETURN(const Proof ours, proof_.OnProof(proof));
    return Judgement{std::move(hello), {{Protocol::kProof, Encode(ours)}}};
  }

  ServerProof proof_;
  const TimePoint since_;
  bool judged_ = false;              // a Hello, which is heard once
  std::optional<Hello> challenged_;  // whose proof is awaited
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
