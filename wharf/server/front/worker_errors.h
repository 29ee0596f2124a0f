// What workers have for standard error where the server's own is a socket, as it is a service's: who has a socket can
// shut it down, and then nobody says anything any more. Workers have a pipe instead, from which a thread of the server
// carries on what comes, unread.
#pragma once

#include <memory>
#include <thread>

#include "wharf/base/status.h"
#include "wharf/link/socket.h"

namespace wharf::server {

class WorkerErrors {
 public:
  // For standard error, `to`; null if it is no socket: then workers may have it itself. To be called where signals are
  // blocked: the thread is not to get any.
  static absl::StatusOr<std::unique_ptr<WorkerErrors>> Start(int to);
  // Carries on what is there; the workers are gone.
  ~WorkerErrors();
  WorkerErrors(const WorkerErrors&) = delete;
  WorkerErrors& operator=(const WorkerErrors&) = delete;

  // Workers' standard error.
  int Descriptor() const { return workers_.get(); }

 private:
  WorkerErrors(int to, link::UniqueFd from, link::UniqueFd workers, link::UniqueFd over);
  void Carry();

  const int to_;
  link::UniqueFd from_, workers_, over_;  // both ends of the pipe, and an event
  std::thread thread_;
};

}  // namespace wharf::server
