// What a worker process, which reads what strangers send, may still do.
#pragma once

#include "wharf/base/status.h"

namespace wharf::server {

// Before a client's first byte is read. Forbids for good: gaining privileges, core dumps, tracing other processes, new
// name spaces, mounts, kernel modules, eBPF, key rings; and, unless `for_gpu` (the vendor's driver may need them),
// executing programs and opening sockets. A forbidden call fails with EPERM.
absl::Status EnterSandbox(bool for_gpu);

}  // namespace wharf::server
