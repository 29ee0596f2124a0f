// Compilers: the processes that compile kernels for sessions. A session's worker, which runs what clients send,
// compiles nothing and writes no compiled code to where other sessions find it: it asks such a process, which runs
// nothing.
//
// A session gets a socket to it when it is let in, but the process is not started before the worker says something.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "wharf/base/status.h"
#include "wharf/link/socket.h"
#include "wharf/server/daemon/file_keeper.h"
#include "wharf/server/daemon/poll_loop.h"
#include "wharf/server/daemon/worker_pool.h"

namespace wharf::server {

// Not thread-safe. All must outlive it.
class Compilers {
 public:
  Compilers(WorkerPool& workers, FileKeeper& files, PollLoop& loop) : workers_(workers), files_(files), loop_(loop) {}

  // The session's end of the socket, for `worker`, which has none yet. `whose`: of whom compiled code is shared.
  absl::StatusOr<link::UniqueFd> Offer(pid_t worker, uint64_t session, std::string whose);
  // For WorkerPool::OnMove: another process is a session's compiler now.
  void OnMove(pid_t from, pid_t to);
  // A session's worker has ended: its compiler ends. True if it is one of these that has ended, because of that.
  bool OnWorkerEnd(pid_t pid);

 private:
  struct Offered {
    uint64_t session = 0;
    std::string whose;
    link::UniqueFd waiting;  // until the worker wants something
    pid_t compiler = 0;      // afterwards, until it has ended
  };
  void OnWanted(pid_t worker);
  void Employ(Offered& session, pid_t compiler);
  void End(pid_t compiler);

  WorkerPool& workers_;
  FileKeeper& files_;
  PollLoop& loop_;
  std::map<pid_t, Offered> offered_;  // by the session's worker
  std::set<pid_t> ending_;            // compilers that were killed, and have not been seen to end
};

}  // namespace wharf::server
