#include "wharf/wire/handshake.h"

#include "wharf/base/clock_wait.h"

namespace wharf::wire {
namespace {

absl::Status OtherVersion(const ProtocolVersion& ours, const char* we, const char* they, uint16_t major,
                          uint16_t minor) {
  return FailedPrecondition("{} speaks {} {}.{}, {} {}.{}: install the same version of wharf on both machines", we,
                            ours.protocol, ours.major, ours.minor, they, major, minor);
}

}  // namespace

absl::Status CheckHelloPrefix(std::span<const std::byte> head, const ProtocolVersion& ours) {
  Decoder decoder(head);
  uint32_t magic = 0;
  uint16_t major = 0, minor = 0;
  decoder.Get(magic);
  decoder.Get(major);
  decoder.Get(minor);
  if (!decoder.ok() || magic != ours.magic) return InvalidArgument("this is not a {}'s Hello", ours.client);
  if (major == ours.major) return absl::OkStatus();
  return OtherVersion(ours, "the server", "the client", major, minor);
}

absl::Status CheckWelcomePrefix(std::span<const std::byte> head, const ProtocolVersion& ours) {
  Decoder decoder(head);
  uint16_t major = 0, minor = 0;
  decoder.Get(major);
  decoder.Get(minor);
  if (!decoder.ok()) return FailedPrecondition("the server's Welcome is malformed");
  if (major == ours.major) return absl::OkStatus();
  return OtherVersion(ours, "the client", "the server", major, minor);
}

void HandshakeOutcome::Begin() {
  absl::MutexLock lock(&mutex_);
  began_ = clock_.Now();
}

bool HandshakeOutcome::Succeeded() const {
  absl::MutexLock lock(&mutex_);
  return succeeded_;
}

void HandshakeOutcome::Succeed() {
  absl::MutexLock lock(&mutex_);
  succeeded_ = true;
}

absl::Status HandshakeOutcome::Fail(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (ended_.ok()) ended_ = why;
  return ended_;
}

absl::Status HandshakeOutcome::Close(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (!ended_.ok()) return ended_;
  // What is no frame is no answer either.
  const bool unanswered = !succeeded_ && (absl::IsUnavailable(why) || absl::IsDataLoss(why));
  ended_ = unanswered
               ? Unavailable(
                     "{} closed the connection without an answer: does it want --tls, or is it no Wharf server?", peer_)
               : why;
  return ended_;
}

absl::Status HandshakeOutcome::Await(Nanoseconds timeout) {
  const auto known = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return succeeded_ || !ended_.ok(); };
  absl::MutexLock lock(&mutex_);
  if (!AwaitUntil(&mutex_, absl::Condition(&known), clock_, began_ + timeout)) {
    return DeadlineExceeded("{} gave no answer within {:g} s", peer_, Seconds(timeout));
  }
  return succeeded_ ? absl::OkStatus() : ended_;
}

void ClientProof::Begin(link::Channel& channel, const std::string& token, HandshakeFacts facts) {
  absl::MutexLock lock(&mutex_);
  state_ = State::kGreeted;
  channel_ = &channel;
  facts_ = std::move(facts);
  key_.reset();
  if (!token.empty()) key_ = TokenKey::Of(token, facts_.role);
}

absl::StatusOr<Proof> ClientProof::OnChallenge(const Challenge& challenge) {
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kGreeted) return InvalidArgument("a Challenge that nobody expects");
  if (!key_) {
    return Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)");
  }
  state_ = State::kChallenged;
  facts_.server = challenge.nonce;
  return Proof{ProofOf(*key_, Side::kClient, facts_)};
}

absl::Status ClientProof::OnProof(const Proof& proof) {
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kChallenged) return InvalidArgument("a Proof that nobody expects");
  if (!Same(proof.mac, ProofOf(*key_, Side::kServer, facts_))) {
    return Unauthenticated("the server does not know the token: it is another server than was meant");
  }
  state_ = State::kProved;
  return absl::OkStatus();
}

absl::Status ClientProof::OnWelcome() const {
  absl::MutexLock lock(&mutex_);
  switch (state_) {
    case State::kSilent:
      return InvalidArgument("a Welcome that nobody expects");
    case State::kProved:
      return absl::OkStatus();
    case State::kChallenged:
      return Unauthenticated("the server does not prove that it knows the token");
    case State::kGreeted:
      break;
  }
  if (!key_ || !facts_.binding.empty()) return absl::OkStatus();
  return Unauthenticated(
      "the server does not ask for the token: it is another server than was meant, or was started without "
      "--token-file; connect without a token, or with TLS, if that is right");
}

link::Channel* ClientProof::Channel() const {
  absl::MutexLock lock(&mutex_);
  return channel_;
}

ClientCheck ClientsWith(const std::string& token) {
  ClientCheck check;
  if (!token.empty()) check.keys[kClientRole] = TokenKey::Of(token, kClientRole);
  return check;
}

absl::Status CheckUnits(const std::vector<std::string>& units, const std::string& role) {
  constexpr std::string_view kPrefix = "wharf-";
  const bool says = std::ranges::any_of(units, [&](const std::string& unit) { return unit.starts_with(kPrefix); });
  const std::string wanted = std::string(kPrefix) + role;
  const bool is_for_it = says ? std::ranges::find(units, wanted) != units.end() : role == kClientRole;
  if (is_for_it && !role.empty()) return absl::OkStatus();
  return Unauthenticated("the certificate is not for a {}: its subject needs OU={}", role, wanted);
}

absl::StatusOr<std::optional<Challenge>> ServerProof::OnHello(HandshakeFacts facts,
                                                              const std::vector<std::string>& units) {
  if (check_.by_certificate) WHARF_RETURN_IF_ERROR(CheckUnits(units, facts.role));
  if (check_.keys.empty()) return std::nullopt;
  if (!check_.keys.contains(facts.role)) return Unauthenticated("this server lets nobody in who is a {}", facts.role);
  facts_ = std::move(facts);
  return Challenge{facts_.server};
}

absl::StatusOr<Proof> ServerProof::OnProof(const Proof& proof) {
  const auto key = check_.keys.find(facts_.role);
  if (key == check_.keys.end() || !Same(proof.mac, ProofOf(key->second, Side::kClient, facts_))) {
    return Unauthenticated("the token is wrong: use {}", check_.right_token);
  }
  return Proof{ProofOf(key->second, Side::kServer, facts_)};
}

}  // namespace wharf::wire
