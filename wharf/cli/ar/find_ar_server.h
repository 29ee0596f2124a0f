// `--server auto` of AR clients.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/cli/offload/find_server.h"

namespace wharf::cli {

// Servers of AR that would let in who says this Hello, which names its tasks. As FindServers.
absl::StatusOr<std::vector<FoundServer>> FindArServers(const ServerAccess& access, const ar::Hello& hello,
                                                       const std::string& token);

// Client::Open(config), of ar::Client and ar::CoordinatedClient; where config.server is kAnyServer, OpenAtBest of
// FindArServers.
template <typename Client, typename Config>
absl::StatusOr<std::unique_ptr<Client>> OpenArClient(Config config, const ServerAccess& access, const Say& say) {
  if (config.server != kAnyServer) return Client::Open(std::move(config));
  WHARF_ASSIGN_OR_RETURN(const std::vector<FoundServer> found, FindArServers(access, HelloOf(config), config.token));
  return OpenAtBest(found, say, [&config](const std::string& address) {
    config.server = address;
    return Client::Open(config);
  });
}

}  // namespace wharf::cli
