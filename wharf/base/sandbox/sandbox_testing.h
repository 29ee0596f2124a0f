// What tests of policies share: a process under one, that attacks.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <ostream>
#include <string>

#include "wharf/base/sandbox/sandbox.h"

namespace wharf {

using Attack = std::function<int64_t()>;  // below 0, with errno, if it failed

inline constexpr int kSucceeded = 0, kNotConfined = 255;

// What becomes of a process that enters the sandbox and attacks: the errno of the attack, kSucceeded, or 128 + the
// signal that ended it.
inline int OutcomeOf(
    const SandboxPolicy& policy, const Attack& attack, const Attack& before = [] { return 0; }) {
  const pid_t child = fork();
  if (child == 0) {
    if (before() < 0 || !EnterSandbox(policy).ok()) _exit(kNotConfined);
    _exit(attack() < 0 ? errno : kSucceeded);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

inline Attack Call(long number) {  // NOLINT: as syscall has it
  return [number] { return syscall(number, -1, 0, 0, 0, 0, 0); };
}

inline constexpr int kEnded = 128 + SIGSYS;

inline bool Filters(const SandboxPolicy& policy) { return !policy.rules.empty(); }

struct NamedPolicy {
  std::string name;
  std::function<SandboxPolicy()> make;
  friend void PrintTo(const NamedPolicy& policy, std::ostream* to) { *to << policy.name; }
};
inline std::string NameOf(const ::testing::TestParamInfo<NamedPolicy>& info) { return info.param.name; }

}  // namespace wharf
