#include "wharf/base/sandbox/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <unistd.h>

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
// Arguments are 64 bits, and the low half comes first.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr size_t kNumber = offsetof(seccomp_data, nr);

sock_filter Load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

sock_filter Return(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    case Verdict::kRefuse:
      return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    case Verdict::kAbsent:
      return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    case Verdict::kKill:
      break;
  }
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
}

// Goes on if the 32 bits at `offset` are `value` where `mask` is set; else leaves the rule, `kElse` to be filled in.
constexpr uint8_t kElse = 0xff;
void ExpectHalf(size_t offset, uint32_t value, uint32_t mask, std::vector<sock_filter>& rule) {
  if (mask == 0) return;
  rule.push_back(Load(offset));
  rule.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
  rule.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value & mask, 0, kElse));
}

// What decides by one rule, and falls through behind it with the call's number loaded if it does not fit.
std::vector<sock_filter> CompileRule(const CallRule& rule) {
  std::vector<sock_filter> code = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule.call, 0, kElse)};
  for (const ArgumentIs& condition : rule.when) {
    const size_t low = offsetof(seccomp_data, args) + condition.argument * sizeof(uint64_t);
    const uint64_t value = condition.own_process ? static_cast<uint64_t>(getpid()) : condition.value;
    ExpectHalf(low, static_cast<uint32_t>(value), static_cast<uint32_t>(condition.mask), code);
    ExpectHalf(low + sizeof(uint32_t), static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(condition.mask >> 32),
               code);
  }
  code.push_back(Return(rule.verdict));
  const size_t end = code.size();
  for (size_t at = 0; at < end; ++at) {
    if (BPF_CLASS(code[at].code) == BPF_JMP) code[at].jf = static_cast<uint8_t>(end - at - 1);
  }
  if (!rule.when.empty()) code.push_back(Load(kNumber));
  return code;
}

}  // namespace

absl::StatusOr<std::vector<sock_filter>> MakeFilter(const SandboxPolicy& policy) {
  if (policy.rules.empty() && policy.others == Verdict::kAllow) return std::vector<sock_filter>();
  if (kArchitecture == 0) return Unimplemented("system calls can be filtered on x86-64 and AArch64 only");
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(policy.foreign),
      Load(kNumber),
  };
  if (kFirstForeign != 0) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstForeign, 0, 1));
    filter.push_back(Return(policy.foreign));
  }
  for (const CallRule& rule : policy.rules) {
    const std::vector<sock_filter> code = CompileRule(rule);
    filter.insert(filter.end(), code.begin(), code.end());
  }
  filter.push_back(Return(policy.others));
  return filter;
}

}  // namespace wharf
