// WorkerPool: the daemon's worker processes: starts them, keeps idle ones so that a client need not wait for a process
// to start, reads what they say, and knows which have ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/server/daemon/poll_loop.h"
#include "wharf/server/daemon/worker_process.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

enum class WorkerKind {
  kPrograms,  // serves programs, and judges the tokens of those who want models
  kModels     // serves split sessions; sees no token and no certificate
};

struct WorkerPoolConfig {
  std::string program = "/proc/self/exe";
  std::string model_program;  // "" = not installed
  Configure configure;        // of workers for programs
  Isolation isolation = Isolation::kNone;
  int shares = -1;  // descriptor of the page of shares; -1: the device is not shared
};

// A worker of no pool. Fails as WorkerProcess::Start.
absl::StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const WorkerPoolConfig& config, WorkerKind kind);

// Not thread-safe.
class WorkerPool {
 public:
  using OnMessage = std::function<void(WorkerProcess& worker, const ControlMessage& message)>;
  // Its status is waitpid's. Its last messages were read before.
  using OnEnd = std::function<void(const WorkerProcess& worker, int status)>;

  // `loop` must outlive it. `on_message` is called in its turns; the message's descriptor is closed afterwards.
  WorkerPool(WorkerPoolConfig config, PollLoop& loop, OnMessage on_message);
  // Kills those that are left and waits for their end.
  ~WorkerPool();

  // Gives the connection to an idle worker, or to a new one: its process id. Fails as WorkerProcess::Start.
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
  void ForEachBusy(const std::function<void(WorkerProcess&)>& visit) const;
  // Calls `on_end` for those that have ended since the last time: for SIGCHLD.
  void Reap(const OnEnd& on_end);
  void KillAll();

 private:
  struct Entry {
    std::unique_ptr<WorkerProcess> process;
    WorkerKind kind = WorkerKind::kPrograms;
    bool idle = true;
  };
  absl::StatusOr<Entry*> FindIdle(WorkerKind kind);
  // One message.
  void Read(WorkerProcess& worker);
  void CloseControl(WorkerProcess& worker);

  const WorkerPoolConfig config_;
  PollLoop& loop_;
  const OnMessage on_message_;
  std::vector<Entry> workers_;
  bool idle_failed_ = false;
  bool models_wanted_ = false;  // somebody has asked: the next one finds LibTorch loaded
  bool stopped_ = false;
};

}  // namespace wharf::server
