// ModelFiles: models' files on disk by the SHA-256 of their bytes, so that a model travels once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "wharf/split/messages/messages.h"

namespace wharf::split {

// Thread-safe; several processes may share a directory.
class ModelFiles {
 public:
  // In `directory` (stored_files.h), which is made if need be; "" keeps none. Beyond `limit_bytes` those not used for
  // longest are removed.
  ModelFiles(std::string directory, uint64_t limit_bytes)
      : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}

  // The bytes of that hash. kNotFound: they are not here, or were damaged.
  absl::StatusOr<std::string> Read(const Sha256& hash) const;
  // A disk that is full or not writable costs later uploads, nothing else. REQUIRES: wire::HashOf(bytes) == hash.
  void Keep(const Sha256& hash, std::span<const std::byte> bytes) const;

 private:
  const std::string directory_;
  const uint64_t limit_bytes_;
};

}  // namespace wharf::split
