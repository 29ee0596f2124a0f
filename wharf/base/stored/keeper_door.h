// A door: how a process that opens nothing gets sockets to keepers that follow one another. Whoever starts the keepers
// passes a socket to each through it, and the process takes the next when the other end of the one before is closed.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf {

// Through `door`, one end of a pair (SOCK_SEQPACKET); `socket` stays the caller's. Never waits: fails as ErrnoStatus of
// sendmsg, kUnavailable if the other end is closed, kInternal if too many were passed that nobody has taken.
absl::Status PassKeeper(int door, int socket);

// As KeeperRoot (keeper.h), in the process that has the other end of `door`, for the rest of its life. The keeper is
// the one whose socket was passed first, as long as it answers. What it did not answer is asked of the next; where none
// was passed yet there is no keeper, until one is.
std::string KeeperRootBehind(int door);

}  // namespace wharf
