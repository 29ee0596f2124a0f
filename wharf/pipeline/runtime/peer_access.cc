#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::pipeline {

wire::ClientCheck WorkersCheck(const std::string& token, const std::string& scheduler_token) {
  wire::ClientCheck check;
  check.right_token = "the token file of the workers";
  if (token.empty()) return check;
  check.keys[NameOf(Role::kWorker)] = wire::TokenKey::Of(token, NameOf(Role::kWorker));
  check.keys[NameOf(Role::kScheduler)] = wire::TokenKey::Of(scheduler_token, NameOf(Role::kScheduler));
  return check;
}

}  // namespace wharf::pipeline
