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
  kAbsent,  // it fails with ENOSYS, as on a kernel that does not have it: libraries do without
  kKill     // it ends the process
};

// That argument number `argument`, from 0, is `value` in the bits of `mask`.
struct ArgumentIs {
  uint32_t argument = 0;
  uint64_t value = 0;
  uint64_t mask = ~uint64_t{0};
  bool own_process = false;  // the value is the process id of whoever enters the sandbox
};

struct CallRule {
  uint32_t call = 0;             // SYS_read and so on
  std::vector<ArgumentIs> when;  // all of them; empty: always
  Verdict verdict = Verdict::kAllow;
};

struct SandboxPolicy {
  std::vector<CallRule> rules;       // the first that fits a call counts
  Verdict others = Verdict::kAllow;  // of calls that no rule fits
  // Of calls through another architecture's numbers (on x86-64, those of i386 and x32), which rules do not speak of.
  Verdict foreign = Verdict::kAllow;
  std::optional<uint64_t> address_space;  // bytes of address space at most
  std::optional<uint64_t> descriptors;    // below this number, or what is permitted if that is less
  bool files_grow = true;                 // false: not by what this process writes
};

// Besides what `policy` says: no core dumps, no reading of its memory by processes of the same user, and no privileges
// by executing a program. All threads, those that a library has started before too. Fails if the kernel cannot filter
// system calls, and on machines whose numbers we do not know (neither x86-64 nor AArch64), unless the policy filters
// nothing.
absl::Status EnterSandbox(const SandboxPolicy& policy);

// Whether a process may enter one here, found by trying in another. kFailedPrecondition says what to do.
absl::Status TrySandbox();

}  // namespace wharf
