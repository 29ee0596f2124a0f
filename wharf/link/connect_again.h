// Ways to a server that are tried again.
//
// Connections that are to go on with a session: a server has places apart for their handshakes, so it wants to know
// them from the first bytes. Over TLS all that it would go by is encrypted: there they say it in the TLS handshake, by
// a name of application protocol (ALPN, RFC 7301).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "wharf/base/clock.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

// As Connect.
absl::StatusOr<std::unique_ptr<ByteStream>> ConnectAgain(const std::string& address, const ConnectOptions& options);

// Whether an encrypted connection that begins with these bytes, of which kBeginningBytes are enough, says it goes on
// with a session. Nothing of it is believed, and nothing is parsed: the name is there or not.
inline constexpr size_t kBeginningBytes = 512;
// As it is in the handshake, with its length. Servers select none.
inline constexpr std::string_view kGoesOn = "\x0cwharf-resume";
inline bool GoesOn(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  constexpr char kHandshake = 0x16;  // the first byte of every TLS connection
  return text.starts_with(kHandshake) && text.find(kGoesOn) != std::string_view::npos;
}

// Whether a failure to get in at a server may pass: a connection that ends without an answer, as it does when its place
// is given to another, or an answer that does not come. Not where nobody listens.
bool MayPass(const absl::Status& failure);

// How long a client's first way in is tried, unless its user says.
inline constexpr Nanoseconds kFirstWay = std::chrono::seconds(3);
inline constexpr Nanoseconds kFirstPause = std::chrono::milliseconds(20), kLongestPause = std::chrono::seconds(1);

// What `attempt` gives, a StatusOr or Status: made again after growing pauses while its failure may pass and `patience`
// has not.
template <typename Attempt>
std::invoke_result_t<Attempt> TryAgain(Attempt attempt, Nanoseconds patience = kFirstWay,
                                       Clock& clock = Clock::Real()) {
  const TimePoint give_up = clock.Now() + patience;
  const auto failure_of = [](const auto& outcome) -> absl::Status {
    if constexpr (std::is_same_v<std::invoke_result_t<Attempt>, absl::Status>) {
      return outcome;
    } else {
      return outcome.status();
    }
  };
  for (Nanoseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto outcome = attempt();
    if (!MayPass(failure_of(outcome)) || clock.Now() + pause >= give_up) return outcome;
    clock.SleepFor(pause);
  }
}

}  // namespace wharf::link
