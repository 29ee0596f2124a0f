// Starts worker processes and knows what became of them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/link/socket.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

// One worker, seen from the daemon. Destroying it closes the control socket, which ends a worker that is not needed any
// more; it does not wait.
class WorkerProcess {
 public:
  // Executes `program` with the argument `worker`, or `keeper` if that is its role: in a process that gets no
  // descriptor but the control socket, its one to ask the keeper of files by, and `standard_error`, dies with the
  // calling thread, dumps no core, cannot gain privileges and goes first when the machine runs out of memory. Sends
  // `configure`, with the keeper's directory for that of the caches, and a copy of `shares` unless it is -1.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const std::string& program, const Configure& configure,
                                                              Isolation isolation = Isolation::kNone, int shares = -1,
                                                              int standard_error = STDERR_FILENO);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t Pid() const { return pid_; }
  int Control() const { return control_; }
  void CloseControl();
  void Kill();
  // The keeper's end of the socket by which the process asks for files: once it is known which. Once.
  link::UniqueFd TakeKeepersEnd() { return std::move(keepers_end_); }

 private:
  WorkerProcess(pid_t pid, int control, link::UniqueFd keepers_end)
      : pid_(pid), control_(control), keepers_end_(std::move(keepers_end)) {}
  const pid_t pid_;
  int control_;
  link::UniqueFd keepers_end_;
};

}  // namespace wharf::server
