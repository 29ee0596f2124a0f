// How a connection begins: with frames, or with an opening that makes it part of a resumable stream.
// docs/protocol.md, "Resume".
//
// The client sends one opening and waits for the server's. A server that does not offer to resume declines and goes on
// with plain frames on the same connection.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

// Names a stream and proves that it is ours.
struct ResumeKey {
  uint64_t session = 0;
  std::array<std::byte, 16> secret{};

  // With a secret from the kernel. kInternal if it gives none.
  static absl::StatusOr<ResumeKey> Make(uint64_t session);
  // Takes as long wherever they differ.
  bool Matches(const std::array<std::byte, 16>& given) const;
};

enum class OpeningKind : uint16_t {
  kNew = 1,       // client: a new stream
  kResume = 2,    // client: go on with `key`
  kAccepted = 3,  // server: a resumable stream; `key` is its name
  kDeclined = 4,  // server: plain frames follow
  kRefused = 5    // server: no such stream (any more); it closes
};

struct Opening {
  OpeningKind kind = OpeningKind::kNew;
  ResumeKey key;
  uint64_t received = 0;  // bytes of the peer's that arrived; it goes on there
};
// On the wire: u32 magic 'WHR1', u16 version, u16 kind, u64 session, 16 bytes secret, u64 received; little-endian.
inline constexpr size_t kOpeningBytes = 40;
inline constexpr uint32_t kOpeningMagic = 0x31524857;
inline constexpr uint16_t kOpeningVersion = 1;

// Whether a connection that begins with these bytes says it resumes a session; nothing of it is believed.
inline constexpr size_t kOpeningKindBytes = 8;
bool NamesSession(std::span<const std::byte, kOpeningKindBytes> beginning);

std::array<std::byte, kOpeningBytes> EncodeOpening(const Opening& opening);
absl::Status WriteOpening(ByteStream& stream, const Opening& opening);

// Shuts a stream down unless it is destroyed before the time is up.
class StreamDeadline {
 public:
  // `stream` and `clock` must outlive it.
  StreamDeadline(ByteStream& stream, Clock& clock, Nanoseconds timeout);
  ~StreamDeadline();
  bool Passed() const;

 private:
  void Run(ByteStream& stream, Clock& clock, TimePoint deadline);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool dismissed_ = false, passed_ = false;
  std::thread thread_;
};

// Server: how a new connection begins.
struct BegunConnection {
  std::unique_ptr<ByteStream> stream;
  std::optional<Opening> opening;  // nothing if it begins otherwise; `stream` then gives its first bytes again
  bool known_version = true;       // false: the opening's fields are not known, and it is to be declined
};
// Waits at most `timeout`, then shuts the stream down. kUnavailable if it ends first, kDataLoss if an opening is
// malformed.
absl::StatusOr<BegunConnection> ReadBeginning(std::unique_ptr<ByteStream> stream, Nanoseconds timeout);

// Client: sends `opening` and waits for the answer, at most `timeout`. kUnavailable if the connection is lost or ends
// without an answer, or time is up; kFailedPrecondition if the answer is no opening, kNotFound if the server refuses,
// kDataLoss for anything malformed.
absl::StatusOr<Opening> ExchangeOpenings(ByteStream& stream, const Opening& opening, Nanoseconds timeout,
                                         Clock& clock = Clock::Real());

}  // namespace wharf::link
