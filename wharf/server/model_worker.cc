#include "wharf/server/model_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "wharf/base/log.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/server/control_codec.h"
#include "wharf/server/sandbox.h"
#include "wharf/server/worker_setup.h"
#include "wharf/split/runtime/engine_around.h"
#include "wharf/split/runtime/own_profile.h"
#include "wharf/split/runtime/server.h"

namespace wharf::server {
namespace {

constexpr int kIdleCheckMs = 20;                        // while draining
constexpr absl::Duration kTeardown = absl::Seconds(3);  // an operator that does not end is ended with the process

// Memory that this process may write: `quota`, what it has now, and the stacks of the threads that it will start, of
// which LibTorch has some for each thread that computes. An allocation beyond that fails.
absl::Status LimitMemory(uint64_t quota) {
  constexpr uint64_t kStack = 8 << 20, kOwnThreads = 12, kComputingThreads = 2;
  const uint64_t stacks =
      kStack * (kOwnThreads + kComputingThreads * static_cast<uint64_t>(std::max(1, exec::TorchThreads())));
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;  // pages
  if (!(file >> size >> resident >> shared >> text >> unused >> data))
    return Unavailable("cannot read /proc/self/statm");
  const rlim_t limit = data * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + stacks + quota;
  const rlimit writable{limit, limit};
  return setrlimit(RLIMIT_DATA, &writable) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "setrlimit(RLIMIT_DATA)");
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

class ModelWorker {
 public:
  ModelWorker(int control, WorkerSetup setup) : control_(control), setup_(std::move(setup)) {}

  // What can be done before there is a client.
  void Prepare();
  int Serve(Assign order, int connection);

 private:
  const Configure& Settings() const { return setup_.configure; }
  split::ServerConfig ConfigFor();
  void Watch();
  void Finish();

  const int control_;
  const WorkerSetup setup_;
  uint64_t id_ = 0;
  uint32_t share_slot_ = kNoShareSlot;
  int closed_event_ = -1;
  std::unique_ptr<Turns> turns_;
  std::unique_ptr<exec::Engine> engine_;
  std::unique_ptr<split::ModelStore> models_;
  std::unique_ptr<split::ServerSession> session_;
};

void ModelWorker::Prepare() {
  auto torch = exec::MakeTorchEngine({Settings().threads});
  exec::WarmUpTorch();
  engine_ = split::MakeEngineAround(std::move(torch),
                                    [this](const std::function<split::RunResult()>& run) { return turns_->Run(run); });
  const std::string& cache = Settings().cache_directory;
  models_ = std::make_unique<split::ModelStore>(split::OnnxLoader(*engine_), cache.empty() ? "" : cache + "/models",
                                                Settings().model_cache_bytes);
  if (const absl::Status limited = LimitMemory(Settings().memory_quota); !limited.ok()) {
    Log(LogLevel::kWarning, "the worker's memory is not limited", {{"why", Message(limited)}});
  }
}

split::ServerConfig ModelWorker::ConfigFor() {
  split::ServerConfig config;
  config.models = models_.get();
  config.max_model_bytes = std::min(config.max_model_bytes, Settings().memory_quota);
  config.machine = [this](const split::Model& model, const split::Sha256& hash) -> absl::StatusOr<std::string> {
    WHARF_ASSIGN_OR_RETURN(const split::MachineProfile profile,
                           split::OwnProfile(model, hash, Settings().cache_directory, OwnTime(*turns_)));
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
  std::unique_ptr<FairShare> share;
  if (setup_.shares != nullptr && order.share_slot < kShareSlots) {
    share_slot_ = order.share_slot;
    share = std::make_unique<FairShare>(setup_.shares, share_slot_);
  }
  turns_ = std::make_unique<Turns>(std::move(share));
  closed_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (closed_event_ < 0) return 1;
  ArmKernelKeepAlive(connection, Nanoseconds(Settings().idle_timeout_ns));
  auto stream = link::WithPrefix(std::move(order.beginning), link::FromSocket(connection));
  Log(LogLevel::kInfo, "split session opened", {{"session", id_}, {"peer", stream->Peer()}});
  session_ = std::make_unique<split::ServerSession>(std::move(stream), ConfigFor());
  Watch();
  Finish();
  return 0;
}

void ModelWorker::Watch() {
  const absl::Status shutting_down = Unavailable("the server is shutting down");
  constexpr TimePoint kNever{Nanoseconds::max()};
  TimePoint drain_until = kNever;
  while (true) {
    pollfd events[2] = {{closed_event_, POLLIN, 0}, {control_, POLLIN, 0}};
    const TimePoint now = Clock::Real().Now();
    const int64_t left_ms =
        drain_until == kNever ? -1 : std::max<int64_t>(0, (drain_until - now).count() / 1'000'000 + 1);
    if (poll(events, 2, static_cast<int>(left_ms)) < 0 && errno != EINTR) return;
    if (events[0].revents != 0) return;
    if (Clock::Real().Now() >= drain_until) {
      session_->End(shutting_down).IgnoreError();
      drain_until = kNever;
    }
    if (events[1].revents == 0) continue;
    const absl::StatusOr<ControlMessage> message = ReceiveControl(control_);
    if (!message.ok()) return;  // the daemon is gone, and nobody will clean up after us
    const auto drain = DecodeControl<Drain>(*message, ControlKind::kDrain);
    if (!drain.ok()) continue;
    drain_until = Clock::Real().Now() + Nanoseconds(drain->grace_ns);
    session_->EndBetweenInferences(shutting_down);
  }
}

void ModelWorker::Finish() {
  const split::ServerReport done = session_->Report();
  SessionReport report;
  report.inferences = done.inferences;
  report.bytes_received = done.bytes_received;
  report.bytes_sent = done.bytes_sent;
  report.busy_nanoseconds = static_cast<uint64_t>(done.computing.count());
  if (share_slot_ != kNoShareSlot) {
    const ShareTotals totals = TotalsOf(setup_.shares->Page(), share_slot_);
    report.waited_nanoseconds = static_cast<uint64_t>(totals.waited_nanoseconds);
  }
  SendControl(control_, ControlKind::kSessionReport, report).IgnoreError();
  Log(LogLevel::kInfo, "split session closed",
      {{"session", id_},
       {"inferences", report.inferences},
       {"bytes_in", report.bytes_received},
       {"bytes_out", report.bytes_sent},
       {"busy_ms", report.busy_nanoseconds / 1'000'000},
       {"turn_waited_ms", report.waited_nanoseconds / 1'000'000}});
  absl::Notification torn_down;
  std::thread watchdog([&torn_down] {
    if (!torn_down.WaitForNotificationWithTimeout(kTeardown)) _exit(0);
  });
  session_.reset();
  torn_down.Notify();
  watchdog.join();
}

}  // namespace

int RunModelWorker(int control_socket) {
  SetDefaultLogLevel(LogLevel::kInfo);
  absl::StatusOr<WorkerSetup> setup = ReceiveSetup(control_socket);
  if (!setup.ok()) {
    Log(LogLevel::kError, "a worker is started by `wharf serve` only", {{"why", Message(setup.status())}});
    return 2;
  }
  if (const absl::Status entered = EnterSandbox(/*for_gpu=*/false); !entered.ok()) {
    Log(LogLevel::kWarning, "the worker is not sandboxed", {{"why", Message(entered)}});
  }
  ModelWorker worker(control_socket, *std::move(setup));
  worker.Prepare();
  const absl::StatusOr<ControlMessage> order = ReceiveControl(control_socket);
  if (!order.ok()) return 0;  // a spare that is no longer wanted
  absl::StatusOr<Assign> assign = DecodeControl<Assign>(*order, ControlKind::kAssign);
  if (!assign.ok() || order->fd < 0) return 0;
  return worker.Serve(*std::move(assign), order->fd);
}

}  // namespace wharf::server
