#include "wharf/server/daemon/file_keeper.h"

#include <sys/wait.h>

#include "wharf/base/log.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {

absl::StatusOr<std::unique_ptr<FileKeeper>> FileKeeper::Start(const WorkerPoolConfig& config) {
  std::unique_ptr<FileKeeper> keeper(new FileKeeper(config));
  WHARF_RETURN_IF_ERROR(keeper->Begin());
  return keeper;
}

FileKeeper::~FileKeeper() {
  if (process_ == nullptr) return;
  process_->Kill();
  waitpid(process_->Pid(), nullptr, 0);
}

absl::Status FileKeeper::Begin() {
  if (config_.configure.cache_directory.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(process_, StartWorker(config_, WorkerKind::kKeeper));
  return absl::OkStatus();
}

void FileKeeper::Keep(WorkerProcess& worker, const KeepOrder& order) {
  const link::UniqueFd socket = worker.TakeKeepersEnd();
  if (socket.get() < 0 || config_.configure.cache_directory.empty()) return;
  absl::Status asked = process_ == nullptr ? Begin() : absl::OkStatus();
  if (asked.ok()) asked = SendControl(process_->Control(), ControlKind::kKeep, order, socket.get());
  if (!asked.ok()) Log(LogLevel::kWarning, "a worker keeps no files", {{"why", Message(asked)}});
}

void FileKeeper::Reap() {
  int status = 0;
  if (process_ == nullptr || waitpid(process_->Pid(), &status, WNOHANG) != process_->Pid()) return;
  Log(LogLevel::kError, "the keeper of files has ended",
      {{"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
       {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 0}});
  process_.reset();
}

}  // namespace wharf::server
