#include "wharf/server/worker_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "wharf/server/control_codec.h"

namespace wharf::server {
namespace {

// Settings of a worker come over its control socket; nothing secret may stay readable in its environment.
std::vector<char*> WorkerEnvironment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("WHARF_TOKEN")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// A client that makes its worker use up the machine's memory loses that worker: the kernel shall pick neither the
// daemon nor anything else. System calls only.
void BeFirstToGo() {
  constexpr std::string_view kBadness = "500";
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, kBadness.data(), kBadness.size()) < 0) return;  // no /proc here
  close(file);
}

// After fork in a process with threads: system calls only.
[[noreturn]] void ExecWorker(const char* program, int control, pid_t parent, char** environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before we asked
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  BeFirstToGo();
  if (control == kControlDescriptor) {
    fcntl(control, F_SETFD, 0);
  } else {
    dup2(control, kControlDescriptor);
  }
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  syscall(SYS_close_range, kControlDescriptor + 1, ~0U, 0);
  // A terminal's Ctrl-C is the daemon's affair: it tells its workers.
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_IGN);
  char name[] = "wharf", command[] = "worker";
  char* arguments[] = {name, command, nullptr};
  execve(program, arguments, environment);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::string& program,
                                                                    const Configure& configure, int shares) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  std::vector<char*> environment = WorkerEnvironment();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) ExecWorker(program.c_str(), ends[1], parent, environment.data());
  const int fork_error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return ErrnoStatus(fork_error, "cannot start a worker process");
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(pid, ends[0]));
  WHARF_RETURN_IF_ERROR(SendControl(worker->Control(), ControlKind::kConfigure, configure, shares));
  return worker;
}

WorkerProcess::~WorkerProcess() { CloseControl(); }

void WorkerProcess::CloseControl() {
  if (control_ >= 0) close(control_);
  control_ = -1;
}

void WorkerProcess::Kill() { kill(pid_, SIGKILL); }

}  // namespace wharf::server
