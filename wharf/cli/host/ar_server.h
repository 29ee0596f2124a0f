// How a request's AR server is reached.
#pragma once

#include <string>

#include "wharf/ar/client/uplink.h"
#include "wharf/base/status.h"
#include "wharf/cli/host/request.h"

namespace wharf::cli {

struct ArServer {
  std::string address, token;
  ar::Dial dial;
};

// kInvalidArgument: a certificate without its key. Else as the token's file fails.
absl::StatusOr<ArServer> ArServerOf(const ServerWish& wish);

}  // namespace wharf::cli
