#include "wharf/server/worker/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "wharf/base/log.h"
#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/certificate.h"
#include "wharf/link/resume/resumable_stream.h"
#include "wharf/link/socket.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/process/worker_setup.h"
#include "wharf/server/worker/compile_process.h"
#include "wharf/server/worker/connection_relay.h"
#include "wharf/server/worker/device_factory.h"
#include "wharf/server/worker/last_reserve.h"
#include "wharf/server/worker/model_admission.h"
#include "wharf/server/worker/program_session.h"

namespace wharf::server {
namespace {

// How long the rest of what a vanished client sent may take, and how long a device may take to go away: a kernel that
// never ends is ended with the process.
constexpr Nanoseconds kLastFrames = std::chrono::seconds(2);
constexpr Nanoseconds kHeartbeat = std::chrono::milliseconds(500);
constexpr absl::Duration kTeardown = absl::Seconds(3);

// Null if connections are not encrypted.
using Tls = absl::StatusOr<std::unique_ptr<link::TlsServer>>;

Tls ReadTlsFiles(const Configure& configure) {
  if (configure.tls_certificate.empty()) return nullptr;
  return link::TlsServer::Create({.certificate_file = configure.tls_certificate,
                                  .key_file = configure.tls_key,
                                  .client_ca_file = configure.tls_client_ca});
}

using Packs = std::shared_ptr<const device::pack::PackSet>;

// Null if there are none. Without them programs that need none are served all the same.
Packs OpenPacks(const Configure& configure) {
  if (configure.kernel_packs.empty()) return nullptr;
  absl::StatusOr<Packs> packs = device::pack::PackSet::Open(configure.kernel_packs);
  if (packs.ok()) return *std::move(packs);
  Log(LogLevel::kError, "the kernel packs cannot be used", {{"why", Message(packs.status())}});
  return nullptr;
}

// Of a session. "auto" and "cuda" may find a driver; a partitioned device opens a session with another server.
SandboxPolicy PolicyFor(const std::string& device) {
  if (device == kPartitionDriver) return NetworkedPolicy();
  return device == "soft" ? SoftWorkerPolicy() : GpuWorkerPolicy();
}

class Worker {
 public:
  // `shares`: null if the device is not shared. `packs`: null if there are none. `out_of_memory`:
  // ReserveMemoryForTheEnd's.
  Worker(int control, Configure configure, Tls tls, std::shared_ptr<SharedPage> shares, Packs packs, int out_of_memory)
      : control_(control),
        out_of_memory_(out_of_memory),
        configure_(std::move(configure)),
        tls_(std::move(tls)),
        shares_(std::move(shares)),
        packs_(std::move(packs)) {}

  int Serve(const Assign& order, int connection);
  int Probe();

 private:
  absl::StatusOr<std::unique_ptr<link::ByteStream>> Secure(int connection) const;
  struct Beginning {
    link::BegunConnection connection;
    bool of_split_session = false;
  };
  absl::StatusOr<Beginning> Begin(std::unique_ptr<link::ByteStream> connection) const;
  absl::StatusOr<std::unique_ptr<link::ByteStream>> AcceptOpening(link::BegunConnection begun);
  void ServeOver(std::unique_ptr<link::ByteStream> stream);
  device::DeviceOptions DeviceOptionsFor(uint64_t quota) const;
  Verdict AskAdmission();
  ServerLoad AskLoad();
  void ReportRefusal(RefusedAt at, const std::string& peer, const std::string& why) const;
  absl::StatusOr<std::unique_ptr<device::Device>> MakeSessionDevice(uint64_t quota);
  void Watch();
  int PollTimeoutMs(TimePoint now) const;
  void OnControl();
  void OnResume(const ResumeSession& wish, int connection);
  void OnHangUp(TimePoint now);
  void OnNoMemory(TimePoint now);
  void ReportWaiting();
  void OnTime(TimePoint now);
  void CheckSilence(TimePoint now);
  void CheckCompiling(TimePoint now);
  void SayBusy();
  void SayFarewell(offload::RefusalReason refusal, std::string reason, TimePoint now);
  void Finish();

  const int control_, out_of_memory_;
  Configure configure_;
  const Tls tls_;
  const std::shared_ptr<SharedPage> shares_;
  const Packs packs_;
  uint32_t share_slot_ = kNoShareSlot;
  std::unique_ptr<FairShare> share_;  // outlives the session's device
  int watched_ = -1;                  // a copy of the connection's descriptor, to see it hang up
  int closed_event_ = -1;
  link::ResumableStream* resumable_ = nullptr;  // under the channel, if the client can resume
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<ProgramSession> session_;
  uint64_t id_ = 0;
  std::string identity_;  // of the client, by its certificate

  TimePoint hello_deadline_;
  std::optional<TimePoint> give_up_;      // the watch ends then, whatever the session does
  std::optional<TimePoint> lost_until_;   // the same, unless the client comes back
  std::optional<TimePoint> drain_until_;  // Goodbye is said then
  uint64_t heard_bytes_ = 0;
  TimePoint heard_at_, pinged_at_;
  int unanswered_pings_ = 0;
  bool over_ = false, was_busy_ = false, was_waiting_ = false;
  bool false_resume_ = false;  // somebody has tried to take the session
  std::thread farewell_;       // may wait for a peer that does not read

  absl::Mutex mutex_;
  std::optional<Verdict> verdict_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerLoad> load_ ABSL_GUARDED_BY(mutex_);
  link::UniqueFd compiler_ ABSL_GUARDED_BY(mutex_);  // comes with it
};

device::DeviceOptions Worker::DeviceOptionsFor(uint64_t quota) const {
  device::DeviceOptions options;
  options.memory_quota = quota;
  options.threads = configure_.threads;
  options.compute_capability = configure_.compute_capability;
  const std::string& cache = configure_.cache_directory;
  options.cache_directory = cache.empty() ? "" : cache + "/kernels";
  options.kernel_timeout = Nanoseconds(configure_.kernel_timeout_ns);
  options.share = share_.get();
  return options;
}

int Worker::Probe() {
  ProbeResult result;
  const auto device =
      MakeDevice(configure_.device, DeviceOptionsFor(configure_.memory_quota), link::UniqueFd(), nullptr);
  if (device.ok()) {
    result.driver = (*device)->Properties().driver;
    result.name = (*device)->Properties().name;
  } else {
    result.problem = std::string(Message(device.status()));
  }
  return SendControl(control_, ControlKind::kProbeResult, result).ok() ? 0 : 1;
}

absl::StatusOr<std::unique_ptr<link::ByteStream>> Worker::Secure(int connection) const {
  if (!tls_.ok()) {
    close(connection);
    return tls_.status();
  }
  if (*tls_ == nullptr) return link::FromSocket(connection);
  return (*tls_)->Accept(connection, Nanoseconds(configure_.hello_timeout_ns));
}

// Runs on the channel's reader thread; the watching thread takes the answer from the control socket.
Verdict Worker::AskAdmission() {
  if (!SendControl(control_, ControlKind::kAskAdmission, server::AskAdmission{identity_}).ok())
    return Verdict::kDraining;
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](std::optional<Verdict>* v) { return v->has_value(); }, &verdict_));
  const std::optional<uint64_t> descriptors = PolicyFor(configure_.device).descriptors;
  if (*verdict_ != Verdict::kAdmitted || !descriptors) return *verdict_;
  return LimitDescriptors(*descriptors).ok() ? Verdict::kAdmitted : Verdict::kDraining;
}

// The same.
ServerLoad Worker::AskLoad() {
  if (!SendControlBytes(control_, ControlKind::kAskLoad, {}).ok()) return {};
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](std::optional<ServerLoad>* load) { return load->has_value(); }, &load_));
  return *load_;
}

void Worker::ReportRefusal(RefusedAt at, const std::string& peer, const std::string& why) const {
  SendControl(control_, ControlKind::kClientRefused, ClientRefused{at, peer, why}).IgnoreError();
}

// Called after a verdict, so the socket is there.
absl::StatusOr<std::unique_ptr<device::Device>> Worker::MakeSessionDevice(uint64_t quota) {
  link::UniqueFd compiler;
  {
    absl::MutexLock lock(&mutex_);
    compiler = std::exchange(compiler_, link::UniqueFd());
  }
  if (compiler.get() < 0) return Unavailable("there is no process to compile kernels");
  return MakeDevice(configure_.device, DeviceOptionsFor(quota), std::move(compiler), packs_);
}

// How the connection begins; a client that says nothing at all is taken for one that will send frames.
absl::StatusOr<Worker::Beginning> Worker::Begin(std::unique_ptr<link::ByteStream> connection) const {
  const Nanoseconds timeout(configure_.hello_timeout_ns);
  pollfd events[2] = {{watched_, POLLIN, 0}, {control_, POLLIN, 0}};
  Beginning beginning;
  if (poll(events, 2, static_cast<int>(timeout.count() / 1'000'000)) <= 0 || events[0].revents == 0) {
    beginning.connection.stream = std::move(connection);
    return beginning;
  }
  WHARF_ASSIGN_OR_RETURN(beginning.connection, link::ReadBeginning(std::move(connection), timeout));
  if (beginning.connection.opening.has_value()) return beginning;
  WHARF_ASSIGN_OR_RETURN(FirstFrame first, ReadFirstFrame(std::move(beginning.connection.stream), timeout));
  beginning.connection.stream = std::move(first.stream);
  beginning.of_split_session = first.of_split_session;
  return beginning;
}

// The stream to serve a new client on.
absl::StatusOr<std::unique_ptr<link::ByteStream>> Worker::AcceptOpening(link::BegunConnection begun) {
  if (!begun.opening.has_value()) return std::move(begun.stream);
  if (!begun.known_version || configure_.resume_timeout_ns == 0) {
    WHARF_RETURN_IF_ERROR(link::WriteOpening(*begun.stream, {link::OpeningKind::kDeclined, {}, 0}));
    return std::move(begun.stream);
  }
  WHARF_ASSIGN_OR_RETURN(const link::ResumeKey key, link::ResumeKey::Make(id_));
  link::ResumeOptions options;
  options.limit = Nanoseconds(configure_.resume_timeout_ns);
  WHARF_ASSIGN_OR_RETURN(auto stream, link::ResumableStream::Accept(std::move(begun.stream), key, options));
  resumable_ = stream.get();
  return stream;
}

int Worker::Serve(const Assign& order, int connection) {
  id_ = order.session;
  if (shares_ != nullptr && order.share_slot < kShareSlots) {
    share_slot_ = order.share_slot;
    share_ = std::make_unique<FairShare>(shares_, share_slot_);
  }
  watched_ = fcntl(connection, F_DUPFD_CLOEXEC, 0);
  closed_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (watched_ < 0 || closed_event_ < 0) return 1;
  hello_deadline_ = Clock::Real().Now() + Nanoseconds(configure_.hello_timeout_ns);
  ArmKernelKeepAlive(watched_, Nanoseconds(configure_.idle_timeout_ns));
  auto secured = Secure(connection);
  if (!secured.ok()) {
    ReportRefusal(RefusedAt::kTls, link::FormatAddress(link::PeerAddress(watched_)),
                  std::string(Message(secured.status())));
    return 0;
  }
  identity_ = link::PeerIdentity(**secured);
  auto begun = Begin(*std::move(secured));
  const int plain = configure_.tls_certificate.empty() ? watched_ : -1;
  if (begun.ok() && begun->of_split_session) {
    return AdmitModelClient(control_, std::exchange(configure_, {}), std::move(begun->connection.stream), plain);
  }
  const auto* const opening = begun.ok() && begun->connection.opening ? &*begun->connection.opening : nullptr;
  if (opening != nullptr && opening->kind == link::OpeningKind::kResume) {
    return RelayToSession(control_, std::move(begun->connection.stream), plain, *opening);
  }
  auto stream = begun.ok() ? AcceptOpening(std::move(begun->connection)) : begun.status();
  if (!stream.ok()) {
    Log(LogLevel::kDebug, "connection closed before a session", {{"session", id_}, {"why", Message(stream.status())}});
    return 0;
  }
  ServeOver(*std::move(stream));
  return 0;
}

void Worker::ServeOver(std::unique_ptr<link::ByteStream> stream) {
  link::ChannelOptions options;
  options.limits = offload::ExecutorFrameLimits();
  channel_ = link::Channel::Create(std::move(stream), options);
  ProgramSessionConfig config;
  config.id = id_;
  config.check = TakeCheck(configure_);
  config.driver = configure_.device;
  config.memory_quota = configure_.memory_quota;
  config.unsafe_replay = configure_.unsafe_replay;
  config.has_kernel_packs = packs_ != nullptr;
  config.admit = [this] { return AskAdmission(); };
  config.load = [this] { return AskLoad(); };
  config.make_device = [this](uint64_t quota) { return MakeSessionDevice(quota); };
  config.on_refused = [this](const std::string& peer, const std::string& why) {
    ReportRefusal(RefusedAt::kHello, peer, why);
  };
  config.on_closed = [this] {
    const uint64_t one = 1;
    if (write(closed_event_, &one, sizeof(one)) < 0) _exit(1);
  };
  session_ = std::make_unique<ProgramSession>(std::move(config), channel_.get());
  heard_at_ = pinged_at_ = Clock::Real().Now();
  channel_->Start(session_.get());
  Watch();
  Finish();
}

void Worker::Watch() {
  while (!over_) {
    const bool hung_up = give_up_ || lost_until_;
    pollfd events[4] = {{closed_event_, POLLIN, 0},
                        {control_, POLLIN, 0},
                        {hung_up ? -1 : watched_, POLLRDHUP, 0},
                        {farewell_.joinable() ? -1 : out_of_memory_, POLLIN, 0}};
    if (poll(events, 4, PollTimeoutMs(Clock::Real().Now())) < 0 && errno != EINTR) return;
    if (events[0].revents != 0) return;
    if (events[1].revents != 0) OnControl();
    const TimePoint now = Clock::Real().Now();
    if ((events[2].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) OnHangUp(now);
    if (events[3].revents != 0) OnNoMemory(now);
    ReportWaiting();
    OnTime(now);
  }
}

int Worker::PollTimeoutMs(TimePoint now) const {
  TimePoint next = now + std::min(kHeartbeat, Nanoseconds(configure_.idle_timeout_ns / 4));
  if (session_->CurrentPhase() == ProgramSession::Phase::kAwaitingHello) next = std::min(next, hello_deadline_);
  if (give_up_) next = std::min(next, *give_up_);
  if (lost_until_) next = std::min(next, *lost_until_);
  if (drain_until_) next = std::min(next, *drain_until_);
  const int64_t milliseconds = (next - now).count() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 60'000));
}

void Worker::OnControl() {
  const absl::StatusOr<ControlMessage> message = ReceiveControl(control_);
  if (!message.ok()) {
    // The daemon is gone, and nobody will clean up after us.
    over_ = true;
    absl::MutexLock lock(&mutex_);
    if (!verdict_) verdict_ = Verdict::kDraining;
    if (!load_) load_ = ServerLoad{};
    return;
  }
  if (const auto admission = DecodeControl<Admission>(*message, ControlKind::kAdmission); admission.ok()) {
    absl::MutexLock lock(&mutex_);
    compiler_.Reset(message->fd);
    verdict_ = admission->verdict;
  } else if (const auto load = DecodeControl<ServerLoad>(*message, ControlKind::kLoad); load.ok()) {
    absl::MutexLock lock(&mutex_);
    load_ = *load;
  } else if (const auto drain = DecodeControl<Drain>(*message, ControlKind::kDrain); drain.ok()) {
    drain_until_ = Clock::Real().Now() + Nanoseconds(drain->grace_ns);
  } else if (message->kind == ControlKind::kEvict) {
    over_ = true;
  } else if (const auto wish = DecodeControl<ResumeSession>(*message, ControlKind::kResumeSession); wish.ok()) {
    OnResume(*wish, message->fd);
  }
}

void Worker::OnResume(const ResumeSession& wish, int connection) {
  if (connection < 0) return;
  const int watched = fcntl(connection, F_DUPFD_CLOEXEC, 0);
  const link::Opening opening{link::OpeningKind::kResume, {wish.session, wish.secret}, wish.received};
  auto stream = link::FromSocket(connection);
  if (resumable_ == nullptr || watched < 0 || !resumable_->Resume(std::move(stream), opening)) {
    // Strangers may try: a line for each session, not for each of them.
    if (!std::exchange(false_resume_, true)) {
      Log(LogLevel::kWarning, "a connection may not resume this session", {{"session", id_}});
    }
    if (watched >= 0) close(watched);
    return;
  }
  close(watched_);
  watched_ = watched;
  lost_until_.reset();
  ArmKernelKeepAlive(watched_, Nanoseconds(configure_.idle_timeout_ns));
}

// The session may be busy and not read; whether this was an end or a break is known when it does.
void Worker::OnHangUp(TimePoint now) {
  if (resumable_ == nullptr) {
    give_up_ = now + kLastFrames;
  } else {
    lost_until_ = now + Nanoseconds(configure_.resume_timeout_ns) + kLastFrames;
  }
}

void Worker::OnNoMemory(TimePoint now) {
  Log(LogLevel::kWarning, "a session has used up its worker's memory",
      {{"session", id_}, {"mib", ProgramMemory(configure_).value_or(0) >> 20}});
  SayFarewell(offload::RefusalReason::kMalformed,
              "the session has used up the memory that its worker may take for code, messages and queues "
              "(the server's --worker-memory)",
              now);
}

// A session that waits for its client gives way to one that has one.
void Worker::ReportWaiting() {
  const bool waiting = resumable_ != nullptr && (lost_until_ || resumable_->Resuming());
  if (waiting == was_waiting_) return;
  was_waiting_ = waiting;
  heard_at_ = Clock::Real().Now();
  SendControl(control_, ControlKind::kWaiting, Waiting{waiting}).IgnoreError();
}

void Worker::OnTime(TimePoint now) {
  if ((give_up_ && now >= *give_up_) || (lost_until_ && now >= *lost_until_)) {
    over_ = true;
    return;
  }
  const ProgramSession::Phase phase = session_->CurrentPhase();
  if (phase == ProgramSession::Phase::kAwaitingHello && now >= hello_deadline_ && !session_->Handling()) {
    SayFarewell(offload::RefusalReason::kMalformed, "the client did not say who it is in time", now);
  }
  if (drain_until_ && now >= *drain_until_) {
    drain_until_.reset();
    SayFarewell(offload::RefusalReason::kDraining, "the server is shutting down", now);
  }
  CheckCompiling(now);
  if (phase != ProgramSession::Phase::kRunning || was_waiting_) return;
  CheckSilence(now);
  SayBusy();
}

// While a frame takes long (a module to compile, a full queue) nothing is read and no ping is answered: without a sign
// of life the client would take us for lost.
void Worker::SayBusy() {
  const bool busy = session_->Handling();
  if (busy && was_busy_) session_->Ping();
  was_busy_ = busy;
}

// Code can be made that compilers take hours for.
void Worker::CheckCompiling(TimePoint now) {
  const Nanoseconds limit(configure_.compile_limit_ns);
  if (limit == Nanoseconds::zero() || give_up_ || session_->HandlingTime() < limit) return;
  Log(LogLevel::kWarning, "an operation takes too long", {{"session", id_}, {"seconds", Seconds(limit)}});
  SayFarewell(offload::RefusalReason::kMalformed,
              fmt::format("compiling the program's code takes more than {:g} s of processor time "
                          "(the server's --compile-limit)",
                          Seconds(limit)),
              now);
}

void Worker::CheckSilence(TimePoint now) {
  const Nanoseconds idle(configure_.idle_timeout_ns);
  const uint64_t bytes = channel_->Stats().bytes_received;
  if (bytes != heard_bytes_ || session_->Handling()) {
    heard_bytes_ = bytes;
    heard_at_ = now;
    unanswered_pings_ = 0;
    return;
  }
  // Nobody is let go without having been asked, however late this thread gets to run.
  if (now - heard_at_ >= idle && unanswered_pings_ >= 2) {
    Log(LogLevel::kWarning, "client is silent", {{"session", id_}, {"seconds", Seconds(now - heard_at_)}});
    SayFarewell(offload::RefusalReason::kMalformed, "nothing was heard from the client for too long", now);
    return;
  }
  if (now - heard_at_ >= idle / 4 && now - pinged_at_ >= idle / 4) {
    pinged_at_ = now;
    ++unanswered_pings_;
    session_->Ping();
  }
}

void Worker::SayFarewell(offload::RefusalReason refusal, std::string reason, TimePoint now) {
  give_up_ = now + kLastFrames;
  if (farewell_.joinable()) return;
  farewell_ = std::thread([this, refusal, reason = std::move(reason)] { session_->End(refusal, reason); });
}

void Worker::Finish() {
  const absl::Status why = session_->WhyClosed();
  SessionReport report = session_->Report();
  if (share_ != nullptr) {
    const ShareTotals totals = TotalsOf(shares_->Page(), share_slot_);
    report.waited_nanoseconds = static_cast<uint64_t>(totals.waited_nanoseconds);
  }
  SendControl(control_, ControlKind::kSessionReport, report).IgnoreError();
  if (session_->Admitted()) {
    Log(LogLevel::kInfo, "session closed",
        {{"session", id_},
         {"why", Message(why)},
         {"operations", report.operations},
         {"launches", report.launches},
         {"bytes_in", report.bytes_received},
         {"bytes_out", report.bytes_sent},
         {"peak_mib", report.peak_mapped_bytes >> 20},
         {"busy_ms", report.busy_nanoseconds / 1'000'000},
         {"turn_waited_ms", report.waited_nanoseconds / 1'000'000},
         {"fault", report.fault}});
  } else {
    Log(LogLevel::kDebug, "connection closed before a session", {{"session", id_}, {"why", Message(why)}});
  }
  absl::Notification torn_down;
  std::thread watchdog([&torn_down] {
    if (!torn_down.WaitForNotificationWithTimeout(kTeardown)) _exit(0);
  });
  session_->Stop();
  if (farewell_.joinable()) farewell_.join();
  channel_->Stop();
  session_.reset();
  torn_down.Notify();
  watchdog.join();
}

}  // namespace

int RunWorker(int control_socket) {
  SetDefaultLogLevel(LogLevel::kInfo);
  absl::StatusOr<WorkerSetup> setup = ReceiveSetup(control_socket);
  if (!setup.ok()) {
    Log(LogLevel::kError, "a worker is started by `wharf serve` only", {{"why", Message(setup.status())}});
    return 2;
  }
  Configure configure = std::exchange(setup->configure, {});
  if (configure.role == WorkerRole::kCompiles) return RunCompiler(control_socket, configure);
  prctl(PR_SET_NAME, "wharf-worker", 0, 0, 0);  // for who looks at processes
  // No file is opened from here on.
  Tls tls = ReadTlsFiles(configure);
  Packs packs = OpenPacks(configure);
  device::ReadMachineForSoftDevices();
  const int out_of_memory = ReserveMemoryForTheEnd();
  const std::optional<uint64_t> memory = ProgramMemory(configure);
  const bool keeps_files = configure.device != "soft";
  SandboxPolicy policy = PolicyFor(configure.device);
  if (policy.descriptors) policy.descriptors = kArrivingDescriptors;  // until there is a session
  if (const absl::Status confined = Confine(configure, policy, keeps_files, memory); !confined.ok()) {
    Log(LogLevel::kError, "a worker that cannot be confined serves nobody", {{"why", Message(confined)}});
    return 3;
  }
  const absl::StatusOr<ControlMessage> order = ReceiveControl(control_socket);
  if (!order.ok()) return 0;  // a spare that is no longer wanted
  Worker worker(control_socket, std::exchange(configure, {}), std::move(tls), setup->shares, std::move(packs),
                out_of_memory);
  if (order->kind == ControlKind::kProbe) return worker.Probe();
  const absl::StatusOr<Assign> assign = DecodeControl<Assign>(*order, ControlKind::kAssign);
  if (!assign.ok() || order->fd < 0) return 0;
  SendControlBytes(control_socket, ControlKind::kTaken, {}).IgnoreError();
  return worker.Serve(*assign, order->fd);
}

}  // namespace wharf::server
