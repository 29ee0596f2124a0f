// Name spaces of the kernel that a new process gets for itself: of processes, mounts, network, IPC and host name. In
// them it sees nothing and nobody else, and has no capability. It begins with the file system as it is, because it is
// a program that loads libraries, and gives it up when it has what it needs. Its threads are limited (limits.h) if it
// has a user name space: only there they are counted apart from others of the user. A server that has the network keeps
// the machine's, and as many threads as its user may have.
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

// What `--sandbox` asks for: of "weak" nothing, of "strong" what FindIsolation finds. kFailedPrecondition, with what to
// do, if there is none, or if not even system calls can be filtered (sandbox.h): a server that cannot have what it was
// asked for does not start.
absl::StatusOr<Isolation> IsolationFor(const std::string& sandbox);

enum class Network {
  kNone,     // one of its own, in which there is nothing
  kMachines  // the machine's
};

// What a new process does before it is a program: system calls on memory that was made before.
class NewNamespaces {
 public:
  explicit NewNamespaces(Isolation isolation, Network network = Network::kNone);

  // As fork, into the name spaces. Runs no handlers of fork; in the child nothing but system calls may be done.
  pid_t Fork() const;
  // In the child: starts the keeper, which listens on `keeper_end`, and drops all capabilities. 0, or an errno.
  int Settle(int keeper_end) const;

 private:
  bool MapUser() const;
  bool LimitThreads() const;

  const Isolation isolation_;
  const Network network_;
  const std::string user_map_, group_map_;
  const int most_threads_;
};

enum class FileSystem { kEmpty, kOneDirectory, kKept };

// In the program, once, while it may still open files, for `descriptor`, the other end of the keeper's. kEmpty: from
// here on no path leads anywhere. kOneDirectory: paths lead to what is in `directory`, an absolute path, which is "/"
// from here on. Closes `descriptor`.
absl::Status LeaveFileSystem(int descriptor, FileSystem becomes, const std::string& directory = {});

}  // namespace wharf
