#include "wharf/cli/offload/server_check.h"

#include "wharf/cli/offload/greet.h"
#include "wharf/offload/handshake.h"

namespace wharf::cli {

absl::StatusOr<CheckedServer> CheckServer(const std::string& address, const link::ConnectOptions& options,
                                          const std::string& token) {
  offload::Hello hello;
  hello.features = offload::kFeatureCheckOnly | offload::kFeatureKernelPacks;
  hello.program = "wharf run";
  WHARF_ASSIGN_OR_RETURN(const auto greeted, Greet<offload::ProgramProtocol>(address, options, hello, token));
  const offload::Welcome& welcome = greeted.welcome;
  return CheckedServer{.driver = welcome.properties.driver,
                       .has_kernel_packs = (welcome.features & offload::kFeatureKernelPacks) != 0,
                       .has_room = welcome.memory_quota > 0,
                       .sessions = welcome.session,
                       .round_trip = greeted.round_trip};
}

}  // namespace wharf::cli
