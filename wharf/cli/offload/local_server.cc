#include "wharf/cli/offload/local_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
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

}  // namespace

absl::StatusOr<std::unique_ptr<LocalServer>> LocalServer::Start(const std::vector<std::string>& arguments,
                                                                const std::map<std::string, std::string>& variables,
                                                                Listener listener) {
  std::string directory = TemporaryDirectory() + "/wharf-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoStatus(errno, fmt::format("cannot make {}", directory));
  std::unique_ptr<LocalServer> server(new LocalServer(directory, std::move(listener)));
  WHARF_RETURN_IF_ERROR(server->Launch(arguments, variables));
  return server;
}

absl::Status LocalServer::Launch(const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& variables) {
  // Its only client is the user's own program, so name spaces would keep nobody from anything, and what is unsafe is so
  // for whoever asks for it.
  std::vector<std::string> all = {"wharf",           "serve", "--listen",  Address(), "--unsafe-replay",
                                  "--drain-timeout", "1s",    "--sandbox", "weak"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::map<std::string, std::string> changes = variables;
  if (getenv("WHARF_LOG") == nullptr) changes.emplace("WHARF_LOG", "warn");
  int ends[2], errors[2] = {-1, STDERR_FILENO};
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  if (listener_ && pipe2(errors, O_CLOEXEC) != 0) {
    close(ends[0]), close(ends[1]);
    return ErrnoStatus(errno, "pipe");
  }
  auto process = Subprocess::Start({.path = "/proc/self/exe",
                                    .arguments = std::move(all),
                                    .environment = ChangedEnvironment(changes),
                                    .descriptors = {kDevNull, ends[1], errors[1]},
                                    .own_group = true,  // a terminal's Ctrl-C is for the program; the server ends after
                                    .parent_death_signal = SIGTERM});
  close(ends[1]);
  if (listener_) {
    close(errors[1]);
    // Signals are the other thread's, which waits for them (cli/common/child_process.h).
    sigset_t all_signals, before;
    sigfillset(&all_signals);
    pthread_sigmask(SIG_BLOCK, &all_signals, &before);
    listening_ = std::thread([this, from = errors[0]] { Listen(from); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (process.ok()) process_ = *std::move(process);
  const absl::Status ready = process_ ? AwaitReady(ends[0]) : process.status();
  close(ends[0]);
  return ready;
}

// The server says one line on standard output once it listens, "wharf: serving DEVICE (DRIVER) on ADDRESS", and closes
// it without if it fails.
absl::Status LocalServer::AwaitReady(int output) {
  char line[256];
  ssize_t got = -1;
  while ((got = read(output, line, sizeof(line))) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    const std::string_view said(line, static_cast<size_t>(got));
    const size_t end = said.find(fmt::format(") on {}", Address())), begin = said.rfind('(', end);
    if (end == std::string_view::npos || begin == std::string_view::npos) {
      return Internal("the local server says '{}'", said);
    }
    driver_ = said.substr(begin + 1, end - begin - 1);
    return absl::OkStatus();
  }
  process_->Wait();
  process_.reset();
  return Unavailable("the local server did not start (its own line is above)");
}

void LocalServer::Listen(int from) const {
  std::string line;
  char some[4096];
  for (;;) {
    const ssize_t got = read(from, some, sizeof(some));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const std::string_view said(some, static_cast<size_t>(got));
    for (size_t done = 0; done < said.size();) {
      const ssize_t wrote = write(STDERR_FILENO, said.data() + done, said.size() - done);
      if (wrote < 0 && errno != EINTR) break;  // nobody reads
      done += wrote > 0 ? static_cast<size_t>(wrote) : 0;
    }
    for (const char c : said) {
      if (c != '\n') {
        line += c;
        continue;
      }
      listener_(line);
      line.clear();
    }
  }
  close(from);
}

void LocalServer::Stop() {
  if (process_) {
    process_->Signal(SIGTERM);
    process_->Wait();
    process_.reset();
  }
  if (listening_.joinable()) listening_.join();  // its processes have ended, and with them what they say
}

LocalServer::~LocalServer() {
  Stop();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace wharf::cli
