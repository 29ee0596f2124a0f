// The policies of our processes that read what strangers send.
#pragma once

#include "wharf/base/sandbox/sandbox.h"

namespace wharf {

// A worker of the server. Refused: gaining privileges, tracing other processes, new name spaces, mounts, kernel
// modules, eBPF, key rings; and, unless `for_gpu` (the vendor's driver may need them), executing programs and opening
// sockets.
SandboxPolicy WorkerPolicy(bool for_gpu);

// The decoder of pictures: it computes, and answers on the descriptors that it has. Anything else ends it.
SandboxPolicy DecoderPolicy();

}  // namespace wharf
