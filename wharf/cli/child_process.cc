#include "wharf/cli/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wharf::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!changes.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) merged.push_back(name + "=" + value);
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

sigset_t ForwardedSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// The child's exit code, or -1 while it runs.
int ExitCodeOf(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return -1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
}

}  // namespace

int Execute(const Command& command) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = MergedEnvironment(command.environment);
  execve(command.path.c_str(), Pointers(arguments).data(), Pointers(environment).data());
  const int error = errno;
  if (error == ENOEXEC) {
    // A script without an interpreter line: a shell runs it itself.
    arguments[0] = command.path;
    arguments.insert(arguments.begin(), "sh");
    execve("/bin/sh", Pointers(arguments).data(), Pointers(environment).data());
  }
  std::fprintf(stderr, "wharf: cannot execute %s: %s\n", command.path.c_str(), std::strerror(error));
  return error == ENOENT ? kExitNotFound : kExitNotExecutable;
}

int RunToEnd(const Command& command) {
  const sigset_t forwarded = ForwardedSet();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &forwarded, &before);
  const pid_t child = fork();
  if (child < 0) {
    std::fprintf(stderr, "wharf: cannot start the program: %s\n", std::strerror(errno));
    return kExitNotExecutable;
  }
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    _exit(Execute(command));
  }
  int code = -1;
  while (code < 0) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&forwarded, &info);
    if (signal == SIGCHLD) {
      code = ExitCodeOf(child);
    } else if (signal > 0 && info.si_code <= 0) {
      kill(child, signal);  // sent by a process; the terminal's own (SI_KERNEL) went to the whole group
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace wharf::cli
