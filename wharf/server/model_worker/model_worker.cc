#include "wharf/server/model_worker/model_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "wharf/base/log.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/process/worker_setup.h"
#include "wharf/split/execution/engine_around.h"
#include "wharf/split/runtime/own_profile.h"
#include "wharf/split/runtime/server.h"

namespace wharf::server {
namespace {

constexpr int kIdleCheckMs = 20;                        // while draining
constexpr absl::Duration kTeardown = absl::Seconds(3);  // an operator that does not end is ended with the process

// Of the threads that this process will start, of which LibTorch has some for each thread that computes.
uint64_t StackBytes() {
  constexpr uint64_t kStack = 8 << 20, kOwnThreads = 12, kComputingThreads = 2;
  return kStack * (kOwnThreads + kComputingThreads * static_cast<uint64_t>(std::max(1, exec::TorchThreads())));
}

// The session's turns on a processor that other sessions want, too.
class Turns {
 public:
  // `share` may be null: then it is always this session's turn.
  explicit Turns(std::unique_ptr<FairShare> share) : share_(std::move(share)) {}

  // One piece of work at a time: an account has one thread.
  split::RunResult Run(const std::function<split::RunResult()>& work) {
    if (share_ == nullptr) return work();
    const std::lock_guard lock(mutex_);
    const TimePoint wanted = Clock::Real().Now();
    share_->Begin();
    const TimePoint start = Clock::Real().Now();
    waited_ = waited_.load() + (start - wanted);
    split::RunResult made = work();
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int held = std::min(cores, std::max(1, exec::TorchThreads()));
    share_->End((Clock::Real().Now() - start) * held / cores);
    share_->Idle();  // until the next rows have come
    return made;
  }
  Nanoseconds Waited() const { return waited_; }

 private:
  const std::unique_ptr<FairShare> share_;
  std::mutex mutex_;
  std::atomic<Nanoseconds> waited_{Nanoseconds(0)};
};

// Stands still while the session waits for its turn: what others do is none of this machine's speed.
class OwnTime final : public Clock {
 public:
  explicit OwnTime(const Turns& turns) : turns_(turns) {}
  TimePoint Now() const override { return Clock::Real().Now() - turns_.Waited(); }
  void SleepUntil(TimePoint) override {}  // nobody waits by it

 private:
  const Turns& turns_;
};

absl::Status ShuttingDown() { return Unavailable("the server is shutting down"); }

class ModelWorker {
 public:
  ModelWorker(int control, WorkerSetup setup) : control_(control), setup_(std::move(setup)) {}

  // What can be done before there is a client. `device`: as exec::FindTorchDevice returns it, or what it failed with.
  // Fails with that, and as exec::MakeTorchEngineOn and WarmUpTorch do.
  absl::Status Prepare(const absl::StatusOr<std::string>& device);
  int AnswerProbe(const absl::Status& prepared) const;
  int Serve(Assign order, int connection);

 private:
  const Configure& Settings() const { return setup_.configure; }
  split::ServerConfig ConfigFor();
  // A connection of the client's: its first, or the next.
  void Begin(std::vector<std::byte> beginning, int connection);
  void Watch();
  int PollTimeoutMs() const;
  void OnClosed();
  void OnControl();
  void OnTime(TimePoint now);
  void End();
  void Finish();

  const int control_;
  const WorkerSetup setup_;
  std::string device_;  // "cpu" or "cuda:N"
  uint64_t id_ = 0;
  split::ResumeTicket ticket_;
  std::string peer_;
  SessionReport report_;  // of the connections that are over
  uint32_t share_slot_ = kNoShareSlot;
  int closed_event_ = -1;
  std::unique_ptr<Turns> turns_;
  std::unique_ptr<exec::Engine> engine_;
  std::unique_ptr<split::ModelStore> models_;
  std::unique_ptr<split::SplitServerSession> session_;  // null while the client is away
  std::optional<TimePoint> drain_until_, lost_until_;
  bool over_ = false;
};

absl::Status ModelWorker::Prepare(const absl::StatusOr<std::string>& device) {
  WHARF_RETURN_IF_ERROR(device.status());
  device_ = *device;
  WHARF_ASSIGN_OR_RETURN(auto torch, exec::MakeTorchEngineOn(device_, {Settings().threads, Settings().memory_quota}));
  WHARF_RETURN_IF_ERROR(exec::WarmUpTorch(device_));
  split::ThisMachine("", 0);  // reads the processor's name
  engine_ = split::MakeEngineAround(std::move(torch),
                                    [this](const std::function<split::RunResult()>& run) { return turns_->Run(run); });
  const std::string& cache = Settings().cache_directory;
  models_ = std::make_unique<split::ModelStore>(split::OnnxLoader(*engine_), cache.empty() ? "" : cache + "/models",
                                                Settings().model_cache_bytes);
  return absl::OkStatus();
}

int ModelWorker::AnswerProbe(const absl::Status& prepared) const {
  ProbeResult result;
  if (prepared.ok()) {
    result.driver = device_;
    result.name = engine_->Name();
  } else {
    result.problem = std::string(Message(prepared));
  }
  return SendControl(control_, ControlKind::kProbeResult, result).ok() ? 0 : 1;
}

split::ServerConfig ModelWorker::ConfigFor() {
  split::ServerConfig config;
  config.models = models_.get();
  if (Settings().resume_timeout_ns > 0) config.ticket = ticket_;
  config.max_model_bytes = std::min(config.max_model_bytes, Settings().memory_quota);
  config.machine = [this](const split::Model& model, const wire::Sha256& hash,
                          const split::GoOn& go_on) -> absl::StatusOr<std::string> {
    WHARF_ASSIGN_OR_RETURN(const split::MachineProfile profile,
                           split::OwnProfile(model, hash, Settings().cache_directory, OwnTime(*turns_), go_on));
    const std::string caution = split::CautionOf(profile, "this server");
    if (!caution.empty()) Log(LogLevel::kWarning, caution, {{"session", id_}});
    return split::ToJson(profile);
  };
  config.on_closed = [this] {
    const uint64_t one = 1;
    if (write(closed_event_, &one, sizeof(one)) < 0) _exit(1);
  };
  return config;
}

int ModelWorker::Serve(Assign order, int connection) {
  id_ = order.session;
  ticket_ = {order.session, order.secret};
  std::unique_ptr<FairShare> share;
  const bool by_cpu = device_ == "cpu";  // a GPU's driver gives the processes that use it time slices of its own
  if (by_cpu && setup_.shares != nullptr && order.share_slot < kShareSlots) {
    share_slot_ = order.share_slot;
    share = std::make_unique<FairShare>(setup_.shares, share_slot_);
  }
  turns_ = std::make_unique<Turns>(std::move(share));
  closed_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (closed_event_ < 0) return 1;
  Begin(std::move(order.beginning), connection);
  Log(LogLevel::kInfo, "split session opened", {{"session", id_}, {"peer", peer_}, {"engine", engine_->Name()}});
  Watch();
  Finish();
  return 0;
}

void ModelWorker::Begin(std::vector<std::byte> beginning, int connection) {
  ArmKernelKeepAlive(connection, Nanoseconds(Settings().idle_timeout_ns));
  auto stream = link::WithPrefix(std::move(beginning), link::FromSocket(connection));
  peer_ = stream->Peer();
  session_ = std::make_unique<split::SplitServerSession>(std::move(stream), ConfigFor());
}

void ModelWorker::Watch() {
  while (!over_) {
    pollfd events[2] = {{closed_event_, POLLIN, 0}, {control_, POLLIN, 0}};
    if (poll(events, 2, PollTimeoutMs()) < 0 && errno != EINTR) return;
    if (events[0].revents != 0) OnClosed();
    if (events[1].revents != 0) OnControl();
    OnTime(Clock::Real().Now());
  }
}

int ModelWorker::PollTimeoutMs() const {
  std::optional<TimePoint> next = drain_until_;
  if (lost_until_ && (!next || *lost_until_ < *next)) next = lost_until_;
  if (!next) return -1;
  return static_cast<int>(std::clamp<int64_t>((*next - Clock::Real().Now()).count() / 1'000'000 + 1, 0, 3'600'000));
}

// A client whose connection broke finds its model loaded when it is back in time.
void ModelWorker::OnClosed() {
  const Nanoseconds patience(Settings().resume_timeout_ns);
  const bool may_return = session_->ClientVanished() && !drain_until_ && patience > Nanoseconds::zero();
  End();
  over_ = !may_return;
  if (over_) return;
  lost_until_ = Clock::Real().Now() + patience;
  SendControl(control_, ControlKind::kWaiting, Waiting{true}).IgnoreError();
}

void ModelWorker::OnControl() {
  absl::StatusOr<ControlMessage> message = ReceiveControl(control_);
  if (!message.ok() || message->kind == ControlKind::kEvict) {
    over_ = true;  // or the daemon is gone, and nobody will clean up after us
  } else if (const auto drain = DecodeControl<Drain>(*message, ControlKind::kDrain); drain.ok()) {
    over_ = session_ == nullptr;
    drain_until_ = Clock::Real().Now() + Nanoseconds(drain->grace_ns);
    if (!over_) session_->EndBetweenInferences(ShuttingDown());
  } else if (auto back = DecodeControl<Assign>(*message, ControlKind::kAssign); back.ok() && message->fd >= 0) {
    End();
    lost_until_.reset();
    Begin(std::move(back->beginning), message->fd);
    SendControl(control_, ControlKind::kWaiting, Waiting{false}).IgnoreError();
    Log(LogLevel::kDebug, "split session resumed", {{"session", id_}, {"peer", peer_}});
  }
}

void ModelWorker::OnTime(TimePoint now) {
  if (lost_until_ && now >= *lost_until_) over_ = true;
  if (!drain_until_ || now < *drain_until_ || session_ == nullptr) return;
  session_->End(ShuttingDown()).IgnoreError();
  drain_until_.reset();
}

// What the connection was good for is added up; the model stays.
void ModelWorker::End() {
  if (session_ == nullptr) return;
  const split::ServerReport done = session_->Report();
  report_.inferences += done.inferences;
  report_.bytes_received += done.bytes_received;
  report_.bytes_sent += done.bytes_sent;
  report_.busy_nanoseconds += static_cast<uint64_t>(done.computing.count());
  absl::Notification torn_down;
  std::thread watchdog([&torn_down] {
    if (!torn_down.WaitForNotificationWithTimeout(kTeardown)) _exit(0);
  });
  session_.reset();
  torn_down.Notify();
  watchdog.join();
  uint64_t unused = 0;  // it has said that it is closed
  if (read(closed_event_, &unused, sizeof(unused)) < 0 && errno != EAGAIN) _exit(1);
}

void ModelWorker::Finish() {
  End();
  if (share_slot_ != kNoShareSlot) {
    const ShareTotals totals = TotalsOf(setup_.shares->Page(), share_slot_);
    report_.waited_nanoseconds = static_cast<uint64_t>(totals.waited_nanoseconds);
  }
  SendControl(control_, ControlKind::kSessionReport, report_).IgnoreError();
  Log(LogLevel::kInfo, "split session closed",
      {{"session", id_},
       {"inferences", report_.inferences},
       {"bytes_in", report_.bytes_received},
       {"bytes_out", report_.bytes_sent},
       {"busy_ms", report_.busy_nanoseconds / 1'000'000},
       {"turn_waited_ms", report_.waited_nanoseconds / 1'000'000}});
}

}  // namespace

int RunModelWorker(int control_socket) {
  SetDefaultLogLevel(LogLevel::kInfo);
  absl::StatusOr<WorkerSetup> setup = ReceiveSetup(control_socket);
  if (!setup.ok()) {
    Log(LogLevel::kError, "a worker is started by `wharf serve` only", {{"why", Message(setup.status())}});
    return 2;
  }
  const absl::StatusOr<std::string> device = exec::FindTorchDevice(setup->configure.model_device);
  const bool for_gpu = device.ok() && *device != "cpu";
  const Configure settings = setup->configure;
  ModelWorker worker(control_socket, *std::move(setup));
  const absl::Status prepared = worker.Prepare(device);
  // LibTorch has found out about the machine, and started its threads: no file is opened from here on.
  const uint64_t memory = settings.memory_quota + StackBytes();  // an allocation beyond that fails
  const SandboxPolicy policy = for_gpu ? GpuWorkerPolicy() : ModelWorkerPolicy();
  if (const absl::Status confined = Confine(settings, policy, for_gpu, memory); !confined.ok()) {
    Log(LogLevel::kError, "a worker that cannot be confined serves nobody", {{"why", Message(confined)}});
    return 3;
  }
  const absl::StatusOr<ControlMessage> order = ReceiveControl(control_socket);
  if (!order.ok()) return 0;  // a spare that is no longer wanted
  if (order->kind == ControlKind::kProbe) return worker.AnswerProbe(prepared);
  if (!prepared.ok()) {
    Log(LogLevel::kError, "models cannot run", {{"why", Message(prepared)}});
    return 1;
  }
  absl::StatusOr<Assign> assign = DecodeControl<Assign>(*order, ControlKind::kAssign);
  if (!assign.ok() || order->fd < 0) return 0;
  SendControlBytes(control_socket, ControlKind::kTaken, {}).IgnoreError();
  return worker.Serve(*std::move(assign), order->fd);
}

}  // namespace wharf::server
