#include "wharf/server/daemon/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/limits.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

// A session says when it begins, breaks, goes on and ends.
constexpr int kMostMessages = 10'000;
constexpr int kMostDeliveries = 3;  // of one connection

// Or has closed its end.
bool HasMessage(int control) {
  pollfd event{control, POLLIN, 0};
  return poll(&event, 1, 0) > 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const WorkerPoolConfig& config, WorkerKind kind) {
  if (kind == WorkerKind::kPrograms) {
    return WorkerProcess::Start(config.program, config.configure, config.isolation, config.shares,
                                config.standard_error);
  }
  // Tokens and TLS are judged by the worker that passes the connection on, or compiles nothing itself.
  Configure configure = config.configure;
  configure.wants_token = false;
  configure.token_key = {};
  configure.tls_certificate.clear();
  configure.tls_key.clear();
  configure.tls_client_ca.clear();
  if (kind == WorkerKind::kModels) {
    return WorkerProcess::Start(config.model_program, configure, config.isolation, config.shares,
                                config.standard_error);
  }
  const bool keeps = kind == WorkerKind::kKeeper;
  configure.role = keeps ? WorkerRole::kKeepsFiles : WorkerRole::kCompiles;
  return WorkerProcess::Start(keeps ? config.keeper_program : config.program, configure, config.isolation,
                              /*shares=*/-1, config.standard_error);
}

WorkerPool::WorkerPool(WorkerPoolConfig config, PollLoop& loop, OnMessage on_message, OnMove on_move)
    : config_(std::move(config)), loop_(loop), on_message_(std::move(on_message)), on_move_(std::move(on_move)) {}

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
  loop_.Watch(worker.Control(), [this, &worker] {
    Read(*std::ranges::find_if(workers_, [&](const Entry& one) { return one.process.get() == &worker; }));
  });
  return &workers_.back();
}

absl::StatusOr<pid_t> WorkerPool::Assign(WorkerKind kind, const wharf::server::Assign& order, int connection) {
  if (kind == WorkerKind::kModels) models_wanted_ = true;
  link::UniqueFd copy(fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return ErrnoStatus(errno, "keeping a connection");
  return Deliver(kind, {order, std::move(copy)});
}

absl::StatusOr<pid_t> WorkerPool::Deliver(WorkerKind kind, Delivery delivery) {
  absl::Status sent;
  // An idle one may have died while it waited; it is reaped in a moment.
  for (int attempt = 0; attempt < 2; ++attempt) {
    WHARF_ASSIGN_OR_RETURN(Entry* const worker, FindIdle(kind));
    worker->idle = false;
    sent = SendControl(worker->process->Control(), ControlKind::kAssign, delivery.order, delivery.connection.get());
    if (!sent.ok()) continue;
    ++delivery.attempts;
    worker->delivery = std::move(delivery);
    return worker->process->Pid();
  }
  return sent;
}

void WorkerPool::DeliverAnew(Entry& ended, bool crashed) {
  if (!ended.delivery || !crashed || stopped_) return;
  Delivery delivery = *std::exchange(ended.delivery, std::nullopt);
  const uint64_t session = delivery.order.session;
  absl::Status why = Internal("{} workers have ended before they took it", delivery.attempts);
  if (delivery.attempts < kMostDeliveries) {
    const absl::StatusOr<pid_t> other = Deliver(ended.kind, std::move(delivery));
    if (other.ok()) return on_move_(ended.process->Pid(), *other);
    why = other.status();
  }
  Log(LogLevel::kError, "no worker for a connection", {{"session", session}, {"why", Message(why)}});
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
    if (one.idle) one.process->Kill();  // it has nothing to lose, and may not even be ready to read that it should end
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

void WorkerPool::Read(Entry& entry) {
  WorkerProcess& worker = *entry.process;
  const absl::StatusOr<ControlMessage> message = ReceiveControl(worker.Control());
  if (absl::IsUnavailable(message.status())) return CloseControl(worker);  // it is ending; SIGCHLD follows
  if (!message.ok() || ++entry.messages > kMostMessages) {
    Log(LogLevel::kError, "a worker that says nonsense is ended",
        {{"pid", worker.Pid()}, {"why", message.ok() ? "too many messages" : Message(message.status())}});
    if (message.ok() && message->fd >= 0) close(message->fd);
    entry.delivery.reset();
    worker.Kill();
    return CloseControl(worker);
  }
  if (message->kind == ControlKind::kTaken) entry.delivery.reset();
  on_message_(worker, *message);  // may start others: `entry` may be elsewhere
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
  // Nobody waits for what one may still say: what it has started may have its end of the socket, and keep it.
  for (auto& [one, status] : ended) {
    while (one.process->Control() >= 0 && HasMessage(one.process->Control())) Read(one);
    CloseControl(*one.process);
    const bool crashed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    if (one.idle && crashed) idle_failed_ = true;
    DeliverAnew(one, crashed);
    on_end(*one.process, status);
  }
}

bool WorkerPool::AnyBusy() const {
  return std::ranges::any_of(workers_, [](const Entry& one) { return !one.idle; });
}

void WorkerPool::EndGreedy() {
  for (Entry& one : workers_) {
    if (one.idle) continue;
    const absl::StatusOr<ProcessUse> use = UseOf(one.process->Pid());
    if (!use.ok()) continue;  // it has ended, or the system does not say
    const bool programs = one.kind == WorkerKind::kPrograms;
    const uint64_t memory = programs ? config_.limits.program_memory : config_.limits.model_memory;
    if (use->memory <= memory && use->threads <= config_.limits.threads) continue;
    Log(LogLevel::kError, "a worker that uses more than it may is ended",
        {{"pid", one.process->Pid()}, {"memory_mib", use->memory >> 20}, {"threads", use->threads}});
    one.delivery.reset();
    one.process->Kill();
  }
}

void WorkerPool::KillAll() {
  for (Entry& one : workers_) {
    one.delivery.reset();
    one.process->Kill();
  }
}

void WorkerPool::Kill(pid_t worker) {
  for (Entry& one : workers_) {
    if (one.process->Pid() != worker) continue;
    one.delivery.reset();
    one.process->Kill();
  }
}

}  // namespace wharf::server
