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

TokenCheck TokensOf(std::function<bool(const std::string& given)> admit, const std::string& right_one) {
  if (!admit) return {};
  return [admit = std::move(admit), right_one](const std::string& given) {
    return admit(given) ? absl::OkStatus() : Unauthenticated("the token is wrong: use {}", right_one);
  };
}

}  // namespace wharf::wire
