// Keeps the models of a pipeline's worker, which opens no file: the keeper of files of `wharf serve` (server/keeper),
// for this one directory, and another one when it has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/link/socket.h"
#include "wharf/server/daemon/worker_process.h"

namespace wharf::cli {

struct ModelKeeperOptions {
  std::string cache_directory;
  uint64_t cache_bytes = 0, most_model_bytes = 0;  // of all models, and of one
  Isolation isolation = Isolation::kNone;
};

// The keeper ends with this object, or with the thread that started it.
class ModelKeeper {
 public:
  // Starts a keeper. The worker's end of a door to it and those that follow it, for KeeperRootBehind
  // (base/stored/keeper_door.h). kNotFound: `wharf` is not where it is built or installed; otherwise as
  // server::WorkerProcess::Start. Once.
  absl::StatusOr<int> Start(const ModelKeeperOptions& options);
  // Starts another one if it has ended, at most one a second, and passes a socket to it through the door. For whoever
  // called Start, while the worker runs: in the worker's own process no other can be started.
  void LookAfter();

 private:
  absl::Status Begin();
  void Reap();

  ModelKeeperOptions options_;
  link::UniqueFd door_;                             // our end
  std::unique_ptr<server::WorkerProcess> process_;  // null: none runs
  TimePoint begun_at_;                              // or tried to
  bool failing_ = false;                            // to begin, which was said
};

}  // namespace wharf::cli
