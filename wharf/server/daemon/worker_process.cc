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

#include "wharf/base/stored/keeper.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/link/socket.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

static_assert(kControlDescriptor == STDERR_FILENO + 1 && kKeeperDescriptor == kControlDescriptor + 1 &&
              kFileSystemDescriptor == kKeeperDescriptor + 1);

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

absl::StatusOr<Subprocess> StartProgram(const std::string& program, const char* command, int control, int keeper,
                                        Isolation isolation, int standard_error) {
  sigset_t none;
  sigemptyset(&none);
  return Subprocess::Start({.path = program,
                            .arguments = {"wharf", command},
                            .environment = PlainEnvironment(),  // its settings come over its control socket
                            .descriptors = {kDevNull, kDevNull, standard_error, control, keeper},
                            .isolation = isolation,
                            .own_group = true,  // a terminal's Ctrl-C is the daemon's affair: it tells its workers
                            .blocked = none,
                            .parent_death_signal = SIGKILL,
                            .prepare = Prepare});
}

// A socket pair, ours first.
struct Ends {
  link::UniqueFd ours, theirs;
};
absl::StatusOr<Ends> MakePair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  return Ends{link::UniqueFd(ends[0]), link::UniqueFd(ends[1])};
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::string& program,
                                                                    const Configure& configure, Isolation isolation,
                                                                    int shares, int standard_error) {
  WHARF_ASSIGN_OR_RETURN(Ends control, MakePair(SOCK_SEQPACKET));
  WHARF_ASSIGN_OR_RETURN(Ends kept, MakePair(SOCK_STREAM));
  const bool keeps = configure.role == WorkerRole::kKeepsFiles || configure.role == WorkerRole::kKeepsModels;
  WHARF_ASSIGN_OR_RETURN(Subprocess process, StartProgram(program, keeps ? "keeper" : "worker", control.theirs.get(),
                                                          kept.theirs.get(), isolation, standard_error));
  Configure told = configure;
  told.isolated = isolation != Isolation::kNone;
  if (!configure.cache_directory.empty() && !keeps) {
    told.cache_directory = KeeperRoot(kKeeperDescriptor);
  }
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(process.Release(), control.ours.Release(), std::move(kept.ours)));
  WHARF_RETURN_IF_ERROR(SendControl(worker->Control(), ControlKind::kConfigure, told, shares));
  return worker;
}

WorkerProcess::~WorkerProcess() { CloseControl(); }

void WorkerProcess::CloseControl() {
  if (control_ >= 0) close(control_);
  control_ = -1;
}

void WorkerProcess::Kill() { kill(pid_, SIGKILL); }

}  // namespace wharf::server
