// Whether what a server says of itself can be: what the client and the program compute with it must come out right.
#pragma once

#include "wharf/base/status.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// kFailedPrecondition, in one line.
absl::Status CheckWelcome(const Welcome& welcome);

}  // namespace wharf::offload
