#include "wharf/cli/common/announce_option.h"

#include "wharf/cli/common/shim_directory.h"
#include "wharf/link/discovery/announcer.h"
#include "wharf/server/front/access_control.h"

namespace wharf::cli {

void AddAnnounceOption(CLI::App* command, bool& announce) {
  command->add_flag("--announce", announce,
                    "Say on the local network (mDNS) that this server is there, for --server auto");
}

absl::StatusOr<std::string> FindAnnounceProgram(const std::string& listen) {
  if (server::IsLoopbackAddress(listen)) {
    return InvalidArgument("--announce: others cannot reach {}; give --listen 0.0.0.0:PORT with a token or mutual TLS",
                           listen);
  }
  absl::StatusOr<std::string> program = FindProgram(link::kAnnounceProgram);
  if (program.ok()) return program;
  return NotFound("--announce needs Avahi: install avahi-daemon and avahi-utils");
}

}  // namespace wharf::cli
