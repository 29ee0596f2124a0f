#include "wharf/cli/host/ar_server.h"

#include "wharf/cli/host/server_wish.h"

namespace wharf::cli {

absl::StatusOr<ArServer> ArServerOf(const ServerWish& wish) {
  const ServerAccess access = AccessOf(wish);
  if (access.tls_certificate.empty() != access.tls_key.empty()) {
    return InvalidArgument("a certificate and its key go together");
  }
  ArServer server{access.server, wish.token, nullptr};
  if (server.token.empty()) {
    WHARF_ASSIGN_OR_RETURN(server.token, access.Token());
  }
  server.dial = [connecting = access.Connecting()](const std::string& to) { return link::Connect(to, connecting); };
  return server;
}

}  // namespace wharf::cli
