// What keeps a server that serves all its clients in its own process, in case one of them takes it over: name spaces of
// its own, all but the network's, and a filter of system calls (docs/security.md, "Other processes").
//
//   WHARF_ASSIGN_OR_RETURN(auto confinement, Confinement::Begin({.sandbox = options.sandbox}));
//   if (!confinement) return absl::OkStatus();  // this process was the server's guard
//   ...                                         // reads all files, looks up names, listens
//   WHARF_RETURN_IF_ERROR(confinement->Enter(PeerServerPolicy()));
//   ...                                         // reads the first byte of a stranger
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/sandbox.h"
#include "wharf/base/status.h"

namespace wharf::cli {

// --sandbox, as IsolationFor takes it; `sandbox` must outlive the command. `keeps`: whom it keeps, and what "strong"
// does.
void AddSandboxOption(CLI::App* command, std::string& sandbox,
                      const std::string& keeps =
                          "What keeps this server if it was taken over. strong: it makes only the system calls it "
                          "needs, and sees no files or processes but its own");

// Three quarters of this machine's.
uint64_t DefaultServerMemory();

// Whether this process is a server that its guard has started: what is to be said once is said already.
bool StartedByGuard();

struct ConfinementOptions {
  std::string sandbox = "strong";  // as IsolationFor takes it
  // Bytes. Allocations beyond that fail from Enter on; a guard ends a server that has 2 GiB more all the same.
  uint64_t memory = DefaultServerMemory();
  // A guard ends a server that has not ended so long after it was asked to: who has taken it over need not.
  Nanoseconds end_timeout = std::chrono::seconds(15);
  // Starts a process that does for the server what it may not do any more; isolated as the server, and unaffected by
  // what becomes of that one. The server's end of a socket to it, or of a HelperDoor. Null: there is none.
  std::function<absl::StatusOr<int>(Isolation)> start_helper = nullptr;
  // A guard calls it four times a second, and when a process that it started has ended, until the server is asked to
  // end. Null: nothing is to be done.
  std::function<void()> look_after_helper = nullptr;
  // Of a server that is to be announced on the local network, as link::Announcer::Start takes them: the program, and
  // the service's type. "": it is not.
  std::string announce_program = "", announce_type = "";
};

// --sandbox, --memory and --end-timeout, of the servers of one process; `options` must outlive the command.
void AddConfinementOptions(CLI::App* command, ConfinementOptions& options);

class Confinement {
 public:
  // For a command's beginning, in the first thread while it is the only one. With name spaces this process becomes the
  // guard of the server: it starts the same command line once more in them, passes signals on, and is back with
  // nothing, the server's exit code being set, when that one has ended. A guard that dies takes the server along. Fails
  // as IsolationFor and the helper.
  static absl::StatusOr<std::optional<Confinement>> Begin(const ConfinementOptions& options);

  // What start_helper returned; the caller's. -1: there is none.
  int HelperSocket() const { return helper_; }
  // Has the server announced, if it is to be, now that it listens at `address`: by its guard, whose process the server
  // cannot see, until it is asked to end; without one by this process, for as long as the calling thread lives. At most
  // once, before Enter. Fails as link::Announcer::Start; what goes wrong in the guard is logged there.
  absl::Status Announce(const std::string& address) const;
  // For good: no path leads anywhere, and `policy`.
  absl::Status Enter(const SandboxPolicy& policy) const { return Enter(policy, FileSystem::kEmpty); }
  // The same for a server that runs models on `device`, as exec::FindTorchDevice returns it: with a GPU, whose driver
  // opens files when it likes, all paths stay, and `on_gpu`.
  absl::Status EnterOn(const std::string& device, const SandboxPolicy& on_processor, const SandboxPolicy& on_gpu) const;

 private:
  Confinement(bool isolated, const ConfinementOptions& options, int helper)
      : isolated_(isolated),
        memory_(options.memory),
        helper_(helper),
        announce_program_(options.announce_program),
        announce_type_(options.announce_type) {}
  absl::Status Enter(const SandboxPolicy& policy, FileSystem becomes) const;
  bool isolated_;
  uint64_t memory_;
  int helper_;
  std::string announce_program_, announce_type_;
};

}  // namespace wharf::cli
