// wharf-relay: what stands between one AR client and a server (ar/relay/relay.h); or what starts such processes for
// a server that may start none any more (relay_process.h). `wharf ar serve` starts it.
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "wharf/ar/relay/relay.h"
#include "wharf/ar/relay/relay_process.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/cli/relay/relay_arguments.h"
#include "wharf/server/front/access_control.h"
#include "wharf/server/front/stream_server.h"

namespace wharf::cli {
namespace {

absl::Status Confine(Isolation isolation) {
  // Under a sanitizer it keeps the files, for reports.
  const auto becomes = kSanitized ? FileSystem::kKept : FileSystem::kEmpty;
  if (isolation != Isolation::kNone) WHARF_RETURN_IF_ERROR(LeaveFileSystem(ar::kRelayFileSystemDescriptor, becomes));
  return EnterSandbox(RelayPolicy());
}

absl::Status Relay(Isolation isolation, const RelayArguments& arguments) {
  WHARF_ASSIGN_OR_RETURN(server::AccessControl control, server::MakeAccessControl(arguments.listen, arguments.access));
  WHARF_ASSIGN_OR_RETURN(auto tls, control.MakeTlsServer());
  wire::ClientCheck check = control.ClientsOnly();
  explicit_bzero(control.token.data(), control.token.size());  // keys of it are left, until the client is in
  // Nothing of the client was read yet.
  WHARF_RETURN_IF_ERROR(Confine(isolation));
  const server::OpenStream open = server::OpenTls(std::move(tls));
  std::unique_ptr<link::ByteStream> client;
  if (open != nullptr) {
    WHARF_ASSIGN_OR_RETURN(client, open(ar::kRelayClientDescriptor));
  } else {
    client = link::FromSocket(ar::kRelayClientDescriptor);
  }
  ar::Relay(std::move(client), link::FromSocket(ar::kRelayServerDescriptor), std::move(check)).AwaitEnd();
  return absl::OkStatus();
}

int RunRelay(std::span<char* const> arguments) {
  // Threads that wait need no address space of their own for what they allocate.
  mallopt(M_ARENA_MAX, 1);
  const auto parsed = ParseRelayArguments(arguments.subspan(3));
  if (!parsed) return 1;
  const absl::Status ended = Relay(static_cast<Isolation>(std::atoi(arguments[2])), *parsed);
  if (ended.ok()) return 0;
  ar::TellServer(link::FromSocket(ar::kRelayServerDescriptor), ended);
  return 1;
}

int Main(std::span<char* const> arguments) {
  const std::string_view mode = arguments.size() > 3 ? arguments[1] : "";
  if (mode == ar::kStarterMode) return ar::StartRelays(arguments);
  return mode == ar::kRelayMode ? RunRelay(arguments) : 2;
}

}  // namespace
}  // namespace wharf::cli

int main(int argc, char** argv) { return wharf::cli::Main({argv, static_cast<size_t>(argc)}); }
