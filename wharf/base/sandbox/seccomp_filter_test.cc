// What a policy's filter decides, by doing here what the kernel does with it: also where no kernel filters, as under an
// emulator of programs.
#include "wharf/base/sandbox/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "wharf/base/sandbox/policies.h"
#include "wharf/base/sandbox/sandbox_testing.h"
#include "wharf/base/sandbox/system_calls.h"

namespace wharf {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kHere = AUDIT_ARCH_X86_64, kElsewhere = AUDIT_ARCH_I386;
#elif defined(__aarch64__)
constexpr uint32_t kHere = AUDIT_ARCH_AARCH64, kElsewhere = AUDIT_ARCH_ARM;
#endif

// Runs `filter` as the kernel would: loads of 32 bits, jumps forwards, and no other instructions are known.
uint32_t Decide(const std::vector<sock_filter>& filter, const seccomp_data& call) {
  uint32_t value = 0;
  for (size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& i = filter[at];
    switch (i.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (i.k % 4 != 0 || i.k + 4 > sizeof(call)) ADD_FAILURE() << "loads at " << i.k;
        std::memcpy(&value, reinterpret_cast<const char*>(&call) + i.k, sizeof(value));
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= i.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += value == i.k ? i.jt : i.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += value >= i.k ? i.jt : i.jf;
        break;
      case BPF_RET | BPF_K:
        return i.k;
      default:
        ADD_FAILURE() << "instruction " << i.code;
        return 0;
    }
  }
  ADD_FAILURE() << "runs over its end";
  return 0;
}

uint32_t Answer(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return SECCOMP_RET_ALLOW;
    case Verdict::kRefuse:
      return SECCOMP_RET_ERRNO | EPERM;
    case Verdict::kAbsent:
      return SECCOMP_RET_ERRNO | ENOSYS;
    case Verdict::kKill:
      break;
  }
  return SECCOMP_RET_KILL_PROCESS;
}

uint64_t ValueOf(const ArgumentIs& is) { return is.own_process ? static_cast<uint64_t>(getpid()) : is.value; }

// By the rules as they are written.
Verdict ByRules(const SandboxPolicy& policy, const seccomp_data& call) {
  const auto holds = [&](const ArgumentIs& is) { return ((call.args[is.argument] ^ ValueOf(is)) & is.mask) == 0; };
  for (const CallRule& rule : policy.rules) {
    if (rule.call == static_cast<uint32_t>(call.nr) && std::all_of(rule.when.begin(), rule.when.end(), holds)) {
      return rule.verdict;
    }
  }
  return policy.others;
}

class SeccompFilterTest : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  void SetUp() override {
    if (!Filters(policy_)) GTEST_SKIP() << "it filters nothing under a sanitizer";
    auto filter = MakeFilter(policy_);
    ASSERT_TRUE(filter.ok()) << filter.status();
    filter_ = *std::move(filter);
    ASSERT_LE(filter_.size(), size_t{BPF_MAXINSNS});
  }
  // A call that `rule` speaks of, but for what `wrong` of its conditions say (below 0: none).
  seccomp_data CallOf(const CallRule& rule, int wrong) {
    seccomp_data call{.nr = static_cast<int>(rule.call), .arch = kHere, .instruction_pointer = 0, .args = {}};
    for (auto& argument : call.args) argument = random_();
    for (const ArgumentIs& is : rule.when) {
      auto& argument = call.args[is.argument];
      argument = (argument & ~is.mask) | (ValueOf(is) & is.mask);
    }
    if (wrong >= 0) {
      const ArgumentIs& is = rule.when[static_cast<size_t>(wrong)];
      uint64_t bit = 0;
      while ((bit & is.mask) == 0) bit = uint64_t{1} << random_() % 64;
      call.args[is.argument] ^= bit;
    }
    return call;
  }

  const SandboxPolicy policy_ = GetParam().make();
  std::vector<sock_filter> filter_;
  std::mt19937_64 random_{7};
};
INSTANTIATE_TEST_SUITE_P(
    Policies, SeccompFilterTest,
    ::testing::Values(NamedPolicy{"soft", SoftWorkerPolicy}, NamedPolicy{"model", ModelWorkerPolicy},
                      NamedPolicy{"compiler", CompilerPolicy}, NamedPolicy{"keeper", KeeperPolicy},
                      NamedPolicy{"relay", RelayPolicy}, NamedPolicy{"accepting", AcceptingServerPolicy},
                      NamedPolicy{"peer", PeerServerPolicy}, NamedPolicy{"gpu", GpuWorkerPolicy},
                      NamedPolicy{"gpu_peer", GpuPeerPolicy}, NamedPolicy{"networked", NetworkedPolicy}),
    NameOf);

TEST_P(SeccompFilterTest, DecidesAsTheRulesDo) {
  for (const CallRule& rule : policy_.rules) {
    for (int wrong = -1; wrong < static_cast<int>(rule.when.size()); ++wrong) {
      for (int round = 0; round < 8; ++round) {
        const seccomp_data call = CallOf(rule, wrong);
        ASSERT_EQ(Decide(filter_, call), Answer(ByRules(policy_, call))) << rule.call << " " << wrong;
      }
    }
  }
}

TEST_P(SeccompFilterTest, DecidesOfEveryNumber) {
  for (uint32_t number = 0; number < 1024; ++number) {
    const seccomp_data call = CallOf({.call = number, .when = {}}, -1);
    ASSERT_EQ(Decide(filter_, call), Answer(ByRules(policy_, call))) << number;
  }
}

TEST_P(SeccompFilterTest, AnotherProcessorsNumbersAreForeign) {
  for (const CallRule& rule : policy_.rules) {
    seccomp_data call = CallOf(rule, -1);
    call.arch = kElsewhere;
    ASSERT_EQ(Decide(filter_, call), Answer(policy_.foreign)) << rule.call;
  }
#if defined(__x86_64__)
  const seccomp_data x32 = CallOf({.call = 0x40000000 + SYS_read, .when = {}}, -1);
  EXPECT_EQ(Decide(filter_, x32), Answer(policy_.foreign));
#endif
}

TEST(SeccompFilterNumbersTest, ThisProcessorsNumbersAreTheirs) {
#if defined(__aarch64__)
  const auto filter = MakeFilter(RelayPolicy());
  ASSERT_TRUE(filter.ok());
  const auto decided = [&](int number) {
    return Decide(*filter, {.nr = number, .arch = kHere, .instruction_pointer = 0, .args = {}});
  };
  EXPECT_EQ(decided(63), SECCOMP_RET_ALLOW);          // read
  EXPECT_EQ(decided(64), SECCOMP_RET_ALLOW);          // write
  EXPECT_EQ(decided(0), SECCOMP_RET_KILL_PROCESS);    // io_setup; read on x86-64
  EXPECT_EQ(decided(56), SECCOMP_RET_KILL_PROCESS);   // openat
  EXPECT_EQ(decided(220), SECCOMP_RET_KILL_PROCESS);  // clone
  EXPECT_EQ(decided(221), SECCOMP_RET_KILL_PROCESS);  // execve
#else
  GTEST_SKIP() << "sandbox_test.cc tries them";
#endif
}

}  // namespace
}  // namespace wharf
