// FileKeeper: the daemon's side of the keeper of files, a process that reads and writes caches for workers
// (server/keeper).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/server/daemon/worker_pool.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

// Not thread-safe. A process that has ended is started anew for the next worker; those that it served do without.
class FileKeeper {
 public:
  // Starts the process, unless no cache directory is configured: then nothing is kept. Fails as StartWorker.
  static absl::StatusOr<std::unique_ptr<FileKeeper>> Start(const WorkerPoolConfig& config);
  // Ends the process, and waits for its end.
  ~FileKeeper();

  // From now on `worker` may have the files of `order`. A worker that it cannot be done for does without, which is
  // logged. Does nothing for one that has been given some before.
  void Keep(WorkerProcess& worker, const KeepOrder& order);
  // For SIGCHLD.
  void Reap();

 private:
  explicit FileKeeper(const WorkerPoolConfig& config) : config_(config) {}
  absl::Status Begin();

  const WorkerPoolConfig config_;
  std::unique_ptr<WorkerProcess> process_;  // null: none runs
};

}  // namespace wharf::server
