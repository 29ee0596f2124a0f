// Confines this process for good, before it reads the first byte of a stranger. What it may do is data: a policy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wharf/base/status.h"

namespace wharf {

// What becomes of a system call.
enum class Verdict : uint8_t {
  kAllow,
  kRefuse,  // it fails with EPERM
  kKill     // it ends the process
};

struct SandboxPolicy {
  std::vector<uint32_t> calls;  // numbers of system calls, SYS_read and so on
  Verdict listed;               // of these
  Verdict others;               // of all other calls
  // Of calls through another architecture's numbers (on x86-64, those of i386 and x32), which lists do not speak of.
  Verdict foreign;
  std::optional<uint64_t> address_space;  // bytes of address space at most
};

// Besides what `policy` says: no core dumps, and no privileges by executing a program. All threads, those that a
// library has started before too. Where there is no filter for the machine (neither x86-64 nor AArch64), only the
// limits hold.
absl::Status EnterSandbox(const SandboxPolicy& policy);

}  // namespace wharf
