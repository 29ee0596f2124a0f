#include "wharf/cli/bench_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace wharf::cli {
namespace {

[[noreturn]] void Exec(const std::string& path, std::vector<std::string>& arguments, int input, int output,
                       pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  _exit(127);
}

absl::Status StatusOf(int status) {
  if (WIFSIGNALED(status)) return Aborted("the program was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return absl::OkStatus();
  return Aborted("the program ended with code {} (its own words are above)", WEXITSTATUS(status));
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
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) Exec(path, arguments, input[0], output[1], parent);
  const int error = errno;
  close(input[0]), close(output[1]);
  std::unique_ptr<Child> child(new Child(pid, input[1], output[0]));
  if (pid < 0) return ErrnoStatus(error, "fork");
  return child;
}

Child::Child(pid_t pid, int input, int output) : pid_(pid), input_(fdopen(input, "w")), output_(fdopen(output, "r")) {}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
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
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "waitpid");
  }
  pid_ = -1;
  return StatusOf(status);
}

}  // namespace wharf::cli
