#include "wharf/server/daemon/compilers.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::server {

absl::StatusOr<link::UniqueFd> Compilers::Offer(pid_t worker, uint64_t session, std::string whose) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  Offered& offered = offered_[worker];
  offered.session = session;
  offered.whose = std::move(whose);
  offered.waiting.Reset(ends[0]);
  loop_.Watch(ends[0], [this, worker] { OnWanted(worker); });
  return link::UniqueFd(ends[1]);
}

// Says something, or is gone; what it says is for the compiler.
void Compilers::OnWanted(pid_t worker) {
  Offered& offered = offered_.at(worker);
  loop_.Forget(offered.waiting.get());
  const link::UniqueFd socket = std::exchange(offered.waiting, link::UniqueFd());
  char first = 0;
  if (recv(socket.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) return;
  const Assign order{offered.session, kNoShareSlot, {}, {}};
  const absl::StatusOr<pid_t> compiler = workers_.Assign(WorkerKind::kCompilers, order, socket.get());
  if (!compiler.ok()) {
    Log(LogLevel::kError, "no process to compile kernels",
        {{"session", offered.session}, {"why", Message(compiler.status())}});
    return;  // the socket's end tells the worker
  }
  Employ(offered, *compiler);
}

void Compilers::Employ(Offered& session, pid_t compiler) {
  session.compiler = compiler;
  files_.Keep(*workers_.Find(compiler), {KeptFor::kCompiler, session.whose});
}

void Compilers::OnMove(pid_t from, pid_t to) {
  if (ending_.contains(from)) return End(to);
  for (auto& [worker, session] : offered_) {
    if (session.compiler == from) return Employ(session, to);
  }
}

// It would end by itself, but may be in the middle of something long. What it has not taken nobody else is to get.
void Compilers::End(pid_t compiler) {
  ending_.insert(compiler);
  workers_.Kill(compiler);
}

bool Compilers::OnWorkerEnd(pid_t pid) {
  if (ending_.erase(pid) > 0) return true;
  for (auto& [worker, session] : offered_) {
    if (session.compiler == pid) session.compiler = 0;  // the number may be another's soon
  }
  const auto found = offered_.find(pid);
  if (found == offered_.end()) return false;
  const Offered& offered = found->second;
  if (offered.waiting.get() >= 0) loop_.Forget(offered.waiting.get());
  if (offered.compiler != 0) End(offered.compiler);
  offered_.erase(found);
  return false;
}

}  // namespace wharf::server
