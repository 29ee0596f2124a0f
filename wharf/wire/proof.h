// How both ends of a connection prove that they know a token without sending it: each sends a nonce, and then a MAC
// over both nonces, who it is, and the connection itself where that is encrypted. docs/protocol.md, "Handshake".
//
// What one learns from the other's proof is worth nothing elsewhere: not later (nonces), not in another role or
// protocol, not over another encrypted connection. Whoever sees a proof can try out tokens, though: a token must be
// random.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace wharf::wire {

using Nonce = std::array<uint8_t, 32>;
Nonce MakeNonce();

// What a token is to one role: it proves that role and no other, and the token cannot be told from it. Wiped when it
// goes.
class TokenKey {
 public:
  TokenKey() = default;
  TokenKey(const TokenKey&) = default;
  TokenKey& operator=(const TokenKey&) = default;
  ~TokenKey();
  static TokenKey Of(std::string_view token, std::string_view role);

  std::array<uint8_t, 32> bytes{};
  auto Fields() { return std::tie(bytes); }
};

// The role of those who connect where there is but one.
inline constexpr const char* kClientRole = "client";

enum class Side : uint8_t { kClient = 1, kServer = 2 };

// What both ends know of a handshake.
struct HandshakeFacts {
  uint32_t magic = 0;  // of the protocol
  std::string role;
  Nonce client{}, server{};
  std::string binding;  // ByteStream::ChannelBinding
};
using Mac = std::array<uint8_t, 32>;
Mac ProofOf(const TokenKey& key, Side prover, const HandshakeFacts& facts);
// Takes as long wherever they differ.
bool Same(const Mac& one, const Mac& other);

// From the server, when it wants a proof.
struct Challenge {
  Nonce nonce{};
  auto Fields() { return std::tie(nonce); }
};
// From the client as the answer, then from the server before its Welcome.
struct Proof {
  Mac mac{};
  auto Fields() { return std::tie(mac); }
};

}  // namespace wharf::wire
