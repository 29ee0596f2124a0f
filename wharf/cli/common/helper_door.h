// HelperDoor: helpers of a server that may start no process: one after the other, the next when the one before has
// ended. The server takes sockets to them from its end of a door (base/passed_descriptors.h).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/socket.h"

namespace wharf::cli {

class HelperDoor {
 public:
  struct Helper {
    pid_t process = -1;                     // a child of this process, which nobody else waits for
    link::UniqueFd socket{};                // to it, for the server
    std::shared_ptr<void> alive = nullptr;  // goes when it has ended, or with the door
  };
  using Begin = std::function<absl::StatusOr<Helper>()>;

  // `what` a helper is, for the log: "keeper of models".
  explicit HelperDoor(std::string what) : what_(std::move(what)) {}
  // Starts the first. The server's end of the door, the caller's; fails as `begin`. Once.
  absl::StatusOr<int> Open(Begin begin);
  // Starts another one if it has ended, at most one a second. For whoever opened the door, while the server runs: in
  // the server's own process no other can be started.
  void LookAfter();

 private:
  absl::Status BeginOne();
  void Reap();
  void SayEnd();

  const std::string what_;
  Begin begin_;
  link::UniqueFd door_;  // our end
  Helper helper_;        // its process is -1: none runs
  TimePoint begun_at_;   // or tried to
  TimePoint ended_at_;
  std::optional<int> end_;  // waitpid's status, if it was not said yet
  bool failing_ = false;    // to begin, which was said
};

}  // namespace wharf::cli
