// What `wharf ar serve` tells wharf-relay: who may connect. The files are the relay's to read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/server/front/access_control.h"

namespace wharf::cli {

struct RelayArguments {
  std::string listen;  // as MakeAccessControl takes it
  server::AccessOptions access;
};

std::vector<std::string> ToArguments(const RelayArguments& relay);
// Nothing: they are not ToArguments'.
std::optional<RelayArguments> ParseRelayArguments(std::span<char* const> arguments);

}  // namespace wharf::cli
