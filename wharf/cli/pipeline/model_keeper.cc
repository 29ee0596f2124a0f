#include "wharf/cli/pipeline/model_keeper.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/stored/keeper_door.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::cli {
namespace {

// One that ends as soon as it begins must not take the machine's time.
constexpr Nanoseconds kBetweenKeepers = std::chrono::seconds(1);

struct SocketPair {
  link::UniqueFd ours, theirs;
};
absl::StatusOr<SocketPair> MakeSocketPair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  return SocketPair{link::UniqueFd(ends[0]), link::UniqueFd(ends[1])};
}

// A process for which `order` is carried out on a socket that goes through `door`.
absl::Status PassKeeperOf(const server::WorkerProcess& process, int door) {
  WHARF_ASSIGN_OR_RETURN(const SocketPair socket, MakeSocketPair(SOCK_STREAM));
  const server::KeepOrder order{server::KeptFor::kModels, ""};
  WHARF_RETURN_IF_ERROR(server::SendControl(process.Control(), server::ControlKind::kKeep, order, socket.theirs.get()));
  return PassKeeper(door, socket.ours.get());
}

}  // namespace

absl::StatusOr<int> ModelKeeper::Start(const ModelKeeperOptions& options) {
  options_ = options;
  WHARF_ASSIGN_OR_RETURN(SocketPair door, MakeSocketPair(SOCK_SEQPACKET));
  door_ = std::move(door.ours);
  WHARF_RETURN_IF_ERROR(Begin());
  return door.theirs.Release();
}

absl::Status ModelKeeper::Begin() {
  begun_at_ = Clock::Real().Now();
  const std::string program = FindOwnProgram({"/wharf", "/../../bin/wharf"});
  if (program.empty()) {
    return NotFound("wharf, which keeps a worker's models, is not installed; --cache-dir \"\" does without");
  }
  server::Configure configure;
  configure.role = server::WorkerRole::kKeepsModels;
  configure.cache_directory = options_.cache_directory;
  configure.model_cache_bytes = options_.cache_bytes;
  configure.memory_quota = options_.most_model_bytes;
  WHARF_ASSIGN_OR_RETURN(process_, server::WorkerProcess::Start(program, configure, options_.isolation));
  const absl::Status passed = PassKeeperOf(*process_, door_.get());
  if (passed.ok()) return passed;
  process_->Kill();
  waitpid(process_->Pid(), nullptr, 0);
  process_.reset();
  return passed;
}

void ModelKeeper::LookAfter() {
  Reap();
  if (process_ != nullptr || Clock::Real().Now() - begun_at_ < kBetweenKeepers) return;
  const absl::Status begun = Begin();
  if (begun.ok()) {
    Log(LogLevel::kInfo, "another keeper of models has begun");
  } else if (!failing_) {
    Log(LogLevel::kError, "no other keeper of models can be started", {{"why", Message(begun)}});
  }
  failing_ = !begun.ok();
}

void ModelKeeper::Reap() {
  int status = 0;
  if (process_ == nullptr || waitpid(process_->Pid(), &status, WNOHANG) != process_->Pid()) return;
  Log(LogLevel::kError, "the keeper of models has ended",
      {{"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
       {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 0}});
  process_.reset();
}

}  // namespace wharf::cli
