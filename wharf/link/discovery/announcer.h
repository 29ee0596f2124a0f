// Announces a server on the local network for as long as it lives: by Avahi's own program, which has this machine's
// avahi-daemon do it, waits for that daemon where it does not run yet, and takes another name where the name is taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::link {

inline constexpr const char* kAnnounceProgram = "avahi-publish";

// "Wharf on HOST", of as many bytes as a service's name may have.
std::string ServiceName();

// Not thread-safe.
class Announcer {
 public:
  // Runs `program`, the path of avahi-publish: a service of `type` at `port`, and all of this machine's addresses. What
  // it says goes to standard error. To be called on a thread that lives as long. Fails as Subprocess::Start.
  static absl::StatusOr<std::unique_ptr<Announcer>> Start(const std::string& program, const std::string& name,
                                                          const std::string& type, uint16_t port);
  // Whether the program has ended by itself: true once, and logged.
  bool HasEnded();
  // For who may soon signal no process any more: it ends with the thread that started it, and nobody hears of it.
  void Release() { process_.Release(); }

 private:
  explicit Announcer(Subprocess process) : process_(std::move(process)) {}
  Subprocess process_;
};

}  // namespace wharf::link
