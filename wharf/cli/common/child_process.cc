#include "wharf/cli/common/child_process.h"

#include <signal.h>

#include <cstdio>
#include <optional>

#include "wharf/base/subprocess/subprocess.h"

namespace wharf::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

Program ProgramOf(const Command& command) {
  return {.path = command.path,
          .arguments = command.arguments,
          .environment = ChangedEnvironment(command.environment),
          .descriptors = {},
          .inherit_descriptors = true};
}

// Says why nothing runs; the exit code a shell would give.
int Complain(const absl::Status& status) {
  std::fprintf(stderr, "wharf: %s\n", std::string(Message(status)).c_str());
  return status.code() == absl::StatusCode::kNotFound ? kExitNotFound : kExitNotExecutable;
}

sigset_t ForwardedSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

}  // namespace

int Execute(const Command& command) { return Complain(ReplaceProcess(ProgramOf(command))); }

int RunToEnd(const Command& command) {
  const sigset_t forwarded = ForwardedSet();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &forwarded, &before);
  Program program = ProgramOf(command);
  program.blocked = before;
  absl::StatusOr<Subprocess> child = Subprocess::Start(program);
  std::optional<ProcessEnd> end;
  while (child.ok() && !end) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&forwarded, &info);
    if (signal == SIGCHLD) {
      end = child->TryWait();
    } else if (signal > 0 && info.si_code <= 0) {
      child->Signal(signal);  // sent by a process; the terminal's own (SI_KERNEL) went to the whole group
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return end ? end->ShellCode() : Complain(child.status());
}

}  // namespace wharf::cli
