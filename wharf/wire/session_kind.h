// Which server a frame comes from, told by its number, for who has come to the wrong one (docs/protocol.md: the kinds
// of sessions number their frames apart).
#pragma once

#include <cstdint>

#include "wharf/base/status.h"

namespace wharf::wire {

// kFailedPrecondition, with the line to show to the user: the answer `kind` to a Hello is of another server than the
// one that answers `ours`, a frame's number of the session that was wanted. OK: it is not, or nobody's answer.
absl::Status CheckServer(uint16_t kind, uint16_t ours);
// kInvalidArgument: the first frame `kind` of a client is the Hello `ours` or nobody's ("the first frame must be a
// Hello"); or one that another server serves, which it names.
absl::Status WrongHello(uint16_t kind, uint16_t ours);

}  // namespace wharf::wire
