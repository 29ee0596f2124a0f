// `--server auto`: the servers that announce themselves on the local network, each after it has proved who it is.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/common/server_access.h"
#include "wharf/cli/offload/server_check.h"
#include "wharf/link/discovery/announcement.h"

namespace wharf::cli {

inline constexpr const char* kAnyServer = "auto";

struct FoundServer {
  std::string name, address;
  CheckedServer server;
};

// kInvalidArgument, in one line, unless whatever is announced has to prove itself: by the token, or by a certificate
// that nobody else can have. A public one proves nothing here: an announcer chooses for which address it asks to be
// taken.
absl::Status CheckProvable(const ServerAccess& access, const std::string& token);

// The best first: by the round trip, times one more than its sessions. One that is announced at several addresses is
// there once, by its best; those without room are left out.
std::vector<FoundServer> Rank(std::vector<FoundServer> servers);

// Which servers are looked for.
struct ServerKind {
  std::string type;     // their service's
  std::string command;  // that starts them: "wharf serve"
  // Whether one at this address would let us in; fails as CheckServer.
  std::function<absl::StatusOr<CheckedServer>(const std::string& address, const link::ConnectOptions& options)> check;
};

// What of the announced answers the kind's check without an error, all asked at a time, as Rank has it. kNotFound if
// there is none, with why the first one is not.
absl::StatusOr<std::vector<FoundServer>> ChooseAmong(const std::vector<link::Announcement>& announced,
                                                     const ServerKind& kind, const link::ConnectOptions& options);

// At least one. Takes a second or some. CheckProvable's errors; kUnavailable: nobody can be asked who is there
// (link::Browse); ChooseAmong's.
absl::StatusOr<std::vector<FoundServer>> FindServers(const ServerAccess& access, const std::string& token,
                                                     const ServerKind& kind);
// Of programs and models.
absl::StatusOr<std::vector<FoundServer>> FindServers(const ServerAccess& access, const std::string& token);

// "Wharf on gpu7 at 192.0.2.7:7070, 0.8 ms away, 1 session"
std::string Describe(const FoundServer& found);

// Hears a line for the user.
using Say = std::function<void(const std::string& line)>;

// What `open` gives at the address of the first one; where that fails, at the next. What is wrong with what is asked
// (kInvalidArgument) is so with every server. REQUIRES: there is one.
template <typename Open>
std::invoke_result_t<Open, const std::string&> OpenAtBest(const std::vector<FoundServer>& found, const Say& say,
                                                          Open open) {
  for (auto server = found.begin();; ++server) {
    say(Describe(*server));
    auto opened = open(server->address);
    if (opened.ok() || absl::IsInvalidArgument(opened.status()) || server + 1 == found.end()) return opened;
    say(std::string(Message(opened.status())));
  }
}
// Says it on standard error.
void SayToUser(const std::string& line);

}  // namespace wharf::cli
