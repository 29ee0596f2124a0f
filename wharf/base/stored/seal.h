// What shows that a stored file was written by who has the key, under the name that it has: HMAC-SHA256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf {

using SealKey = std::array<uint8_t, 32>;
using Seal = std::array<uint8_t, 32>;

Seal SealOf(const SealKey& key, std::string_view name, std::string_view content);
bool Bears(const Seal& seal, const SealKey& key, std::string_view name, std::string_view content);

// The key in the file, which is made with a random one if it is not there; whoever else makes it at the same time gets
// the same. Fails as ReadOwnFile, of a file that is for its owner alone; kDataLoss if it holds no key.
absl::StatusOr<SealKey> FindSealKey(const std::string& path);

}  // namespace wharf
