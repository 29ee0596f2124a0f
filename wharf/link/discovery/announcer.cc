#include "wharf/link/discovery/announcer.h"

#include <unistd.h>

#include <array>

#include "wharf/link/discovery/announcement.h"

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
                                                            uint16_t port) {
  sigset_t none;
  sigemptyset(&none);  // whoever starts it may wait for its signals elsewhere
  WHARF_ASSIGN_OR_RETURN(Subprocess process,
                         Subprocess::Start({.path = program,
                                            .arguments = {kAnnounceProgram, "--no-fail", "--service", name,
                                                          kServiceType, std::to_string(port)},
                                            .descriptors = {kDevNull, kDevNull, STDERR_FILENO},
                                            .own_group = true,  // Ctrl-C is for the server, which ends it
                                            .blocked = none,
                                            .parent_death_signal = SIGTERM}));
  return std::unique_ptr<Announcer>(new Announcer(std::move(process)));
}

std::optional<ProcessEnd> Announcer::TryWait() { return process_.Pid() < 0 ? std::nullopt : process_.TryWait(); }

}  // namespace wharf::link
