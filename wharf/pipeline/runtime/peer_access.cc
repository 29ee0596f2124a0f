#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::pipeline {

wire::ClientCheck WorkersCheck(const std::string& token) {
  wire::ClientCheck check;
  check.right_token = "the token file of the workers";
  if (token.empty()) return check;
  for (const Role role : {Role::kScheduler, Role::kWorker}) {
    check.keys[NameOf(role)] = wire::TokenKey::Of(token, NameOf(role));
  }
  return check;
}

}  // namespace wharf::pipeline
