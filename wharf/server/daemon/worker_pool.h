// WorkerPool: the daemon's worker processes: starts them, keeps idle ones so that a client need not wait for a process
// to start, reads what they say, and knows which have ended.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/link/socket.h"
#include "wharf/server/daemon/poll_loop.h"
#include "wharf/server/daemon/worker_process.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

enum class WorkerKind {
  kPrograms,   // serves programs, and judges the tokens of those who want models
  kModels,     // serves split sessions; sees no token and no certificate
  kCompilers,  // compiles the kernels of one program; sees neither
  kKeeper      // keeps files for the others; the same
};

// What a worker may really use, as its parent sees it: more is the end of it.
struct WorkerLimits {
  uint64_t program_memory = ~uint64_t{0}, model_memory = ~uint64_t{0};  // bytes
  int threads = std::numeric_limits<int>::max();
};

struct WorkerPoolConfig {
  std::string program;                            // wharf-worker
  std::string keeper_program = "/proc/self/exe";  // wharf
  std::string model_program;                      // "" = not installed
  Configure configure;                            // of workers for programs
  Isolation isolation = Isolation::kNone;
  int shares = -1;  // descriptor of the page of shares; -1: the device is not shared
  WorkerLimits limits;
  int standard_error = STDERR_FILENO;  // of all of them
};

// A worker of no pool. Fails as WorkerProcess::Start.
absl::StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const WorkerPoolConfig& config, WorkerKind kind);

// Not thread-safe.
class WorkerPool {
 public:
  using OnMessage = std::function<void(WorkerProcess& worker, const ControlMessage& message)>;
  // Its status is waitpid's. Its last messages were read before.
  using OnEnd = std::function<void(const WorkerProcess& worker, int status)>;
  // The connection that `from` was given, and ended before it took, is now `to`'s. `from`'s end is said afterwards.
  using OnMove = std::function<void(pid_t from, pid_t to)>;

  // `loop` must outlive it. `on_message` is called in its turns; the message's descriptor is closed afterwards.
  WorkerPool(WorkerPoolConfig config, PollLoop& loop, OnMessage on_message, OnMove on_move);
  // Kills those that are left and waits for their end.
  ~WorkerPool();

  // Gives the connection to an idle worker, or to a new one: its process id. Should that end before it has taken it,
  // some other gets it, a few times. Fails as WorkerProcess::Start.
  absl::StatusOr<pid_t> Assign(WorkerKind kind, const wharf::server::Assign& order, int connection);
  // Starts what is missing of one idle worker for programs, and of one for models once some were assigned. After it
  // failed, or an idle worker crashed, it does nothing until TryAgain.
  void KeepIdle();
  void TryAgain() { idle_failed_ = false; }
  // Idle workers end, and none is kept any more.
  void StopIdle();

  // Null: none, or it has ended.
  WorkerProcess* Find(pid_t pid) const;
  bool Empty() const { return workers_.empty(); }
  // Of those that are not idle.
  bool AnyBusy() const;
  void ForEachBusy(const std::function<void(WorkerProcess&)>& visit) const;
  // Calls `on_end` for those that have ended since the last time: for SIGCHLD.
  void Reap(const OnEnd& on_end);
  void KillAll();
  // Ends a worker; nobody else gets its connection.
  void Kill(pid_t worker);
  // Kills those that are not idle and use more than they may, with a line in the log.
  void EndGreedy();

 private:
  struct Delivery {
    wharf::server::Assign order;
    link::UniqueFd connection;
    int attempts = 0;
  };
  struct Entry {
    std::unique_ptr<WorkerProcess> process;
    WorkerKind kind = WorkerKind::kPrograms;
    bool idle = true;
    int messages = 0;                                 // that were read
    std::optional<Delivery> delivery = std::nullopt;  // until it has taken its connection
  };
  absl::StatusOr<pid_t> Deliver(WorkerKind kind, Delivery delivery);
  // To another, what `ended` did not take.
  void DeliverAnew(Entry& ended, bool crashed);

  absl::StatusOr<Entry*> FindIdle(WorkerKind kind);
  // One message.
  void Read(Entry& worker);
  void CloseControl(WorkerProcess& worker);

  const WorkerPoolConfig config_;
  PollLoop& loop_;
  const OnMessage on_message_;
  const OnMove on_move_;
  std::vector<Entry> workers_;
  bool idle_failed_ = false;
  bool models_wanted_ = false;  // somebody has asked: the next one finds LibTorch loaded
  bool stopped_ = false;
};

}  // namespace wharf::server
