#include "wharf/server/daemon/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "wharf/base/subprocess/subprocess.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

static_assert(kControlDescriptor == STDERR_FILENO + 1);

// Settings of a worker come over its control socket; nothing secret may stay readable in its environment.
std::vector<std::string> WorkerEnvironment() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("WHARF_TOKEN")) kept.emplace_back(*entry);
  }
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

// Before the worker's program runs: system calls only.
void Prepare() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  BeFirstToGo();
  signal(SIGPIPE, SIG_IGN);
}

absl::StatusOr<Subprocess> StartProgram(const std::string& program, int control) {
  sigset_t none;
  sigemptyset(&none);
  return Subprocess::Start({.path = program,
                            .arguments = {"wharf", "worker"},
                            .environment = WorkerEnvironment(),
                            .descriptors = {kDevNull, kDevNull, STDERR_FILENO, control},
                            .own_group = true,  // a terminal's Ctrl-C is the daemon's affair: it tells its workers
                            .blocked = none,
                            .parent_death_signal = SIGKILL,
                            .prepare = Prepare});
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::string& program,
                                                                    const Configure& configure, int shares) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  absl::StatusOr<Subprocess> process = StartProgram(program, ends[1]);
  close(ends[1]);
  if (!process.ok()) {
    close(ends[0]);
    return process.status();
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(process->Release(), ends[0]));
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
