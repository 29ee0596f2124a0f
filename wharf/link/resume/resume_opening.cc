#include "wharf/link/resume/resume_opening.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wharf/link/prefixed_stream.h"
#include "wharf/link/resume/wait.h"
#include "wharf/link/threads.h"

namespace wharf::link {
namespace {

template <typename T>
void Put(std::span<std::byte> bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}
template <typename T>
T Get(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Where the fields stand.
constexpr size_t kVersionAt = 4, kKindAt = 6, kSessionAt = 8, kSecretAt = 16, kReceivedAt = 32;
constexpr size_t kMagicBytes = 4;

// REQUIRES: the magic was seen.
absl::StatusOr<Opening> DecodeOpening(std::span<const std::byte> bytes) {
  Opening opening;
  const auto kind = Get<uint16_t>(bytes, kKindAt);
  if (kind < static_cast<uint16_t>(OpeningKind::kNew) || kind > static_cast<uint16_t>(OpeningKind::kRefused)) {
    return DataLoss("an opening of unknown kind {}", kind);
  }
  opening.kind = static_cast<OpeningKind>(kind);
  opening.key.session = Get<uint64_t>(bytes, kSessionAt);
  std::memcpy(opening.key.secret.data(), bytes.data() + kSecretAt, opening.key.secret.size());
  opening.received = Get<uint64_t>(bytes, kReceivedAt);
  return opening;
}

bool HasMagic(std::span<const std::byte> bytes) { return Get<uint32_t>(bytes, 0) == kOpeningMagic; }

}  // namespace

absl::StatusOr<ResumeKey> ResumeKey::Make(uint64_t session) {
  ResumeKey key;
  key.session = session;
  if (getrandom(key.secret.data(), key.secret.size(), 0) != static_cast<ssize_t>(key.secret.size())) {
    return Internal("getrandom: {}", std::strerror(errno));
  }
  return key;
}

bool ResumeKey::Matches(const std::array<std::byte, 16>& given) const {
  std::byte difference{0};
  for (size_t i = 0; i < secret.size(); ++i) difference |= secret[i] ^ given[i];
  return difference == std::byte{0};
}

bool NamesSession(std::span<const std::byte, kOpeningKindBytes> beginning) {
  return HasMagic(beginning) && Get<uint16_t>(beginning, kKindAt) == static_cast<uint16_t>(OpeningKind::kResume);
}

std::array<std::byte, kOpeningBytes> EncodeOpening(const Opening& opening) {
  std::array<std::byte, kOpeningBytes> bytes{};
  Put(bytes, 0, kOpeningMagic);
  Put(bytes, kVersionAt, kOpeningVersion);
  Put(bytes, kKindAt, static_cast<uint16_t>(opening.kind));
  Put(bytes, kSessionAt, opening.key.session);
  std::memcpy(bytes.data() + kSecretAt, opening.key.secret.data(), opening.key.secret.size());
  Put(bytes, kReceivedAt, opening.received);
  return bytes;
}

absl::Status WriteOpening(ByteStream& stream, const Opening& opening) {
  const auto bytes = EncodeOpening(opening);
  const std::span<const std::byte> pieces[] = {bytes};
  return stream.Write(pieces);
}

StreamDeadline::StreamDeadline(ByteStream& stream, Clock& clock, Nanoseconds timeout) {
  const TimePoint deadline = clock.Now() + timeout;
  thread_ = StartThread("wharf-deadline", [this, &stream, &clock, deadline] { Run(stream, clock, deadline); });
}

void StreamDeadline::Run(ByteStream& stream, Clock& clock, TimePoint deadline) {
  std::unique_lock lock(mutex_);
  while (!dismissed_ && clock.Now() < deadline) WaitUntil(changed_, lock, clock, deadline);
  passed_ = !dismissed_;
  if (passed_) stream.Shutdown();
}

bool StreamDeadline::Passed() const {
  std::lock_guard lock(mutex_);
  return passed_;
}

StreamDeadline::~StreamDeadline() {
  {
    std::lock_guard lock(mutex_);
    dismissed_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

absl::StatusOr<BegunConnection> ReadBeginning(std::unique_ptr<ByteStream> stream, Nanoseconds timeout) {
  BegunConnection begun;
  begun.stream = std::move(stream);
  const StreamDeadline deadline(*begun.stream, Clock::Real(), timeout);
  std::array<std::byte, kOpeningBytes> bytes{};
  WHARF_ASSIGN_OR_RETURN(const size_t count, ReadUpTo(*begun.stream, std::span(bytes).first(kMagicBytes)));
  if (count < kMagicBytes || !HasMagic(bytes)) {
    const auto first = std::span(bytes).first(count);
    begun.stream = WithPrefix(std::vector(first.begin(), first.end()), std::move(begun.stream));
    return begun;
  }
  const auto rest = std::span(bytes).subspan(kMagicBytes);
  WHARF_ASSIGN_OR_RETURN(const size_t got, ReadUpTo(*begun.stream, rest));
  if (got < rest.size()) return Unavailable("closed by peer in the middle of an opening");
  begun.known_version = Get<uint16_t>(bytes, kVersionAt) == kOpeningVersion;
  begun.opening.emplace();
  if (!begun.known_version) return begun;
  WHARF_ASSIGN_OR_RETURN(begun.opening, DecodeOpening(bytes));
  if (begun.opening->kind != OpeningKind::kNew && begun.opening->kind != OpeningKind::kResume) {
    return DataLoss("a server's opening from a client");
  }
  return begun;
}

absl::StatusOr<Opening> ExchangeOpenings(ByteStream& stream, const Opening& opening, Nanoseconds timeout,
                                         Clock& clock) {
  const StreamDeadline deadline(stream, clock, timeout);
  WHARF_RETURN_IF_ERROR(WriteOpening(stream, opening));
  std::array<std::byte, kOpeningBytes> bytes{};
  WHARF_ASSIGN_OR_RETURN(const size_t count, ReadUpTo(stream, bytes));
  if (deadline.Passed()) return Unavailable("the server does not answer");
  if (count == 0) {
    return Unavailable(
        "the server closed the connection without an answer: does it want --tls, or is it no Wharf server?");
  }
  if (count >= kMagicBytes && !HasMagic(bytes)) {
    return FailedPrecondition(
        "the server gives another answer than a Wharf server: does it want --tls, or is it another version?");
  }
  if (count < bytes.size()) return Unavailable("closed by peer in the middle of an opening");
  WHARF_ASSIGN_OR_RETURN(Opening answer, DecodeOpening(bytes));
  if (answer.kind == OpeningKind::kRefused) return NotFound("the server does not have the session any more");
  const bool wanted = answer.kind == OpeningKind::kAccepted ||
                      (answer.kind == OpeningKind::kDeclined && opening.kind == OpeningKind::kNew);
  if (!wanted) return DataLoss("the server answers an opening with {}", static_cast<int>(answer.kind));
  return answer;
}

}  // namespace wharf::link
