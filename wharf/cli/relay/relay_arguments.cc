#include "wharf/cli/relay/relay_arguments.h"

namespace wharf::cli {

std::vector<std::string> ToArguments(const RelayArguments& relay) {
  return {relay.listen, relay.access.token_file, relay.access.tls_certificate, relay.access.tls_key,
          relay.access.tls_client_ca};
}

std::optional<RelayArguments> ParseRelayArguments(std::span<char* const> arguments) {
  if (arguments.size() != 5) return std::nullopt;
  return RelayArguments{arguments[0],
                        {.token_file = arguments[1],
                         .tls_certificate = arguments[2],
                         .tls_key = arguments[3],
                         .tls_client_ca = arguments[4]}};
}

}  // namespace wharf::cli
