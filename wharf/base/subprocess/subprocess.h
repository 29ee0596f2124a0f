// Programs that we start, in processes of their own.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"

namespace wharf {

inline constexpr int kDevNull = -1;  // instead of a descriptor: /dev/null

struct Program {
  std::string path;                    // not looked for in PATH; a script without an interpreter line is /bin/sh's
  std::vector<std::string> arguments;  // with the program's name
  std::optional<std::vector<std::string>> environment = std::nullopt;  // "NAME=value", nothing else; left out: ours

  // Our descriptor that becomes 0 of the program, 1, 2 and so on; a standard stream that is closed here is /dev/null
  // there. It gets no other: not even those of ours that are not
  // close-on-exec, unless `inherit_descriptors` is set.
  std::vector<int> descriptors = {0, 1, 2};
  bool inherit_descriptors = false;

  // In name spaces of its own (sandbox/namespaces.h). After `descriptors` it gets one
  // more, for LeaveFileSystem, which it must call.
  Isolation isolation = Isolation::kNone;
  Network network = Network::kNone;                       // if it has name spaces of its own
  bool own_group = false;                                 // of processes: a terminal's Ctrl-C is not for it
  std::optional<sigset_t> blocked = std::nullopt;         // signals; left out: the calling thread's
  std::optional<int> parent_death_signal = std::nullopt;  // it gets this signal when the calling THREAD ends
  // Called in the new process just before the program: async-signal-safe calls only.
  void (*prepare)() = nullptr;
};

// Ours with these changes: replaced or added; "" removes.
std::vector<std::string> ChangedEnvironment(const std::map<std::string, std::string>& changes);

// For a process that strangers may take over: of ours what the system, libraries and drivers are set with, and Wharf's
// own variables but the token. Whatever else there is may be a secret of the user's.
std::vector<std::string> PlainEnvironment();

// How a process ended.
struct ProcessEnd {
  int code = 0;    // its exit code
  int signal = 0;  // that ended it, or 0
  // As shells say it: the exit code, or 128 + the signal.
  int ShellCode() const { return signal != 0 ? 128 + signal : code; }
  friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

// A process that we started. Not thread-safe.
class Subprocess {
 public:
  // Returns once the program runs. ErrnoStatus "cannot execute PATH: …" if it cannot: kNotFound, kPermissionDenied and
  // so on. What the new process does before it is the program is async-signal-safe, so other threads do not matter.
  static absl::StatusOr<Subprocess> Start(const Program& program);

  Subprocess(Subprocess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Subprocess& operator=(Subprocess&& other) noexcept;
  // Kills it (SIGKILL) and waits for its end, unless that was seen before or it was released.
  ~Subprocess() { End(); }

  pid_t Pid() const { return pid_; }  // -1 after its end or its release
  // Does nothing after its end.
  void Signal(int number) const;
  // REQUIRES (both): its end has not been seen, and it has not been released.
  ProcessEnd Wait();
  std::optional<ProcessEnd> TryWait();  // std::nullopt while it runs
  // From now on the process is the caller's, who waits for it.
  pid_t Release() { return std::exchange(pid_, -1); }

 private:
  explicit Subprocess(pid_t pid) : pid_(pid) {}
  void End();
  pid_t pid_;
};

// Makes this process the program, with the descriptors and signals that it has: of `program` only path, arguments and
// environment count. Returns only on failure, as Start.
absl::Status ReplaceProcess(const Program& program);

}  // namespace wharf
