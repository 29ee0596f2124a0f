// The protocol that the tests of handshakes speak.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "wharf/wire/handshake.h"

namespace wharf::wire::testing {

enum class FrameKind : uint16_t { kHello = 1, kWelcome = 2, kGoodbye = 3, kOther = 4, kChallenge = 5, kProof = 6 };
inline constexpr uint32_t kMagic = 0x54534554;
inline constexpr uint32_t kAnothersWish = 77;  // who wishes this says that it is something else than a client
inline constexpr const char* kToken = "a token of these tests";

struct TestProtocol {
  static constexpr ProtocolVersion kVersion = {"test session", "test protocol", kMagic, 3, 5};
  struct Hello {
    uint32_t magic = kMagic;
    uint16_t major = 3, minor = 5;
    Nonce nonce{};
    uint32_t wish = 0;
    auto Fields() { return std::tie(magic, major, minor, nonce, wish); }
  };
  struct Welcome {
    uint16_t major = 3, minor = 5;
    uint32_t granted = 0;
    auto Fields() { return std::tie(major, minor, granted); }
  };
  using Goodbye = wire::Goodbye;
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kGoodbye,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
  static std::string RoleOf(const Hello& hello) { return hello.wish == kAnothersWish ? "stranger" : kClientRole; }
};
using Hello = TestProtocol::Hello;
using Welcome = TestProtocol::Welcome;
using Server = ServerHandshake<TestProtocol>;

inline constexpr Nanoseconds kLong = std::chrono::minutes(1);

}  // namespace wharf::wire::testing
