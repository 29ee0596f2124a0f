// How to reach etcd.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::pipeline {

// Where etcd is and who we are there.
struct EtcdAccess {
  std::string endpoint = "http://127.0.0.1:2379";  // or "https://…", or "10.0.0.1:2379", which is http
  std::string ca_file;                             // of etcd's certificate; "": the system's
  std::string certificate_file, key_file;          // ours; both or neither
  std::string user, password;                      // "": none. Never logged
};
// kInvalidArgument: options that contradict each other, or a password that would travel in the clear.
absl::Status Check(const EtcdAccess& access);

}  // namespace wharf::pipeline
