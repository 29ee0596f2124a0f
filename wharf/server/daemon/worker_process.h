// Starts worker processes and knows what became of them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

// One worker, seen from the daemon. Destroying it closes the control socket, which ends a worker that is not needed any
// more; it does not wait.
class WorkerProcess {
 public:
  // Executes `program` with the argument `worker`: in a process that gets no descriptor but the control socket and
  // standard error, dies with the calling thread, dumps no core, cannot gain privileges and goes first when the machine
  // runs out of memory. Sends `configure`, and a copy of `shares` unless it is -1.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const std::string& program, const Configure& configure,
                                                              int shares = -1);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t Pid() const { return pid_; }
  int Control() const { return control_; }
  void CloseControl();
  void Kill();

 private:
  WorkerProcess(pid_t pid, int control) : pid_(pid), control_(control) {}
  const pid_t pid_;
  int control_;
};

}  // namespace wharf::server
