// How the session of a program begins (wire/handshake.h), and what a Refusal says.
#pragma once

#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"
#include "wharf/wire/handshake.h"

namespace wharf::offload {

struct ProgramProtocol {
  static constexpr wire::ProtocolVersion kVersion = {"Wharf client", "protocol", kProtocolMagic, kProtocolMajor,
                                                     kProtocolMinor};
  using Hello = offload::Hello;
  using Welcome = offload::Welcome;
  using Goodbye = Refusal;  // until the Welcome; afterwards a session's last word is an offload::Goodbye
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kRefusal,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
};

// What a client is told, in one short line. kUnauthenticated, kFailedPrecondition (another version, or what this server
// does not offer), kInvalidArgument (malformed); kUnavailable: not now.
absl::Status StatusOf(const Refusal& refusal);
// Of a Hello that wire::ServerHandshake does not let in.
RefusalReason ReasonOf(const absl::Status& why);

}  // namespace wharf::offload
