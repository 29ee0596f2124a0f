// For tests that speak a protocol by hand.
#pragma once

#include <span>
#include <string>

#include "wharf/wire/handshake.h"

namespace wharf::wire {

// What a client that knows `token`, and has said `hello`, answers to a Challenge.
template <typename Protocol>
Proof AnswerTo(std::span<const std::byte> challenge, const typename Protocol::Hello& hello, const std::string& token,
               const std::string& binding = "") {
  const std::string role = RoleOf<Protocol>(hello);
  const HandshakeFacts facts = {Protocol::kVersion.magic, role, hello.nonce,
                                Decode<Challenge>(challenge).value_or(Challenge()).nonce, binding};
  return {ProofOf(TokenKey::Of(token, role), Side::kClient, facts)};
}

}  // namespace wharf::wire
