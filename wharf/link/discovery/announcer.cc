#include "wharf/link/discovery/announcer.h"

#include <unistd.h>

#include <array>
#include <optional>

#include "wharf/base/log.h"

namespace wharf::link {
namespace {

constexpr size_t kMostBytes = 63;  // of a DNS label

}  // namespace

std::string ServiceName() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') return "Wharf";
  return ("Wharf on " + std::string(host.data())).substr(0, kMostBytes);
}

absl::StatusOr<std::unique_ptr<Announcer>> Announcer::Start(const std::string& program, const std::string& name,
                                                            const std::string& type, uint16_t port) {
  sigset_t none;
  sigemptyset(&none);  // whoever starts it may wait for its signals elsewhere
  WHARF_ASSIGN_OR_RETURN(
      Subprocess process,
      Subprocess::Start({.path = program,
                         .arguments = {kAnnounceProgram, "--no-fail", "--service", name, type, std::to_string(port)},
                         .descriptors = {kDevNull, kDevNull, STDERR_FILENO},
                         .own_group = true,  // Ctrl-C is for the server, which ends it
                         .blocked = none,
                         .parent_death_signal = SIGTERM}));
  Log(LogLevel::kInfo, "announced on the local network", {{"name", name}, {"type", type}, {"port", port}});
  return std::unique_ptr<Announcer>(new Announcer(std::move(process)));
}

bool Announcer::HasEnded() {
  const std::optional<ProcessEnd> end = process_.Pid() < 0 ? std::nullopt : process_.TryWait();
  if (!end) return false;
  Log(LogLevel::kWarning, "the server is not announced any more: avahi-publish has ended",
      {{"signal", end->signal}, {"exit_code", end->code}});
  return true;
}

}  // namespace wharf::link
