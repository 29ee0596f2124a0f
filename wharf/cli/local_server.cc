#include "wharf/cli/local_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace wharf::cli {
namespace {

std::string TemporaryDirectory() {
  const char* wanted = getenv("TMPDIR");
  std::string base = wanted != nullptr && *wanted == '/' ? wanted : "/tmp";
  // A Unix socket's path has at most 107 characters.
  if (base.size() > 60) base = "/tmp";
  return base;
}

[[noreturn]] void ExecServer(std::vector<std::string> arguments, const std::map<std::string, std::string>& variables,
                             int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  // A terminal's Ctrl-C is for the program; the server ends after it.
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  setenv("WHARF_LOG", "warn", 0);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalServer>> LocalServer::Start(const std::vector<std::string>& arguments,
                                                                const std::map<std::string, std::string>& variables) {
  std::string directory = TemporaryDirectory() + "/wharf-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoStatus(errno, fmt::format("cannot make {}", directory));
  std::unique_ptr<LocalServer> server(new LocalServer(directory));
  WHARF_RETURN_IF_ERROR(server->Launch(arguments, variables));
  return server;
}

absl::Status LocalServer::Launch(const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all = {"wharf", "serve", "--listen", Address(), "--drain-timeout", "1s"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) ExecServer(std::move(all), variables, ends[1], parent);
  const int fork_error = errno;
  close(ends[1]);
  const absl::Status ready = pid_ < 0 ? ErrnoStatus(fork_error, "cannot start a local server") : AwaitReady(ends[0]);
  close(ends[0]);
  return ready;
}

// The server says one line on standard output once it listens, and closes it without if it fails.
absl::Status LocalServer::AwaitReady(int output) {
  char line[256];
  ssize_t got = -1;
  while ((got = read(output, line, sizeof(line))) < 0 && errno == EINTR) {
  }
  if (got > 0) return absl::OkStatus();
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  return Unavailable("the local server did not start (its own line is above)");
}

LocalServer::~LocalServer() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace wharf::cli
