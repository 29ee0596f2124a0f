// Keeps the models of a pipeline's worker, which opens no file: the keeper of files of `wharf serve` (server/keeper),
// for this one directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/server/daemon/worker_process.h"

namespace wharf::cli {

struct ModelKeeperOptions {
  std::string cache_directory;
  uint64_t cache_bytes = 0, most_model_bytes = 0;  // of all models, and of one
};

// Ends with this object, or with this process.
class ModelKeeper {
 public:
  // The worker's end of a socket to a new keeper, for KeeperRoot (base/stored/keeper.h). kNotFound: `wharf` is not
  // where it is built or installed; otherwise as server::WorkerProcess::Start.
  absl::StatusOr<int> Start(const ModelKeeperOptions& options, Isolation isolation);

 private:
  std::unique_ptr<server::WorkerProcess> process_;
};

}  // namespace wharf::cli
