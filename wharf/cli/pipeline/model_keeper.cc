#include "wharf/cli/pipeline/model_keeper.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "wharf/cli/common/shim_directory.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::cli {

absl::StatusOr<int> ModelKeeper::Start(const ModelKeeperOptions& options, Isolation isolation) {
  const std::string program = FindOwnProgram({"/wharf", "/../../bin/wharf"});
  if (program.empty()) {
    return NotFound("wharf, which keeps a worker's models, is not installed; --cache-dir \"\" does without");
  }
  server::Configure configure;
  configure.role = server::WorkerRole::kKeepsModels;
  configure.cache_directory = options.cache_directory;
  configure.model_cache_bytes = options.cache_bytes;
  configure.memory_quota = options.most_model_bytes;
  WHARF_ASSIGN_OR_RETURN(process_, server::WorkerProcess::Start(program, configure, isolation));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  const link::UniqueFd ours(ends[1]);
  const absl::Status asked = server::SendControl(process_->Control(), server::ControlKind::kKeep,
                                                 server::KeepOrder{server::KeptFor::kModels, ""}, ours.get());
  if (asked.ok()) return ends[0];
  close(ends[0]);
  return asked;
}

}  // namespace wharf::cli
