#include "wharf/cli/ar/find_ar_server.h"

#include "wharf/cli/offload/greet.h"

namespace wharf::cli {

absl::StatusOr<std::vector<FoundServer>> FindArServers(const ServerAccess& access, const ar::Hello& hello,
                                                       const std::string& token) {
  ar::Hello asking = hello;
  asking.features = ar::kFeatureCheckOnly;
  const auto check = [asking, token](const std::string& address,
                                     const link::ConnectOptions& options) -> absl::StatusOr<CheckedServer> {
    WHARF_ASSIGN_OR_RETURN(const auto greeted, Greet<ar::ArProtocol>(address, options, asking, token));
    return CheckedServer{
        .has_room = true, .sessions = greeted.welcome.sessions, .round_trip = greeted.round_trip};  // or it said no
  };
  return FindServers(access, token, {link::kArServiceType, "wharf ar serve", check});
}

}  // namespace wharf::cli
