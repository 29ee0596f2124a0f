#include "wharf/server/daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/server/acceptor.h"
#include "wharf/server/control_codec.h"
#include "wharf/server/counters.h"
#include "wharf/server/fair_share.h"
#include "wharf/server/tls_files.h"
#include "wharf/server/worker_process.h"

namespace wharf::server {
namespace {

constexpr int kMaxHandshakes = 64;        // connections that have not been admitted yet
constexpr int kStatusPeriodMs = 1000;     // while there are sessions: what they have used grows
constexpr int kProbeTimeoutMs = 120'000;  // a GPU driver's first start can be slow

class Daemon {
 public:
  explicit Daemon(const ServerOptions& options) : options_(options) {}
  ~Daemon();
  absl::Status Run();

 private:
  absl::Status Prepare();
  absl::StatusOr<ProbeResult> Probe(bool runs_models) const;
  absl::Status ProbeDevice();
  absl::Status ProbeModelDevice();
  absl::Status BlockSignals();
  void Announce();
  void Turn();
  void OnSignal();
  void OnConnection();
  absl::StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(bool runs_models) const;
  absl::StatusOr<WorkerProcess*> FindSpare(bool runs_models);
  absl::StatusOr<WorkerProcess*> Hand(bool runs_models, const Assign& order, int connection);
  bool MayAdmit();
  uint32_t TakeShareSlot();
  void OnWorker(WorkerProcess& worker);
  void OnAskAdmission(WorkerProcess& worker);
  void OnServeModels(WorkerProcess& door, const ControlMessage& message);
  absl::Status PassToModelWorker(WorkerProcess& door, std::vector<std::byte> beginning, int connection);
  bool PassToSameWorker(WorkerProcess& door, const ServeModels& wish, int connection);
  bool EvictOne();
  void OnResumeSession(WorkerProcess& worker, const ControlMessage& message);
  void OnWaiting(WorkerProcess& worker, const Waiting& waiting);
  void Reap();
  void OnWorkerEnd(const WorkerProcess& worker, int status);
  void KeepSpare();
  void StartDraining();
  void KillAll();
  int CountIn(WorkerProcess::State state) const;
  int TimeoutMs() const;
  ServerStatus Status() const;
  void PublishStatus();

  const ServerOptions options_;
  Configure configure_;
  std::string device_name_;
  std::shared_ptr<SharedPage> shares_;  // null if the device is not shared by us
  int signals_ = -1;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  uint64_t next_session_ = 1;
  bool spare_failed_ = false;   // then the next one is started with the next connection
  bool models_wanted_ = false;  // somebody has asked: the next one finds LibTorch loaded
  std::optional<TimePoint> drain_deadline_;
  ServerCounters counters_;
};

Daemon::~Daemon() {
  KillAll();
  for (const auto& worker : workers_) waitpid(worker->Pid(), nullptr, 0);
  if (signals_ >= 0) close(signals_);
}

absl::Status Daemon::BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGHUP}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "sigprocmask");
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return signals_ >= 0 ? absl::OkStatus() : ErrnoStatus(errno, "signalfd");
}

absl::Status Daemon::Prepare() {
  configure_.device = options_.device;
  configure_.model_device = options_.model_device;
  configure_.cache_directory = options_.cache_directory;
  configure_.tls_certificate = options_.tls_certificate;
  configure_.tls_key = options_.tls_key;
  configure_.tls_client_ca = options_.tls_client_ca;
  configure_.memory_quota = options_.memory_quota;
  configure_.threads = options_.threads;
  configure_.idle_timeout_ns = options_.idle_timeout.count();
  configure_.hello_timeout_ns = options_.hello_timeout.count();
  configure_.resume_timeout_ns = options_.resume_timeout.count();
  configure_.model_cache_bytes = options_.model_cache_bytes;
  if (!options_.token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(configure_.token, LoadToken(options_.token_file));
  }
  WHARF_RETURN_IF_ERROR(BlockSignals());
  // Before the probe: a port in use should be said at once.
  WHARF_ASSIGN_OR_RETURN(auto listener, link::Listener::Create(options_.listen));
  WHARF_RETURN_IF_ERROR(ProbeDevice());
  WHARF_RETURN_IF_ERROR(ProbeModelDevice());
  // A GPU's driver gives the processes that use it time slices of its own.
  if (options_.fair_share && configure_.device == "soft") {
    WHARF_ASSIGN_OR_RETURN(shares_, SharedPage::Create());
  }
  acceptor_ = std::make_unique<Acceptor>(std::move(listener));
  return absl::OkStatus();
}

// In a process of its own: a GPU driver's state must not be in the daemon, which forks.
absl::StatusOr<ProbeResult> Daemon::Probe(bool runs_models) const {
  WHARF_ASSIGN_OR_RETURN(const auto worker, StartWorker(runs_models));
  absl::StatusOr<ProbeResult> result = Unavailable("it gave no answer");
  absl::Status asked = SendControl(worker->Control(), ControlKind::kProbe, offload::Nothing{});
  pollfd answer{worker->Control(), POLLIN, 0};
  if (asked.ok() && poll(&answer, 1, kProbeTimeoutMs) > 0) {
    const absl::StatusOr<ControlMessage> message = ReceiveControl(worker->Control());
    result = message.ok() ? DecodeControl<ProbeResult>(*message, ControlKind::kProbeResult) : message.status();
  }
  worker->Kill();
  waitpid(worker->Pid(), nullptr, 0);
  if (!result.ok()) return Internal("the process that looks for a device failed: {}", Message(result.status()));
  if (result->driver.empty()) return Unavailable("{}", result->problem);
  return result;
}

absl::Status Daemon::ProbeDevice() {
  WHARF_ASSIGN_OR_RETURN(const ProbeResult found, Probe(false));
  configure_.device = found.driver;
  device_name_ = found.name;
  return absl::OkStatus();
}

// Only a GPU that was asked for is looked for before there is a client: LibTorch takes a while to load.
absl::Status Daemon::ProbeModelDevice() {
  if (!options_.model_device.starts_with("cuda")) return absl::OkStatus();
  if (options_.model_program.empty()) {
    return FailedPrecondition("--model-device {} needs wharf-model, which is not installed", options_.model_device);
  }
  WHARF_ASSIGN_OR_RETURN(const ProbeResult found, Probe(true));
  configure_.model_device = found.driver;
  Log(LogLevel::kInfo, "models run on a GPU", {{"device", found.driver}, {"engine", found.name}});
  return absl::OkStatus();
}

void Daemon::Announce() {
  // For scripts and people alike; logs go to standard error.
  std::printf("wharf: serving %s (%s) on %s\n", device_name_.c_str(), configure_.device.c_str(),
              acceptor_->Address().c_str());
  std::fflush(stdout);
  Log(LogLevel::kInfo, "listening",
      {{"address", acceptor_->Address()},
       {"driver", configure_.device},
       {"device", device_name_},
       {"memory_mib", options_.memory_quota >> 20},
       {"max_sessions", options_.max_sessions},
       {"models", options_.model_program.empty() ? "no: wharf-model is not installed" : "yes"},
       {"token", configure_.token.empty() ? "no" : "yes"},
       {"tls", configure_.tls_certificate.empty() ? "no"
               : configure_.tls_client_ca.empty() ? "yes"
                                                  : "mutual"}});
  if (!IsLoopbackAddress(options_.listen) && configure_.tls_certificate.empty()) {
    Log(LogLevel::kWarning, "token and data travel unencrypted: give --tls-cert and --tls-key");
  }
}

absl::Status Daemon::Run() {
  WHARF_RETURN_IF_ERROR(Prepare());
  if (!options_.status_file.empty()) WHARF_RETURN_IF_ERROR(WriteStatusFile(options_.status_file, Status()));
  KeepSpare();
  Announce();
  while (!drain_deadline_ || !workers_.empty()) Turn();
  Log(LogLevel::kInfo, "stopped");
  LogStatus(Status());
  PublishStatus();
  return absl::OkStatus();
}

int Daemon::TimeoutMs() const {
  if (!drain_deadline_) {
    const bool watched = !options_.status_file.empty() && CountIn(WorkerProcess::State::kAdmitted) > 0;
    return watched ? kStatusPeriodMs : -1;
  }
  const int64_t left = (*drain_deadline_ - Clock::Real().Now()).count() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

// One round of waiting and handling.
void Daemon::Turn() {
  const bool accepting = !drain_deadline_ && CountIn(WorkerProcess::State::kHandshake) < kMaxHandshakes;
  std::vector<pollfd> events = {{signals_, POLLIN, 0}, {accepting ? acceptor_->Event() : -1, POLLIN, 0}};
  for (const auto& worker : workers_) events.push_back({worker->Control(), POLLIN, 0});
  const int ready = poll(events.data(), events.size(), TimeoutMs());
  if (ready < 0 && errno != EINTR) {
    Log(LogLevel::kError, "poll failed", {{"errno", errno}});
    return;
  }
  if (ready == 0) PublishStatus();
  // Messages before deaths: a worker's last report arrives just before it ends.
  const size_t known = workers_.size();
  for (size_t i = 0; i < known; ++i) {
    if (events[i + 2].revents != 0) OnWorker(*workers_[i]);
  }
  if (events[0].revents != 0) OnSignal();
  if (events[1].revents != 0) OnConnection();
  if (drain_deadline_ && Clock::Real().Now() >= *drain_deadline_) KillAll();
}

void Daemon::OnSignal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    switch (info.ssi_signo) {
      case SIGCHLD:
        Reap();
        break;
      case SIGUSR1:
        LogStatus(Status());
        break;
      default:
        if (drain_deadline_) {
          KillAll();
        } else {
          StartDraining();
        }
    }
  }
}

void Daemon::OnConnection() {
  if (drain_deadline_) return;
  const int connection = acceptor_->Take();
  if (connection < 0) return;
  ++counters_.connections;
  const absl::Status assigned = Hand(false, {next_session_++, TakeShareSlot(), {}, {}}, connection).status();
  close(connection);
  if (!assigned.ok()) Log(LogLevel::kError, "no worker for a connection", {{"why", Message(assigned)}});
  spare_failed_ = false;
  KeepSpare();
  PublishStatus();
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> Daemon::StartWorker(bool runs_models) const {
  const int shares = shares_ == nullptr ? -1 : shares_->Descriptor();
  if (!runs_models) return WorkerProcess::Start("/proc/self/exe", configure_, shares);
  // Tokens and TLS are judged at the door.
  Configure configure = configure_;
  configure.token.clear();
  configure.tls_certificate.clear();
  configure.tls_key.clear();
  configure.tls_client_ca.clear();
  WHARF_ASSIGN_OR_RETURN(auto worker, WorkerProcess::Start(options_.model_program, configure, shares));
  worker->runs_models = true;
  return worker;
}

// One that no living worker has; none if there are too many.
uint32_t Daemon::TakeShareSlot() {
  if (shares_ == nullptr) return kNoShareSlot;
  const auto taken = [this](uint32_t slot) {
    return std::any_of(workers_.begin(), workers_.end(), [slot](const auto& w) { return w->share_slot == slot; });
  };
  uint32_t slot = 0;
  while (slot < kShareSlots && taken(slot)) ++slot;
  if (slot == kShareSlots) return kNoShareSlot;
  OpenSlot(shares_->Page(), slot);
  return slot;
}

// One that waits, or a new one.
absl::StatusOr<WorkerProcess*> Daemon::FindSpare(bool runs_models) {
  for (const auto& worker : workers_) {
    if (worker->state == WorkerProcess::State::kSpare && worker->runs_models == runs_models) return worker.get();
  }
  WHARF_ASSIGN_OR_RETURN(auto worker, StartWorker(runs_models));
  workers_.push_back(std::move(worker));
  return workers_.back().get();
}

absl::StatusOr<WorkerProcess*> Daemon::Hand(bool runs_models, const Assign& order, int connection) {
  absl::Status sent;
  // A spare may have died while it waited; it is reaped in a moment.
  for (int attempt = 0; attempt < 2; ++attempt) {
    WHARF_ASSIGN_OR_RETURN(WorkerProcess* const worker, FindSpare(runs_models));
    worker->state = WorkerProcess::State::kHandshake;
    sent = SendControl(worker->Control(), ControlKind::kAssign, order, connection);
    if (!sent.ok()) continue;
    worker->session = order.session;
    worker->share_slot = order.share_slot;
    return worker;
  }
  return sent;
}

// Nobody waits for LibTorch to be loaded but the first who asks for models.
void Daemon::KeepSpare() {
  if (drain_deadline_ || spare_failed_) return;
  absl::Status kept = FindSpare(false).status();
  if (kept.ok() && models_wanted_) kept = FindSpare(true).status();
  if (kept.ok()) return;
  spare_failed_ = true;
  Log(LogLevel::kWarning, "no spare worker", {{"why", Message(kept)}});
}

void Daemon::OnWorker(WorkerProcess& worker) {
  if (worker.Control() < 0) return;
  const absl::StatusOr<ControlMessage> message = ReceiveControl(worker.Control());
  if (!message.ok()) {
    worker.CloseControl();  // it is ending; SIGCHLD follows
    return;
  }
  if (message->kind == ControlKind::kAskAdmission) {
    OnAskAdmission(worker);
  } else if (message->kind == ControlKind::kServeModels) {
    OnServeModels(worker, *message);
  } else if (message->kind == ControlKind::kResumeSession) {
    OnResumeSession(worker, *message);
  } else if (const auto waiting = DecodeControl<Waiting>(*message, ControlKind::kWaiting); waiting.ok()) {
    OnWaiting(worker, *waiting);
  } else if (const auto report = DecodeControl<SessionReport>(*message, ControlKind::kSessionReport); report.ok()) {
    counters_.Add(*report);
  }
  if (message->fd >= 0) close(message->fd);
}

void Daemon::OnAskAdmission(WorkerProcess& worker) {
  Admission admission;
  if (worker.state != WorkerProcess::State::kHandshake) return;
  if (drain_deadline_) {
    admission.verdict = Verdict::kDraining;
  } else if (MayAdmit()) {
    admission.verdict = Verdict::kAdmitted;
    worker.state = WorkerProcess::State::kAdmitted;
    ++counters_.sessions_opened;
  }
  PublishStatus();  // first, so that whoever was let in is in it
  SendControl(worker.Control(), ControlKind::kAdmission, admission).IgnoreError();
}

bool Daemon::MayAdmit() { return CountIn(WorkerProcess::State::kAdmitted) < options_.max_sessions || EvictOne(); }

void Daemon::OnServeModels(WorkerProcess& door, const ControlMessage& message) {
  absl::StatusOr<ServeModels> wish = DecodeControl<ServeModels>(message, ControlKind::kServeModels);
  if (!wish.ok() || message.fd < 0 || door.state != WorkerProcess::State::kHandshake) return;
  Admission admission;
  if (drain_deadline_) {
    admission.verdict = Verdict::kDraining;
  } else if (options_.model_program.empty()) {
    admission.verdict = Verdict::kNoModels;
  } else if (PassToSameWorker(door, *wish, message.fd)) {
    admission.verdict = Verdict::kAdmitted;
  } else if (MayAdmit()) {
    const absl::Status passed = PassToModelWorker(door, std::move(wish->beginning), message.fd);
    admission.verdict = passed.ok() ? Verdict::kAdmitted : Verdict::kNoModels;
    if (!passed.ok()) Log(LogLevel::kError, "no worker for models", {{"why", Message(passed)}});
  }
  KeepSpare();
  PublishStatus();
  SendControl(door.Control(), ControlKind::kAdmission, admission).IgnoreError();
}

// The session moves, with its number and its account; the door stays to decrypt, if there is anything encrypted.
absl::Status Daemon::PassToModelWorker(WorkerProcess& door, std::vector<std::byte> beginning, int connection) {
  models_wanted_ = true;
  WHARF_ASSIGN_OR_RETURN(const link::ResumeKey ticket, link::ResumeKey::Make(door.session));
  const Assign order{door.session, door.share_slot, std::move(beginning), ticket.secret};
  WHARF_ASSIGN_OR_RETURN(WorkerProcess* const worker, Hand(true, order, connection));
  worker->state = WorkerProcess::State::kAdmitted;
  worker->ticket = ticket;
  door.share_slot = kNoShareSlot;
  door.state = WorkerProcess::State::kHandedOver;
  ++counters_.sessions_opened;
  return absl::OkStatus();
}

// The process that has the client's model loaded; it may not have noticed yet that it lost the connection before.
bool Daemon::PassToSameWorker(WorkerProcess& door, const ServeModels& wish, int connection) {
  const auto owner = std::find_if(workers_.begin(), workers_.end(), [&](const auto& other) {
    return other->state == WorkerProcess::State::kAdmitted && other->ticket && other->Control() >= 0 &&
           other->session == wish.session && other->ticket->Matches(wish.secret);
  });
  if (owner == workers_.end()) return false;
  const Assign order{wish.session, (*owner)->share_slot, wish.beginning, wish.secret};
  if (!SendControl((*owner)->Control(), ControlKind::kAssign, order, connection).ok()) return false;
  (*owner)->waiting_since.reset();
  door.state = WorkerProcess::State::kHandedOver;
  ++counters_.resumed;
  return true;
}

// Whoever is here comes before whoever may come back: the session that has waited longest makes room.
bool Daemon::EvictOne() {
  WorkerProcess* longest = nullptr;
  for (const auto& worker : workers_) {
    if (worker->state != WorkerProcess::State::kAdmitted || !worker->waiting_since) continue;
    if (longest == nullptr || *worker->waiting_since < *longest->waiting_since) longest = worker.get();
  }
  if (longest == nullptr) return false;
  Log(LogLevel::kInfo, "session evicted", {{"session", longest->session}});
  if (!SendControl(longest->Control(), ControlKind::kEvict, offload::Nothing{}).ok()) longest->Kill();
  longest->state = WorkerProcess::State::kEvicted;
  ++counters_.sessions_closed;
  return true;
}

void Daemon::OnResumeSession(WorkerProcess& worker, const ControlMessage& message) {
  const absl::StatusOr<ResumeSession> wish = DecodeControl<ResumeSession>(message, ControlKind::kResumeSession);
  if (!wish.ok() || message.fd < 0 || worker.state != WorkerProcess::State::kHandshake) return;
  const auto owner = std::find_if(workers_.begin(), workers_.end(), [&](const auto& other) {
    const bool open =
        other->state == WorkerProcess::State::kAdmitted || other->state == WorkerProcess::State::kHandshake;
    return other.get() != &worker && open && other->session == wish->session && other->Control() >= 0;
  });
  ResumeAnswer answer;
  answer.passed_on =
      owner != workers_.end() && SendControl((*owner)->Control(), ControlKind::kResumeSession, *wish, message.fd).ok();
  if (answer.passed_on) {
    worker.state = WorkerProcess::State::kHandedOver;
    ++counters_.resumed;
    PublishStatus();
  }
  SendControl(worker.Control(), ControlKind::kResumeAnswer, answer).IgnoreError();
}

void Daemon::OnWaiting(WorkerProcess& worker, const Waiting& waiting) {
  worker.waiting_since.reset();
  if (waiting.waiting) worker.waiting_since = Clock::Real().Now();
  PublishStatus();
}

void Daemon::Reap() {
  for (size_t i = 0; i < workers_.size();) {
    int status = 0;
    if (waitpid(workers_[i]->Pid(), &status, WNOHANG) != workers_[i]->Pid()) {
      ++i;
      continue;
    }
    while (workers_[i]->Control() >= 0) OnWorker(*workers_[i]);  // its last words
    OnWorkerEnd(*workers_[i], status);
    workers_.erase(workers_.begin() + static_cast<ptrdiff_t>(i));
  }
  KeepSpare();
  PublishStatus();
}

void Daemon::OnWorkerEnd(const WorkerProcess& worker, int status) {
  if (worker.share_slot != kNoShareSlot) CloseSlot(shares_->Page(), worker.share_slot);
  const bool ours = drain_deadline_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool crashed = !ours && (WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  if (worker.state == WorkerProcess::State::kAdmitted) ++counters_.sessions_closed;
  if (worker.state == WorkerProcess::State::kSpare && crashed) spare_failed_ = true;
  if (!crashed) return;
  ++counters_.crashes;
  Log(LogLevel::kError, "worker crashed",
      {{"session", worker.session},
       {"pid", worker.Pid()},
       {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
       {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 0}});
}

void Daemon::StartDraining() {
  drain_deadline_ = Clock::Real().Now() + options_.drain_timeout;
  acceptor_->Stop();
  Log(LogLevel::kInfo, "draining",
      {{"sessions", CountIn(WorkerProcess::State::kAdmitted)}, {"seconds", Seconds(options_.drain_timeout)}});
  // Half of the time to finish by themselves, the other half to be told and to clean up.
  Drain drain;
  drain.grace_ns = options_.drain_timeout.count() / 2;
  for (const auto& worker : workers_) {
    if (worker->state == WorkerProcess::State::kSpare) {
      worker->CloseControl();
    } else if (worker->Control() >= 0) {
      SendControl(worker->Control(), ControlKind::kDrain, drain).IgnoreError();
    }
  }
  PublishStatus();
}

void Daemon::KillAll() {
  for (const auto& worker : workers_) worker->Kill();
  // Their ends come as SIGCHLD.
  if (drain_deadline_) drain_deadline_ = Clock::Real().Now() + std::chrono::seconds(1);
}

int Daemon::CountIn(WorkerProcess::State state) const {
  return static_cast<int>(
      std::count_if(workers_.begin(), workers_.end(), [state](const auto& worker) { return worker->state == state; }));
}

ServerStatus Daemon::Status() const {
  ServerStatus status;
  status.pid = getpid();
  status.address = acceptor_->Address();
  status.driver = configure_.device;
  status.device = device_name_;
  status.draining = drain_deadline_.has_value();
  for (const auto& worker : workers_) {
    if (worker->state != WorkerProcess::State::kAdmitted) continue;
    RunningSession session;
    session.session = worker->session;
    session.pid = worker->Pid();
    session.runs_models = worker->runs_models;
    session.waiting = worker->waiting_since.has_value();
    if (worker->share_slot != kNoShareSlot) {
      const ShareTotals totals = TotalsOf(shares_->Page(), worker->share_slot);
      session.device_nanoseconds = static_cast<uint64_t>(totals.used_nanoseconds);
      session.waited_nanoseconds = static_cast<uint64_t>(totals.waited_nanoseconds);
    }
    status.sessions.push_back(session);
  }
  status.max_sessions = options_.max_sessions;
  status.counters = counters_;
  return status;
}

void Daemon::PublishStatus() {
  if (options_.status_file.empty()) return;
  const absl::Status written = WriteStatusFile(options_.status_file, Status());
  if (!written.ok()) Log(LogLevel::kWarning, "status", {{"why", Message(written)}});
}

}  // namespace

absl::Status RunDaemon(const ServerOptions& options) {
  WHARF_RETURN_IF_ERROR(Validate(options));
  if (!options.tls_certificate.empty()) {
    WHARF_RETURN_IF_ERROR(CheckTlsFiles(options.tls_certificate, options.tls_key, options.tls_client_ca));
  }
  Daemon daemon(options);
  return daemon.Run();
}

}  // namespace wharf::server
