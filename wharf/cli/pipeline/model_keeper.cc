#include "wharf/cli/pipeline/model_keeper.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "wharf/cli/programs/own_programs.h"
#include "wharf/server/daemon/worker_process.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::cli {
namespace {

// Orders `process` to do what comes by a socket; its other end.
absl::StatusOr<link::UniqueFd> SocketTo(const server::WorkerProcess& process) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  link::UniqueFd ours(ends[0]);
  const link::UniqueFd keepers(ends[1]);
  const server::KeepOrder order{server::KeptFor::kModels, ""};
  WHARF_RETURN_IF_ERROR(server::SendControl(process.Control(), server::ControlKind::kKeep, order, keepers.get()));
  return ours;
}

}  // namespace

absl::StatusOr<HelperDoor::Helper> StartModelKeeper(const ModelKeeperOptions& options) {
  const std::string program = FindOwnProgram(kMainProgram);
  if (program.empty()) {
    return NotFound("wharf, which keeps a worker's models, is not installed; --cache-dir \"\" does without");
  }
  server::Configure configure;
  configure.role = server::WorkerRole::kKeepsModels;
  configure.cache_directory = options.cache_directory;
  configure.model_cache_bytes = options.cache_bytes;
  configure.memory_quota = options.most_model_bytes;
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<server::WorkerProcess> process,
                         server::WorkerProcess::Start(program, configure, options.isolation));
  absl::StatusOr<link::UniqueFd> socket = SocketTo(*process);
  if (socket.ok()) return HelperDoor::Helper{process->Pid(), *std::move(socket), process};
  process->Kill();
  waitpid(process->Pid(), nullptr, 0);
  return socket.status();
}

}  // namespace wharf::cli
