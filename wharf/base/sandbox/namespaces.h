// Name spaces of the kernel that a new process gets for itself: of processes, mounts, network, IPC and host name. In
// them it sees nothing and nobody else, and has no capability. It begins with the file system as it is, because it is
// a program that loads libraries, and gives it up when it has what it needs.
//
// Emptying the root takes a capability that the process itself never has: a keeper, a child that it is born with, has
// it, waits for that one thing, and ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "wharf/base/status.h"

namespace wharf {

enum class Isolation {
  kNone,    // the machine permits none
  kByUser,  // within a user name space: any user may, where the kernel permits it
  kByRoot   // without one: takes CAP_SYS_ADMIN
};

// The strongest that this machine permits this process, found by trying. kUnavailable says what failed, and why that
// may be.
absl::StatusOr<Isolation> FindIsolation();

// What a new process does before it is a program: system calls on memory that was made before.
class NewNamespaces {
 public:
  explicit NewNamespaces(Isolation isolation);

  // As fork, into the name spaces. Runs no handlers of fork; in the child nothing but system calls may be done.
  pid_t Fork() const;
  // In the child: starts the keeper, which listens on `keeper_end`, and drops all capabilities. 0, or an errno.
  int Settle(int keeper_end) const;

 private:
  bool MapUser() const;

  const Isolation isolation_;
  const std::string user_map_, group_map_;
};

enum class FileSystem { kEmpty, kKept };

// In the program, once, while it may still open files, for `descriptor`, the other end of the keeper's. kEmpty: from
// here on no path leads anywhere. Closes `descriptor`.
absl::Status LeaveFileSystem(int descriptor, FileSystem becomes);

}  // namespace wharf
