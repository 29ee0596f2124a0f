// What a server and the process that starts its relays say to each other. Internal to the room.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/link/socket.h"

namespace wharf::ar {

struct StartedRelay {
  link::UniqueFd socket{};  // to it
  link::UniqueFd line{};    // the relay is ended when this is closed
};

// The server's side. `connection` stays the caller's. kUnavailable: the starter is gone.
absl::Status AskForRelay(int starter, int connection);
// What the starter failed with; kUnavailable: it is gone; kInternal: it gives other descriptors than these two, of
// which none stays.
absl::StatusOr<StartedRelay> ReceiveRelay(int starter);

// The starter's: the connection of the next request, closed if the request has none; nothing: the server is gone.
std::optional<link::UniqueFd> NextRequest(int server);
// `error`, an errno, if it is not 0, or the two.
absl::Status SendRelay(int server, int error, const StartedRelay& started);

// The program with these as its descriptors behind `standard_error`, in a process group of its own (a terminal's Ctrl-C
// is the server's affair), and no environment.
absl::StatusOr<Subprocess> StartRelayProgram(const std::string& program, std::vector<std::string> arguments,
                                             Isolation isolation, int standard_error, std::span<const int> descriptors);

}  // namespace wharf::ar
