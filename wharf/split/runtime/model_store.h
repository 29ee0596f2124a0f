// ModelStore: the models a server has, by the SHA-256 of their files: on disk, so that a model travels once, and in
// memory as long as a session uses it, the last one until another is loaded: its client may come back.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/split/runtime/model.h"
#include "wharf/split/runtime/model_files.h"

namespace wharf::split {

// Thread-safe.
class ModelStore {
 public:
  // As ModelFiles keeps them.
  ModelStore(ModelLoader load, std::string directory, uint64_t limit_bytes)
      : load_(std::move(load)), files_(std::move(directory), limit_bytes) {}

  // Null if it is not in memory.
  std::shared_ptr<const Model> InMemory(const Sha256& hash);
  // Loads it from disk if need be. kNotFound: it must be sent. Otherwise as the loader fails.
  absl::StatusOr<std::shared_ptr<const Model>> Find(const Sha256& hash);
  // Loads it, and keeps it. kInvalidArgument: these are not the bytes of that hash; otherwise as the loader.
  absl::StatusOr<std::shared_ptr<const Model>> Add(const Sha256& hash, std::span<const std::byte> bytes);

 private:
  // Without the mutex: others go on while it loads.
  absl::StatusOr<std::shared_ptr<const Model>> Load(const Sha256& hash, std::span<const std::byte> bytes);

  const ModelLoader load_;
  const ModelFiles files_;
  absl::Mutex mutex_;
  std::map<Sha256, std::weak_ptr<const Model>> models_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Model> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::split
