// Relays in processes of their own, for a server that starts no process: another one does, which was started before and
// reads nothing of clients.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/link/byte_stream.h"

namespace wharf::ar {

// Starts relays. A relay ends with its stream, a second after it if it has to be made to; and all with the process that
// starts them, but where that one is killed: then each with its stream, if it was not taken over. Another process may
// follow it. Thread-safe.
class RelayStarter {
 public:
  struct Process {
    Subprocess process;  // ends when its socket is closed
    int socket = -1;     // for At
  };
  // `program`, wharf-relay, as what starts relays; each with `arguments`, and in name spaces of its own if
  // `isolation` says so.
  static absl::StatusOr<Process> StartProcess(const std::string& program, Isolation isolation,
                                              const std::vector<std::string>& arguments);
  // Owns the socket.
  static std::unique_ptr<RelayStarter> At(int socket);
  // Owns an end of a door (base/passed_descriptors.h) through which sockets to processes that follow one another come.
  static std::unique_ptr<RelayStarter> Behind(int door);
  virtual ~RelayStarter() = default;
  // The stream to a relay of the client at `connection`, which is the relay's from then on; Peer is the client. Nothing
  // of the client is read. kUnavailable: the process is gone and no other has followed it.
  virtual absl::StatusOr<std::unique_ptr<link::ByteStream>> Start(int connection) = 0;
};

// --- For wharf-relay: its arguments are one of these, the number of an Isolation, and the arguments of StartProcess.
inline constexpr const char* kStarterMode = "starter";
inline constexpr const char* kRelayMode = "relay";

// Starts relays until the server closes its socket, kRelayServerDescriptor; returns the exit code. `own`: this
// program's arguments.
int StartRelays(std::span<char* const> own);

// A relay has these two; if it has name spaces of its own, then one for LeaveFileSystem.
inline constexpr int kRelayServerDescriptor = 3, kRelayClientDescriptor = 4, kRelayFileSystemDescriptor = 5;

}  // namespace wharf::ar
