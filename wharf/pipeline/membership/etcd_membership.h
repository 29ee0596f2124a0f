// Membership kept in etcd: a key a worker, bound to a lease that the worker keeps alive, and a watch on all of them.
//
// A worker that dies or loses its network is a member until its lease ends. While etcd is away, or restarts, the last
// view stands and nobody is lost for it: etcd gives leases their whole time again when it is back, and a worker whose
// lease is gone nevertheless takes a new one.
#pragma once

#include <memory>
#include <string>

#include "wharf/pipeline/membership/etcd_access.h"
#include "wharf/pipeline/membership/membership.h"

namespace wharf::pipeline {

struct EtcdOptions {
  EtcdAccess access;
  std::string password_file;        // "": none; its first line is access.password
  std::string cluster = "default";  // keys are /wharf/pipeline/CLUSTER/workers/NAME
  int64_t lease_seconds = 5;
  Nanoseconds retry = std::chrono::milliseconds(200);  // between attempts to reach an etcd that does not answer
};

// Reads all files and looks up etcd's name: nothing that is done with it does later. Fails as Check of the access, and
// if that cannot be done. kInvalidArgument: a cluster's name that Check would not take for a worker. Must outlive its
// registrations.
absl::StatusOr<std::unique_ptr<Membership>> MakeEtcdMembership(const EtcdOptions& options);

}  // namespace wharf::pipeline
