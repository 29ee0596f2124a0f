#include "wharf/cli/bench/common/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace wharf::cli {
namespace {

absl::Status StatusOf(const ProcessEnd& end) {
  if (end.signal != 0) return Aborted("the program was ended by signal {}", end.signal);
  if (end.code == 0) return absl::OkStatus();
  return Aborted("the program ended with code {} (its own words are above)", end.code);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Child>> Child::Start(const std::string& path, std::vector<std::string> arguments) {
  // Sockets, because writing to one that nobody reads can be told not to raise SIGPIPE.
  int input[2], output[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) return ErrnoStatus(errno, "socketpair");
  if (pipe2(output, O_CLOEXEC) != 0) {
    const int error = errno;
    close(input[0]), close(input[1]);
    return ErrnoStatus(error, "pipe");
  }
  auto process = Subprocess::Start({.path = path,
                                    .arguments = std::move(arguments),
                                    .descriptors = {input[0], output[1], STDERR_FILENO},
                                    .parent_death_signal = SIGTERM});
  close(input[0]), close(output[1]);
  if (!process.ok()) {
    close(input[1]), close(output[0]);
    return process.status();
  }
  return std::unique_ptr<Child>(new Child(*std::move(process), input[1], output[0]));
}

Child::Child(Subprocess process, int input, int output)
    : process_(std::move(process)), input_(fdopen(input, "w")), output_(fdopen(output, "r")) {}

Child::~Child() {
  if (process_.Pid() < 0) return;
  process_.Signal(SIGTERM);
  process_.Wait();
}

absl::StatusOr<std::string> Child::ReadLine() {
  char* line = nullptr;
  size_t room = 0;
  const ssize_t length = getline(&line, &room, output_.get());
  const std::unique_ptr<char, decltype(&free)> owned(line, free);
  if (length < 0) return OutOfRange("the program's output has ended");
  std::string text(line, static_cast<size_t>(length));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

absl::Status Child::AwaitLine(const std::string& wanted) {
  absl::StatusOr<std::string> line = ReadLine();
  while (line.ok() && *line != wanted) line = ReadLine();
  return line.status();
}

void Child::SendLine() { send(fileno(input_.get()), "\n", 1, MSG_NOSIGNAL); }

absl::Status Child::Wait() {
  while (ReadLine().ok()) {
  }
  return StatusOf(process_.Wait());
}

}  // namespace wharf::cli
