// How much of the machine a process that runs strangers' code may take. Limits of the kernel hold at once, and most
// calls that would exceed one fail in an orderly way; whoever executes what it likes gets around some of them, so the
// process's parent looks at what it really uses, too.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "wharf/base/status.h"

namespace wharf {

// Threads that such a process may have: many times what computing on this machine's cores takes.
int MostThreads();
// The same of a server that serves all its clients in one process: each has some.
inline constexpr int kMostServerThreads = 4096;

// From here on this process may write to what it has now and `bytes` more of private memory; an allocation beyond that
// fails. Address space that is only reserved does not count. Reads a file.
absl::Status LimitMemory(uint64_t bytes);

// From here on this process has no descriptor of this number or a higher one more. Never raises a limit.
absl::Status LimitDescriptors(uint64_t most);

struct ProcessUse {
  uint64_t memory = 0;  // bytes of its own, those that were swapped out and its page tables included
  int threads = 0;
};
// Of a running process, whoever owns it. kNotFound: there is none; kUnavailable: the system does not say.
absl::StatusOr<ProcessUse> UseOf(pid_t process);

}  // namespace wharf
