#include "wharf/server/daemon/worker_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {

absl::StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const WorkerPoolConfig& config, WorkerKind kind) {
  if (kind == WorkerKind::kPrograms) {
    return WorkerProcess::Start(config.program, config.configure, config.isolation, config.shares);
  }
  // Tokens and TLS are judged by the worker that passes the connection on.
  Configure configure = config.configure;
  configure.wants_token = false;
  configure.token_key = {};
  configure.tls_certificate.clear();
  configure.tls_key.clear();
  configure.tls_client_ca.clear();
  return WorkerProcess::Start(config.model_program, configure, config.isolation, config.shares);
}

WorkerPool::WorkerPool(WorkerPoolConfig config, PollLoop& loop, OnMessage on_message)
    : config_(std::move(config)), loop_(loop), on_message_(std::move(on_message)) {}

WorkerPool::~WorkerPool() {
  KillAll();
  for (const Entry& one : workers_) {
    CloseControl(*one.process);
    waitpid(one.process->Pid(), nullptr, 0);
  }
}

absl::StatusOr<WorkerPool::Entry*> WorkerPool::FindIdle(WorkerKind kind) {
  const auto found = std::ranges::find_if(workers_, [kind](const Entry& one) { return one.idle && one.kind == kind; });
  if (found != workers_.end()) return &*found;
  WHARF_ASSIGN_OR_RETURN(auto process, StartWorker(config_, kind));
  WorkerProcess& worker = *process;
  workers_.push_back({std::move(process), kind});
  loop_.Watch(worker.Control(), [this, &worker] { Read(worker); });
  return &workers_.back();
}

absl::StatusOr<pid_t> WorkerPool::Assign(WorkerKind kind, const wharf::server::Assign& order, int connection) {
  if (kind == WorkerKind::kModels) models_wanted_ = true;
  absl::Status sent;
  // An idle one may have died while it waited; it is reaped in a moment.
  for (int attempt = 0; attempt < 2; ++attempt) {
    WHARF_ASSIGN_OR_RETURN(Entry* const worker, FindIdle(kind));
    worker->idle = false;
    sent = SendControl(worker->process->Control(), ControlKind::kAssign, order, connection);
    if (sent.ok()) return worker->process->Pid();
  }
  return sent;
}

// Nobody waits for LibTorch to be loaded but the first who asks for models.
void WorkerPool::KeepIdle() {
  if (stopped_ || idle_failed_) return;
  absl::Status kept = FindIdle(WorkerKind::kPrograms).status();
  if (kept.ok() && models_wanted_) kept = FindIdle(WorkerKind::kModels).status();
  if (kept.ok()) return;
  idle_failed_ = true;
  Log(LogLevel::kWarning, "no spare worker", {{"why", Message(kept)}});
}

void WorkerPool::StopIdle() {
  stopped_ = true;
  for (const Entry& one : workers_) {
    if (one.idle) CloseControl(*one.process);
  }
}

WorkerProcess* WorkerPool::Find(pid_t pid) const {
  const auto found = std::ranges::find_if(workers_, [pid](const Entry& one) { return one.process->Pid() == pid; });
  return found == workers_.end() ? nullptr : found->process.get();
}

void WorkerPool::ForEachBusy(const std::function<void(WorkerProcess&)>& visit) const {
  for (const Entry& one : workers_) {
    if (!one.idle) visit(*one.process);
  }
}

void WorkerPool::Read(WorkerProcess& worker) {
  const absl::StatusOr<ControlMessage> message = ReceiveControl(worker.Control());
  if (!message.ok()) return CloseControl(worker);  // it is ending; SIGCHLD follows
  on_message_(worker, *message);
  if (message->fd >= 0) close(message->fd);
}

void WorkerPool::CloseControl(WorkerProcess& worker) {
  if (worker.Control() < 0) return;
  loop_.Forget(worker.Control());
  worker.CloseControl();
}

void WorkerPool::Reap(const OnEnd& on_end) {
  // Taken out first: while their last messages are handled, others may be started.
  std::vector<std::pair<Entry, int>> ended;
  std::erase_if(workers_, [&](Entry& one) {
    int status = 0;
    if (waitpid(one.process->Pid(), &status, WNOHANG) != one.process->Pid()) return false;
    ended.emplace_back(std::move(one), status);
    return true;
  });
  for (const auto& [one, status] : ended) {
    while (one.process->Control() >= 0) Read(*one.process);
    const bool crashed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    if (one.idle && crashed) idle_failed_ = true;
    on_end(*one.process, status);
  }
}

void WorkerPool::KillAll() {
  for (const Entry& one : workers_) one.process->Kill();
}

}  // namespace wharf::server
