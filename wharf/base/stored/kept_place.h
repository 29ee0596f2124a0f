// A directory at a keeper, in the process that asks it. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wharf/base/status.h"
#include "wharf/base/stored/keeper_wire.h"

namespace wharf {

struct KeptPlace {
  bool behind_door = false;
  int descriptor = -1;  // the socket to the keeper, or the door that sockets come through
  std::string directory;
};

// Nothing: `directory` is a path.
std::optional<KeptPlace> AtKeeper(const std::string& directory);

// The keeper's error as ErrnoStatus, or kUnavailable if there is none. `answer`: of a read, else null.
absl::Status Ask(const KeptPlace& place, KeeperAction action, const std::string& name, std::span<const std::byte> bytes,
                 std::string* answer);

// 0 or an errno, EPIPE if there is no keeper.
int AskForLock(const KeptPlace& place, KeeperAction action, uint64_t number);

}  // namespace wharf
