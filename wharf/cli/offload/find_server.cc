#include "wharf/cli/offload/find_server.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "wharf/cli/common/shim_directory.h"
#include "wharf/link/discovery/browse.h"

namespace wharf::cli {
namespace {

constexpr Nanoseconds kListening = std::chrono::seconds(6);  // a name that nobody answers for is given up after five
constexpr Nanoseconds kCheck = std::chrono::seconds(5);      // for one server, or less if the user says so

// The round trip's share in how long a call waits grows with how many share the device. Below a tenth of a millisecond
// all are near.
double Cost(const CheckedServer& server) {
  return std::max(Seconds(server.round_trip), 1e-4) * static_cast<double>(server.sessions + 1);
}

}  // namespace

absl::Status CheckProvable(const ServerAccess& access, const std::string& token) {
  const bool own_authority = !access.tls_ca.empty() || !access.tls_pin.empty();
  if (access.tls && !own_authority) {
    return InvalidArgument(
        "--server auto: any public certificate would do for who announces itself; give --tls-pin or --tls-ca");
  }
  if (!token.empty() || own_authority) return absl::OkStatus();
  return InvalidArgument(
      "--server auto: who announces itself must prove who it is; give --token-file, --tls-pin or --tls-ca");
}

std::vector<FoundServer> Rank(std::vector<FoundServer> servers) {
  std::erase_if(servers, [](const FoundServer& one) { return !one.server.has_room; });
  std::ranges::stable_sort(servers, {}, [](const FoundServer& one) { return Cost(one.server); });
  std::vector<FoundServer> ranked;
  for (FoundServer& one : servers) {
    const auto same = [&](const FoundServer& other) { return other.name == one.name; };
    if (std::none_of(ranked.begin(), ranked.end(), same)) ranked.push_back(std::move(one));
  }
  return ranked;
}

absl::StatusOr<std::vector<FoundServer>> ChooseAmong(const std::vector<link::Announcement>& announced,
                                                     const ServerKind& kind, const link::ConnectOptions& options) {
  if (announced.empty()) {
    return NotFound("no server announces itself on this network: {} --announce does, or say --server HOST:PORT",
                    kind.command);
  }
  std::vector<absl::StatusOr<CheckedServer>> answers(announced.size(), absl::StatusOr<CheckedServer>(CheckedServer()));
  std::vector<std::thread> asking;
  for (size_t i = 0; i < announced.size(); ++i) {
    asking.emplace_back([&, i] { answers[i] = kind.check(announced[i].address, options); });
  }
  for (std::thread& thread : asking) thread.join();
  std::vector<FoundServer> proven;
  std::optional<absl::Status> failure;
  for (size_t i = 0; i < announced.size(); ++i) {
    if (answers[i].ok()) {
      proven.push_back({announced[i].name, announced[i].address, *std::move(answers[i])});
    } else if (!failure) {
      failure = answers[i].status();
    }
  }
  const bool any = !proven.empty();
  std::vector<FoundServer> ranked = Rank(std::move(proven));
  if (!ranked.empty()) return ranked;
  if (any) return NotFound("every server on this network is full: try again later");
  return NotFound("no server on this network lets us in; of {} announced, {}", announced.size(), Message(*failure));
}

absl::StatusOr<std::vector<FoundServer>> FindServers(const ServerAccess& access, const std::string& token,
                                                     const ServerKind& kind) {
  WHARF_RETURN_IF_ERROR(CheckProvable(access, token));
  const absl::StatusOr<std::string> program = FindProgram(link::kBrowseProgram);
  if (!program.ok()) return Unavailable("--server auto needs Avahi: install avahi-daemon and avahi-utils");
  WHARF_ASSIGN_OR_RETURN(const std::vector<link::Announcement> announced,
                         link::Browse(*program, kind.type, kListening));
  link::ConnectOptions options = access.Connecting();
  options.timeout = std::min(options.timeout, kCheck);
  return ChooseAmong(announced, kind, options);
}

absl::StatusOr<std::vector<FoundServer>> FindServers(const ServerAccess& access, const std::string& token) {
  return FindServers(
      access, token,
      {link::kServiceType, "wharf serve", [&token](const std::string& address, const link::ConnectOptions& options) {
         return CheckServer(address, options, token);
       }});
}

std::string Describe(const FoundServer& found) {
  return fmt::format("{} at {}, {:.1f} ms away, {} session{}", found.name, found.address,
                     Seconds(found.server.round_trip) * 1e3, found.server.sessions,
                     found.server.sessions == 1 ? "" : "s");
}

void SayToUser(const std::string& line) { std::fprintf(stderr, "wharf: %s\n", line.c_str()); }

}  // namespace wharf::cli
