// Starts worker processes and knows what became of them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

// One worker, seen from the daemon. Destroying it closes the control socket, which ends a worker that is not needed any
// more; it does not wait.
class WorkerProcess {
 public:
  // Executes `program` with the argument `worker`: in a process that gets no descriptor but the control socket, its
  // keeper's and standard error, dies with the calling thread, dumps no core, cannot gain privileges and goes first
  // when the machine runs out of memory. Sends `configure`, with the keeper's directory for that of the caches, and a
  // copy of `shares` unless it is -1.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const std::string& program, const Configure& configure,
                                                              Isolation isolation = Isolation::kNone, int shares = -1);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t Pid() const { return pid_; }
  int Control() const { return control_; }
  void CloseControl();
  void Kill();

 private:
  WorkerProcess(pid_t pid, int control, std::unique_ptr<Keeper> keeper)
      : pid_(pid), control_(control), keeper_(std::move(keeper)) {}
  const pid_t pid_;
  int control_;
  const std::unique_ptr<Keeper> keeper_;  // null if nothing is kept
};

}  // namespace wharf::server
