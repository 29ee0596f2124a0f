#include "wharf/base/sandbox/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <cstddef>

namespace wharf {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kFirstForeign = 0x40000000;  // x32's numbers, another way to the same calls
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kFirstForeign = 0;  // there are none
#else
constexpr uint32_t kArchitecture = 0;
constexpr uint32_t kFirstForeign = 0;
#endif

sock_filter Load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

sock_filter Return(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    case Verdict::kRefuse:
      return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    case Verdict::kKill:
      break;
  }
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
}

}  // namespace

std::vector<sock_filter> MakeFilter(const SandboxPolicy& policy) {
  const bool all_allowed = policy.calls.empty() && policy.others == Verdict::kAllow;
  if (kArchitecture == 0 || all_allowed) return {};
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(policy.foreign),
      Load(offsetof(seccomp_data, nr)),
  };
  if (kFirstForeign != 0) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstForeign, 0, 1));
    filter.push_back(Return(policy.foreign));
  }
  for (const uint32_t call : policy.calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(Return(policy.listed));
  }
  filter.push_back(Return(policy.others));
  return filter;
}

}  // namespace wharf
