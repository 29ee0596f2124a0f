// Who announces itself on the local network, as this machine's avahi-daemon has heard it. Avahi's own program asks it:
// D-Bus and its libraries stay out of ours.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/discovery/announcement.h"

namespace wharf::link {

inline constexpr const char* kBrowseProgram = "avahi-browse";

// Servers of `type`, a service's. Runs `program`, the path of avahi-browse, which takes a second where every server
// answers. Who does not is waited for until `patience` has passed; then it is what was found so far. kUnavailable:
// avahi-daemon does not run, or the program cannot.
absl::StatusOr<std::vector<Announcement>> Browse(const std::string& program, const std::string& type,
                                                 Nanoseconds patience);

}  // namespace wharf::link
