// The keeper of the models of a pipeline's worker, which opens no file: the keeper of files of `wharf serve`
// (server/keeper), for this one directory.
#pragma once

#include <cstdint>
#include <string>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/cli/common/helper_door.h"

namespace wharf::cli {

struct ModelKeeperOptions {
  std::string cache_directory;
  uint64_t cache_bytes = 0, most_model_bytes = 0;  // of all models, and of one
  Isolation isolation = Isolation::kNone;
};

// Its socket is for KeeperRootBehind (base/stored/keeper.h). It ends with the helper, or with the thread that started
// it. kNotFound: `wharf` is not where it is built or installed; otherwise as server::WorkerProcess::Start.
absl::StatusOr<HelperDoor::Helper> StartModelKeeper(const ModelKeeperOptions& options);

}  // namespace wharf::cli
