// Descriptors that travel over Unix sockets (SCM_RIGHTS), and doors: how a process that opens nothing gets sockets to
// processes that follow one another. Whoever starts these passes a socket to each through the door, and takes none
// back; the process takes the next when the other end of the one before is closed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf {

inline constexpr size_t kMostPassedDescriptors = 4;  // in one message

// One message: `bytes`, at least one, and at most kMostPassedDescriptors, which stay the caller's. `flags`: 0 or
// MSG_DONTWAIT. Fails as ErrnoStatus of sendmsg: kUnavailable if the other end is closed.
absl::Status SendWithDescriptors(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors,
                                 int flags = 0);

struct ReceivedMessage {
  size_t bytes = 0;              // 0: the other end is closed
  std::vector<int> descriptors;  // the caller's to close
  bool whole = true;             // or bytes or descriptors are missing: there were more than there was room for
};
// The next message; what has no room in `into` is lost. Fails as ErrnoStatus of recvmsg: kInternal if nothing is there
// and `flags` is MSG_DONTWAIT.
absl::StatusOr<ReceivedMessage> ReceiveWithDescriptors(int socket, std::span<std::byte> into, int flags = 0);
// Closes all.
void CloseAll(std::span<const int> descriptors);

// Through `door`, one end of a pair (SOCK_SEQPACKET); `socket` stays the caller's. Never waits: fails as
// SendWithDescriptors; kInternal if too many were passed that nobody has taken.
absl::Status PassSocket(int door, int socket);
// What was passed next, the caller's, or -1: does not wait. Who is at the door's other end is trusted to pass sockets.
int TakeSocket(int door);

}  // namespace wharf
