#include "wharf/server/daemon/daemon.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/limits.h"
#include "wharf/link/address.h"
#include "wharf/link/discovery/announcement.h"
#include "wharf/link/discovery/announcer.h"
#include "wharf/link/inherited_listener.h"
#include "wharf/server/daemon/arrivals.h"
#include "wharf/server/daemon/compilers.h"
#include "wharf/server/daemon/counters.h"
#include "wharf/server/daemon/device_probe.h"
#include "wharf/server/daemon/file_keeper.h"
#include "wharf/server/daemon/poll_loop.h"
#include "wharf/server/daemon/session_registry.h"
#include "wharf/server/daemon/share_slots.h"
#include "wharf/server/daemon/worker_pool.h"
#include "wharf/server/front/acceptor.h"
#include "wharf/server/front/signals.h"
#include "wharf/server/front/worker_errors.h"
#include "wharf/server/process/clean_text.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/process/worker_setup.h"
#include "wharf/wire/digest.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kStatusPeriod = std::chrono::seconds(1);  // while there are sessions: what they have used grows
constexpr Nanoseconds kWatchPeriod = std::chrono::milliseconds(250);
constexpr size_t kMostOfAClientsText = 200;  // characters in a line of the log

// Beyond what a worker is held to by itself: a program and its libraries, before it serves anybody.
constexpr uint64_t kOfAProgram = uint64_t{512} << 20, kOfLibTorch = uint64_t{2} << 30;
WorkerLimits LimitsFor(const Configure& configure) {
  WorkerLimits limits;
  if (kSanitized) return limits;
  limits.threads = MostThreads();
  if (const auto memory = ProgramMemory(configure)) limits.program_memory = *memory + kOfAProgram;
  limits.model_memory = configure.memory_quota + kOfLibTorch;
  return limits;
}

class Daemon {
 public:
  // `inherited`: listens there; null: where the options say.
  Daemon(const ServerOptions& options, std::unique_ptr<link::Listener> inherited)
      : options_(options), inherited_(std::move(inherited)), sessions_(options.max_sessions) {}
  absl::Status Run();

 private:
  absl::Status Prepare();
  absl::Status ProbeDevices(WorkerPoolConfig& workers);
  void Listen(std::unique_ptr<link::Listener> listener);
  void Announce() const;
  absl::Status AnnounceToOthers();
  void OnSignal(int signal);
  void OnTime(TimePoint now);
  void OnArrivals();
  void OnConnection(int connection, Handshake handshake);
  void TurnAway(uint64_t number);
  void OnMessage(WorkerProcess& worker, const ControlMessage& message);
  void OnClientRefused(const WorkerProcess& worker, const ClientRefused& refusal);
  void OnAskAdmission(WorkerProcess& worker, const AskAdmission& wish);
  void OnAskLoad(WorkerProcess& worker);
  std::string Whose(const std::string& identity) const;
  absl::StatusOr<link::UniqueFd> AdmitProgram(WorkerProcess& worker, const std::string& identity);
  void OnServeModels(WorkerProcess& worker, const ControlMessage& message);
  bool ResumeModels(pid_t worker, const ServeModels& wish, int connection);
  absl::Status PassToModelWorker(pid_t worker, std::vector<std::byte> beginning, int connection);
  void OnResumeSession(WorkerProcess& worker, const ControlMessage& message);
  void OnMove(pid_t from, pid_t to);
  void OnWorkerEnd(const WorkerProcess& worker, int status);
  bool MakeRoom();
  void StartDraining();
  void KillAll();
  int TimeoutMs() const;
  ServerStatus Status() const;
  void PublishStatus() const;

  const ServerOptions options_;
  std::unique_ptr<link::Listener> inherited_;
  Configure configure_;
  std::string device_name_;
  std::optional<TimePoint> drain_deadline_;
  TimePoint next_watch_, next_status_;
  ServerCounters counters_;
  SessionRegistry sessions_;
  std::unique_ptr<ShareSlots> shares_;
  std::unique_ptr<PollLoop> loop_;
  std::unique_ptr<WorkerErrors> errors_;
  std::unique_ptr<FileKeeper> files_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<Compilers> compilers_;
  Arrivals arrivals_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<link::Announcer> announcer_;
};

absl::Status Daemon::Prepare() {
  WHARF_ASSIGN_OR_RETURN(const AccessControl access, MakeAccessControl(options_.listen, options_.access));
  configure_.device = options_.device;
  configure_.model_device = options_.model_device;
  configure_.cache_directory = options_.cache_directory;
  configure_.wants_token = !access.token.empty();
  configure_.token_key = wire::TokenKey::Of(access.token, wire::kClientRole);
  configure_.tls_certificate = options_.access.tls_certificate;
  configure_.tls_key = options_.access.tls_key;
  configure_.tls_client_ca = options_.access.tls_client_ca;
  configure_.memory_quota = options_.memory_quota;
  configure_.worker_memory = options_.worker_memory;
  configure_.compile_limit_ns = options_.compile_limit.count();
  configure_.kernel_timeout_ns = options_.kernel_timeout.count();
  configure_.threads = options_.threads;
  configure_.compute_capability = options_.compute_capability;
  if (configure_.compute_capability == 0) {
    // Packs have PTX for 7.5: kernels that programs would choose on later devices are empty in it.
    configure_.compute_capability = options_.kernel_packs.empty() ? 80 : 75;
  }
  configure_.idle_timeout_ns = options_.idle_timeout.count();
  configure_.hello_timeout_ns = options_.hello_timeout.count();
  configure_.resume_timeout_ns = options_.resume_timeout.count();
  configure_.model_cache_bytes = options_.model_cache_bytes;
  configure_.unsafe_replay = options_.unsafe_replay;
  configure_.kernel_packs = options_.kernel_packs;
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals = EndingSignals();
  for (const int signal : {SIGCHLD, SIGUSR1}) sigaddset(&signals, signal);
  WHARF_ASSIGN_OR_RETURN(loop_, PollLoop::Create());
  WHARF_RETURN_IF_ERROR(loop_->WatchSignals(signals, [this](int signal) { OnSignal(signal); }));
  // Before the probe: a port in use should be said at once.
  auto listener = std::move(inherited_);
  if (listener == nullptr) {
    WHARF_ASSIGN_OR_RETURN(listener, link::Listener::Create(options_.listen));
  }
  WHARF_ASSIGN_OR_RETURN(const Isolation isolation, IsolationFor(options_.sandbox));
  WorkerPoolConfig workers{.program = options_.worker_program,
                           .model_program = options_.model_program,
                           .configure = configure_,
                           .isolation = isolation};
  WHARF_ASSIGN_OR_RETURN(errors_, WorkerErrors::Start(STDERR_FILENO));
  if (errors_ != nullptr) workers.standard_error = errors_->Descriptor();
  WHARF_RETURN_IF_ERROR(ProbeDevices(workers));
  // A GPU's driver gives the processes that use it time slices of its own.
  std::shared_ptr<SharedPage> page;
  if (options_.fair_share && configure_.device == "soft") {
    WHARF_ASSIGN_OR_RETURN(page, SharedPage::Create());
  }
  shares_ = std::make_unique<ShareSlots>(std::move(page));
  workers.configure = configure_;
  workers.shares = shares_->Descriptor();
  workers.limits = LimitsFor(configure_);
  WHARF_ASSIGN_OR_RETURN(files_, FileKeeper::Start(workers));
  workers_ = std::make_unique<WorkerPool>(
      std::move(workers), *loop_,
      [this](WorkerProcess& worker, const ControlMessage& message) { OnMessage(worker, message); },
      [this](pid_t from, pid_t to) { OnMove(from, to); });
  compilers_ = std::make_unique<Compilers>(*workers_, *files_, *loop_);
  Listen(std::move(listener));
  return absl::OkStatus();
}

absl::Status Daemon::ProbeDevices(WorkerPoolConfig& workers) {
  if (workers.program.empty()) return NotFound("wharf-worker, which serves programs, is not installed");
  WHARF_ASSIGN_OR_RETURN(auto worker, StartWorker(workers, WorkerKind::kPrograms));
  WHARF_ASSIGN_OR_RETURN(const ProbeResult found, ProbeDevice(std::move(worker)));
  configure_.device = found.driver;
  device_name_ = found.name;
  // Only a GPU that was asked for is looked for before there is a client: LibTorch takes a while to load.
  if (!options_.model_device.starts_with("cuda")) return absl::OkStatus();
  if (options_.model_program.empty()) {
    return FailedPrecondition("--model-device {} needs wharf-model, which is not installed", options_.model_device);
  }
  workers.configure = configure_;
  WHARF_ASSIGN_OR_RETURN(auto model_worker, StartWorker(workers, WorkerKind::kModels));
  WHARF_ASSIGN_OR_RETURN(const ProbeResult gpu, ProbeDevice(std::move(model_worker)));
  configure_.model_device = gpu.driver;
  Log(LogLevel::kInfo, "models run on a GPU", {{"device", gpu.driver}, {"engine", gpu.name}});
  return absl::OkStatus();
}

void Daemon::Listen(std::unique_ptr<link::Listener> listener) {
  const auto on_connection = [this](int connection, Handshake handshake) {
    if (arrivals_.Add(connection, std::move(handshake))) loop_->Post([this] { OnArrivals(); });
  };
  acceptor_ = std::make_unique<Acceptor>(std::move(listener), on_connection,
                                         AcceptorLimits{.waiting = WaitingLimitsOfProcess(options_.hello_timeout)});
}

void Daemon::Announce() const {
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
       {"token", configure_.wants_token ? "yes" : "no"},
       {"sandbox", options_.sandbox},
       {"tls", configure_.tls_certificate.empty() ? "no"
               : configure_.tls_client_ca.empty() ? "yes"
                                                  : "mutual"}});
  if (!IsLoopbackAddress(options_.listen) && configure_.tls_certificate.empty()) {
    Log(LogLevel::kWarning, "data travel unencrypted: give --tls-cert and --tls-key");
  }
}

absl::Status Daemon::AnnounceToOthers() {
  if (options_.announce_program.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const link::ParsedAddress here, link::ParseAddress(acceptor_->Address()));
  const auto port = static_cast<uint16_t>(std::atoi(here.port.c_str()));
  WHARF_ASSIGN_OR_RETURN(
      announcer_, link::Announcer::Start(options_.announce_program, link::ServiceName(), link::kServiceType, port));
  return absl::OkStatus();
}

absl::Status Daemon::Run() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // it knows the token: no process of the same user reads its memory
  WHARF_RETURN_IF_ERROR(Prepare());
  if (!options_.status_file.empty()) WHARF_RETURN_IF_ERROR(WriteStatusFile(options_.status_file, Status()));
  workers_->KeepIdle();
  WHARF_RETURN_IF_ERROR(AnnounceToOthers());
  Announce();
  while (!drain_deadline_ || !workers_->Empty()) {
    loop_->Turn(TimeoutMs());
    OnTime(Clock::Real().Now());
  }
  Log(LogLevel::kInfo, "stopped");
  LogStatus(Status());
  PublishStatus();
  return absl::OkStatus();
}

// By the clock, not when nothing else happens: a worker may see to it that something does.
void Daemon::OnTime(TimePoint now) {
  if (drain_deadline_ && now >= *drain_deadline_) KillAll();
  if (workers_->AnyBusy() && now >= next_watch_) {
    workers_->EndGreedy();
    next_watch_ = now + kWatchPeriod;
  }
  if (sessions_.Open() > 0 && now >= next_status_) {
    PublishStatus();
    next_status_ = now + kStatusPeriod;
  }
}

int Daemon::TimeoutMs() const {
  std::optional<TimePoint> next = drain_deadline_;
  const auto consider = [&next](TimePoint time) { next = next ? std::min(*next, time) : time; };
  if (workers_->AnyBusy()) consider(next_watch_);
  if (sessions_.Open() > 0 && !options_.status_file.empty()) consider(next_status_);
  if (!next) return -1;
  const int64_t left = (*next - Clock::Real().Now()).count() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

void Daemon::OnSignal(int signal) {
  switch (signal) {
    case SIGCHLD:
      workers_->Reap([this](const WorkerProcess& worker, int status) { OnWorkerEnd(worker, status); });
      files_->Reap();
      if (announcer_ != nullptr && announcer_->HasEnded()) announcer_.reset();
      workers_->KeepIdle();
      return PublishStatus();
    case SIGUSR1:
      return LogStatus(Status());
    default:
      return drain_deadline_ ? KillAll() : StartDraining();
  }
}

// One in each turn of the loop, so that what workers say does not wait for processes to start.
void Daemon::OnArrivals() {
  if (std::optional<Arrival> next = arrivals_.Take()) OnConnection(next->connection, std::move(next->handshake));
  if (!arrivals_.Empty()) loop_->Post([this] { OnArrivals(); });
}

void Daemon::OnConnection(int connection, Handshake handshake) {
  // Many may have come since: a process is started only for those that still have a place.
  if (drain_deadline_ || handshake.Evicted()) {
    close(connection);
    return;
  }
  ++counters_.connections;
  const Assign order{sessions_.NewNumber(), shares_->Take(), {}, {}};
  const absl::StatusOr<pid_t> worker = workers_->Assign(WorkerKind::kPrograms, order, connection);
  close(connection);
  if (worker.ok()) {
    handshake.OnEviction([this, session = order.session] { loop_->Post([this, session] { TurnAway(session); }); });
    sessions_.Begin(*worker, order.session, order.share_slot, std::move(handshake));
  } else {
    shares_->Return(order.share_slot);
    Log(LogLevel::kError, "no worker for a connection", {{"why", Message(worker.status())}});
  }
  workers_->TryAgain();
  workers_->KeepIdle();
  PublishStatus();
}

// A handshake's place is another's; it may have come to its end in the meantime.
void Daemon::TurnAway(uint64_t number) {
  const Session* const session = sessions_.FindHandshake(number);
  if (session == nullptr) return;
  const pid_t worker = session->worker;
  Log(LogLevel::kWarning, "too many handshakes at a time: the oldest is ended", {{"session", number}});
  sessions_.TurnAway(worker);
  workers_->Kill(worker);
}

void Daemon::OnMessage(WorkerProcess& worker, const ControlMessage& message) {
  if (const auto wish = DecodeControl<AskAdmission>(message, ControlKind::kAskAdmission); wish.ok()) {
    OnAskAdmission(worker, *wish);
  } else if (message.kind == ControlKind::kAskLoad) {
    OnAskLoad(worker);
  } else if (message.kind == ControlKind::kServeModels) {
    OnServeModels(worker, message);
  } else if (message.kind == ControlKind::kResumeSession) {
    OnResumeSession(worker, message);
  } else if (const auto waiting = DecodeControl<Waiting>(message, ControlKind::kWaiting); waiting.ok()) {
    sessions_.SetWaiting(worker.Pid(), waiting->waiting);
    PublishStatus();
  } else if (const auto report = DecodeControl<SessionReport>(message, ControlKind::kSessionReport); report.ok()) {
    counters_.Add(*report);
  } else if (const auto refusal = DecodeControl<ClientRefused>(message, ControlKind::kClientRefused); refusal.ok()) {
    OnClientRefused(worker, *refusal);
  }
}

void Daemon::OnClientRefused(const WorkerProcess& worker, const ClientRefused& refusal) {
  const bool said_hello = refusal.at != RefusedAt::kTls;
  if (said_hello) ++counters_.refused;
  const Session* const session = sessions_.Find(worker.Pid());
  Log(LogLevel::kWarning, said_hello ? "client refused" : "TLS failed",
      {{"session", session == nullptr ? 0 : session->number},
       {"peer", CleanText(refusal.peer, kMostOfAClientsText)},
       {"why", CleanText(refusal.why, kMostOfAClientsText)}});
}

void Daemon::OnAskAdmission(WorkerProcess& worker, const AskAdmission& wish) {
  if (!sessions_.InHandshake(worker.Pid())) return;
  Admission admission;
  link::UniqueFd compiler;
  if (drain_deadline_) {
    admission.verdict = Verdict::kDraining;
  } else if (MakeRoom()) {
    admission.verdict = Verdict::kAdmitted;
    sessions_.Admit(worker.Pid());
    absl::StatusOr<link::UniqueFd> offered = AdmitProgram(worker, wish.identity);
    if (offered.ok()) compiler = *std::move(offered);
  }
  PublishStatus();  // first, so that whoever was let in is in it
  SendControl(worker.Control(), ControlKind::kAdmission, admission, compiler.get()).IgnoreError();
}

// A session that waits for its client would make room.
void Daemon::OnAskLoad(WorkerProcess& worker) {
  if (!sessions_.InHandshake(worker.Pid())) return;
  const bool has_room = !drain_deadline_ && (sessions_.HasRoom() || sessions_.LongestWaiting() != nullptr);
  SendControl(worker.Control(), ControlKind::kLoad, ServerLoad{sessions_.Open(), has_room}).IgnoreError();
}

// Compiled kernels are code: those who are the same share theirs, and nobody else's.
std::string Daemon::Whose(const std::string& identity) const {
  const auto& key = configure_.token_key.bytes;
  const std::string who = std::string(key.begin(), key.end()) + configure_.tls_client_ca + '\0' + identity;
  return wire::HexOf(wire::HashOf(std::as_bytes(std::span(who)))).substr(0, 32);
}

// A worker says who its client is before it runs anything of this client's.
absl::StatusOr<link::UniqueFd> Daemon::AdmitProgram(WorkerProcess& worker, const std::string& identity) {
  const std::string whose = Whose(identity);
  files_->Keep(worker, {KeptFor::kKernels, whose});
  return compilers_->Offer(worker.Pid(), sessions_.Find(worker.Pid())->number, whose);
}

void Daemon::OnServeModels(WorkerProcess& worker, const ControlMessage& message) {
  absl::StatusOr<ServeModels> wish = DecodeControl<ServeModels>(message, ControlKind::kServeModels);
  if (!wish.ok() || message.fd < 0 || !sessions_.InHandshake(worker.Pid())) return;
  Admission admission;
  if (drain_deadline_) {
    admission.verdict = Verdict::kDraining;
  } else if (options_.model_program.empty()) {
    admission.verdict = Verdict::kNoModels;
  } else if (ResumeModels(worker.Pid(), *wish, message.fd)) {
    admission.verdict = Verdict::kAdmitted;
  } else if (MakeRoom()) {
    const absl::Status passed = PassToModelWorker(worker.Pid(), std::move(wish->beginning), message.fd);
    admission.verdict = passed.ok() ? Verdict::kAdmitted : Verdict::kNoModels;
    if (!passed.ok()) Log(LogLevel::kError, "no worker for models", {{"why", Message(passed)}});
  }
  workers_->KeepIdle();
  PublishStatus();
  SendControl(worker.Control(), ControlKind::kAdmission, admission).IgnoreError();
}

// To the process that has the client's model loaded; it may not have noticed yet that it lost the connection before.
bool Daemon::ResumeModels(pid_t worker, const ServeModels& wish, int connection) {
  const Session* const session = sessions_.FindModelsToResume(wish.session, wish.secret);
  const WorkerProcess* const owner = session == nullptr ? nullptr : workers_->Find(session->worker);
  if (owner == nullptr) return false;
  const Assign order{wish.session, session->share_slot, wish.beginning, wish.secret};
  if (!SendControl(owner->Control(), ControlKind::kAssign, order, connection).ok()) return false;
  sessions_.SetWaiting(owner->Pid(), false);
  sessions_.PassOn(worker);
  return true;
}

// The session moves, with its number and its account; the worker stays to decrypt, if there is anything encrypted.
absl::Status Daemon::PassToModelWorker(pid_t worker, std::vector<std::byte> beginning, int connection) {
  const Session session = *sessions_.Find(worker);
  WHARF_ASSIGN_OR_RETURN(const link::ResumeKey key, link::ResumeKey::Make(session.number));
  const Assign order{session.number, session.share_slot, std::move(beginning), key.secret};
  WHARF_ASSIGN_OR_RETURN(const pid_t model_worker, workers_->Assign(WorkerKind::kModels, order, connection));
  files_->Keep(*workers_->Find(model_worker), {KeptFor::kModels, ""});
  sessions_.AdmitToModels(worker, model_worker, key);
  return absl::OkStatus();
}

void Daemon::OnResumeSession(WorkerProcess& worker, const ControlMessage& message) {
  const absl::StatusOr<ResumeSession> wish = DecodeControl<ResumeSession>(message, ControlKind::kResumeSession);
  if (!wish.ok() || message.fd < 0 || !sessions_.InHandshake(worker.Pid())) return;
  const Session* const session = sessions_.FindToResume(wish->session, worker.Pid());
  const WorkerProcess* const owner = session == nullptr ? nullptr : workers_->Find(session->worker);
  ResumeAnswer answer;
  answer.passed_on =
      owner != nullptr && SendControl(owner->Control(), ControlKind::kResumeSession, *wish, message.fd).ok();
  if (answer.passed_on) {
    sessions_.PassOn(worker.Pid());
    PublishStatus();
  } else {
    Log(LogLevel::kInfo, "no such session to resume", {{"session", wish->session}});
  }
  SendControl(worker.Control(), ControlKind::kResumeAnswer, answer).IgnoreError();
}

// Who gets what another has not taken gets its files, too: without, it would wait for the keeper for ever.
void Daemon::OnMove(pid_t from, pid_t to) {
  sessions_.Move(from, to);
  compilers_->OnMove(from, to);
  const Session* const session = sessions_.Find(to);
  if (session != nullptr && session->runs_models) files_->Keep(*workers_->Find(to), {KeptFor::kModels, ""});
}

// For one more session, at the cost of one that waits if need be.
bool Daemon::MakeRoom() {
  if (sessions_.HasRoom()) return true;
  const Session* const longest = sessions_.LongestWaiting();
  if (longest == nullptr) return false;
  Log(LogLevel::kInfo, "session evicted", {{"session", longest->number}});
  WorkerProcess* const worker = workers_->Find(longest->worker);
  const bool told = worker != nullptr && SendControlBytes(worker->Control(), ControlKind::kEvict, {}).ok();
  if (worker != nullptr && !told) workers_->Kill(worker->Pid());
  sessions_.Evict(longest->worker);
  return true;
}

void Daemon::OnWorkerEnd(const WorkerProcess& worker, int status) {
  const std::optional<Session> session = sessions_.End(worker.Pid());
  if (session) shares_->Return(session->share_slot);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool ended_with_its_session = compilers_->OnWorkerEnd(worker.Pid());
  const bool ours =
      killed && (drain_deadline_ || ended_with_its_session || (session && session->state == SessionState::kTurnedAway));
  if (ours || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  ++counters_.crashes;
  Log(LogLevel::kError, "worker crashed",
      {{"session", session ? session->number : 0},
       {"pid", worker.Pid()},
       {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
       {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 0}});
}

void Daemon::StartDraining() {
  drain_deadline_ = Clock::Real().Now() + options_.drain_timeout;
  announcer_.reset();
  acceptor_->Stop();
  Log(LogLevel::kInfo, "draining", {{"sessions", sessions_.Open()}, {"seconds", Seconds(options_.drain_timeout)}});
  workers_->StopIdle();
  // Half of the time to finish by themselves, the other half to be told and to clean up.
  Drain drain;
  drain.grace_ns = options_.drain_timeout.count() / 2;
  workers_->ForEachBusy([&](WorkerProcess& worker) {
    if (worker.Control() >= 0) SendControl(worker.Control(), ControlKind::kDrain, drain).IgnoreError();
  });
  PublishStatus();
}

void Daemon::KillAll() {
  workers_->KillAll();
  // Their ends come as SIGCHLD.
  if (drain_deadline_) drain_deadline_ = Clock::Real().Now() + std::chrono::seconds(1);
}

ServerStatus Daemon::Status() const {
  ServerStatus status;
  status.pid = getpid();
  status.address = acceptor_->Address();
  status.driver = configure_.device;
  status.device = device_name_;
  status.draining = drain_deadline_.has_value();
  sessions_.ForEachOpen([&](const Session& session) {
    const ShareTotals totals = shares_->Totals(session.share_slot);
    status.sessions.push_back({.session = session.number,
                               .pid = session.worker,
                               .waiting = session.waiting_since.has_value(),
                               .runs_models = session.runs_models,
                               .device_nanoseconds = static_cast<uint64_t>(totals.used_nanoseconds),
                               .waited_nanoseconds = static_cast<uint64_t>(totals.waited_nanoseconds)});
  });
  status.max_sessions = options_.max_sessions;
  status.counters = counters_;
  status.counters.sessions_opened = sessions_.Counts().opened;
  status.counters.sessions_closed = sessions_.Counts().closed;
  status.counters.resumed = sessions_.Counts().resumed;
  return status;
}

void Daemon::PublishStatus() const {
  if (options_.status_file.empty()) return;
  const absl::Status written = WriteStatusFile(options_.status_file, Status());
  if (!written.ok()) Log(LogLevel::kWarning, "status", {{"why", Message(written)}});
}

}  // namespace

absl::Status RunDaemon(const ServerOptions& options) {
  WHARF_ASSIGN_OR_RETURN(auto inherited, link::InheritListener());
  ServerOptions asked = options;
  if (inherited != nullptr) asked.listen = inherited->Address();  // whoever can reach that one is asked for a token
  WHARF_RETURN_IF_ERROR(Validate(asked));
  return Daemon(asked, std::move(inherited)).Run();
}

}  // namespace wharf::server
