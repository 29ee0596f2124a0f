#include "wharf/base/subprocess/subprocess.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "wharf/base/sandbox/system_calls.h"

namespace wharf {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// All that execve needs, made before fork.
class Executable {
 public:
  explicit Executable(const Program& program)
      : path_(program.path),
        arguments_(program.arguments),
        environment_(program.environment ? *program.environment : std::vector<std::string>()),
        script_({"sh", program.path}),
        argument_pointers_(Pointers(arguments_)),
        environment_pointers_(Pointers(environment_)),
        own_environment_(!program.environment) {
    if (arguments_.size() > 1) script_.insert(script_.end(), arguments_.begin() + 1, arguments_.end());
    script_pointers_ = Pointers(script_);
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // Returns errno. System calls only.
  int Execute() const {
    char* const* environment = own_environment_ ? environ : environment_pointers_.data();
    execve(path_.c_str(), argument_pointers_.data(), environment);
    if (errno != ENOEXEC) return errno;
    execve("/bin/sh", script_pointers_.data(), environment);
    return errno;
  }

 private:
  const std::string path_;
  std::vector<std::string> arguments_, environment_, script_;
  std::vector<char*> argument_pointers_, environment_pointers_, script_pointers_;
  const bool own_environment_;
};

// Marks everything from `first` on close-on-exec.
void CloseOnExecFrom(int first) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  rlimit limit{};  // Linux before 5.11
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int descriptor = first; descriptor < static_cast<int>(limit.rlim_cur); ++descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
}

// The new process until it is the program. System calls only, on memory made before fork.
class NewProcess {
 public:
  // `keeper`: both ends of a pipe, or -1 if there are no name spaces.
  NewProcess(const Program& program, const sigset_t& blocked, int error_pipe, const int (&keeper)[2])
      : program_(program),
        executable_(program),
        namespaces_(program.isolation, program.network),
        keeper_end_(keeper[0]),
        sources_(program.descriptors),
        blocked_(program.blocked ? *program.blocked : blocked),
        error_pipe_(error_pipe),
        parent_(getpid()) {
    if (Isolated()) sources_.push_back(keeper[1]);
  }

  // As fork.
  pid_t Fork() const { return Isolated() ? namespaces_.Fork() : fork(); }

  [[noreturn]] void Run() {
    if (program_.parent_death_signal) {
      prctl(PR_SET_PDEATHSIG, *program_.parent_death_signal);
      if (!Isolated() && getppid() != parent_) _exit(1);  // it died before we asked
    }
    // No session of its own: kernels that share the processors out by session (autogroup) let a new one wait for
    // seconds behind busy ones.
    if (program_.own_group) setpgid(0, 0);
    if (Isolated()) {
      if (const int error = namespaces_.Settle(keeper_end_); error != 0) Fail(error);
    }
    if (!PlaceDescriptors()) Fail(errno);
    if (program_.prepare != nullptr) program_.prepare();
    ResetSignals();
    Fail(executable_.Execute());
  }

 private:
  bool Isolated() const { return program_.isolation != Isolation::kNone; }
  // First to where nothing is overwritten, then to their places.
  bool PlaceDescriptors() {
    const int count = static_cast<int>(sources_.size());
    error_pipe_ = fcntl(error_pipe_, F_DUPFD_CLOEXEC, count);
    for (int& source : sources_) {
      const bool closed = source <= STDERR_FILENO && fcntl(source, F_GETFD) < 0;  // as kDevNull is
      const int from = closed ? open("/dev/null", O_RDWR | O_CLOEXEC) : source;
      source = fcntl(from, F_DUPFD_CLOEXEC, count);
      if (source < 0) return false;
    }
    for (int place = 0; place < count; ++place) {
      if (dup2(sources_[place], place) < 0) return false;
    }
    if (!program_.inherit_descriptors) CloseOnExecFrom(count);
    return true;
  }
  // Our handlers are not the program's, and must not run here: a signal comes through as soon as it is not blocked.
  void ResetSignals() const {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action {};
      if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      sigaction(number, &action, nullptr);
    }
    sigprocmask(SIG_SETMASK, &blocked_, nullptr);
  }
  [[noreturn]] void Fail(int error) const {
    [[maybe_unused]] const ssize_t told = write(error_pipe_, &error, sizeof(error));
    _exit(127);
  }

  const Program& program_;
  const Executable executable_;
  const NewNamespaces namespaces_;
  const int keeper_end_;
  std::vector<int> sources_;
  const sigset_t blocked_;
  int error_pipe_;
  const pid_t parent_;
};

// That a variable of this name is none of the user's own.
bool IsPlain(std::string_view name) {
  constexpr std::string_view kNames[] = {"HOME", "LANG",   "LANGUAGE", "LOGNAME", "NO_COLOR", "PATH",          "PWD",
                                         "TERM", "TMPDIR", "TZ",       "TZDIR",   "USER",     "GLIBC_TUNABLES"};
  // Of the system; of drivers; of numeric libraries; of sanitizers, coverage and emulators.
  constexpr std::string_view kBeginnings[] = {
      "LC_",    "LD_",     "MALLOC_", "SSL_CERT_", "XDG_",  "WHARF_",        "CUBLAS_",  "CUDA_",
      "CUDNN_", "NVIDIA_", "NV_",     "ATEN_",     "BLIS_", "DNNL_",         "GOMP_",    "GOTO_",
      "KMP_",   "MKL_",    "OMP_",    "ONEDNN_",   "ONNX_", "OPENBLAS_",     "PYTORCH_", "TORCH_",
      "ASAN_",  "LSAN_",   "TSAN_",   "UBSAN_",    "GCOV_", "LLVM_PROFILE_", "QEMU_"};
  if (name.starts_with("WHARF_TOKEN")) return false;
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

ProcessEnd EndOf(int status) {
  return WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
}

// Ended or not: waitpid's answer.
pid_t WaitFor(pid_t pid, int* status, int flags) {
  pid_t got = 0;
  while ((got = waitpid(pid, status, flags)) < 0 && errno == EINTR) {
  }
  return got;
}

// What the new process says before it ends, or 0 when its pipe closes because it is the program.
int ErrorOf(int pipe) {
  int error = 0;
  ssize_t got = 0;
  while ((got = read(pipe, &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  return got == sizeof(error) ? error : 0;
}

absl::Status CannotExecute(int error, const Program& program) {
  return ErrnoStatus(error, "cannot execute " + program.path);
}

}  // namespace

std::vector<std::string> PlainEnvironment() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (IsPlain(text.substr(0, text.find('=')))) kept.emplace_back(text);
  }
  return kept;
}

std::vector<std::string> ChangedEnvironment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> changed;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!changes.contains(text.substr(0, text.find('=')))) changed.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) changed.push_back(name + "=" + value);
  }
  return changed;
}

absl::StatusOr<Subprocess> Subprocess::Start(const Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  int keeper[2] = {-1, -1};
  if (program.isolation != Isolation::kNone && pipe2(keeper, O_CLOEXEC) != 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return ErrnoStatus(error, "pipe");
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the new process
  NewProcess process(program, before, ends[1], keeper);
  const pid_t pid = process.Fork();
  if (pid == 0) process.Run();
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int end : {ends[1], keeper[0], keeper[1]}) {
    if (end >= 0) close(end);
  }
  const int error = pid < 0 ? fork_error : ErrorOf(ends[0]);
  close(ends[0]);
  if (error == 0) return Subprocess(pid);
  if (pid > 0) WaitFor(pid, nullptr, 0);
  return CannotExecute(error, program);
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this == &other) return *this;
  End();
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

void Subprocess::End() {
  if (pid_ < 0) return;
  Signal(SIGKILL);
  Wait();
}

void Subprocess::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

ProcessEnd Subprocess::Wait() {
  int status = 0;
  WaitFor(std::exchange(pid_, -1), &status, 0);
  return EndOf(status);
}

std::optional<ProcessEnd> Subprocess::TryWait() {
  int status = 0;
  if (WaitFor(pid_, &status, WNOHANG) == 0) return std::nullopt;
  pid_ = -1;
  return EndOf(status);
}

absl::Status ReplaceProcess(const Program& program) { return CannotExecute(Executable(program).Execute(), program); }

}  // namespace wharf
