#include "wharf/cli/common/confined_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/link/address.h"
#include "wharf/link/discovery/announcer.h"
#include "wharf/link/socket.h"
#include "wharf/server/front/signals.h"

namespace wharf::cli {
namespace {

// Set for the server. Whoever sets it for a guard's process gets no server: it has no keeper of a file system.
constexpr const char* kVariable = "WHARF_STARTED_BY_GUARD";
constexpr int kHelperDescriptor = STDERR_FILENO + 1, kPortDescriptor = kHelperDescriptor + 1,
              kFileSystemDescriptor = kPortDescriptor + 1;

// This process's own.
absl::StatusOr<std::vector<std::string>> CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) return Unavailable("cannot read /proc/self/cmdline");
  return words;
}

// A pipe by which a server tells its guard at which port it is to be announced; both ends -1 if it is not.
struct PortPipe {
  link::UniqueFd guards, servers;
};

absl::StatusOr<PortPipe> MakePortPipe(const ConfinementOptions& options) {
  if (options.announce_program.empty()) return PortPipe();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoStatus(errno, "pipe");
  return PortPipe{link::UniqueFd(ends[0]), link::UniqueFd(ends[1])};
}

absl::StatusOr<Subprocess> StartServer(Isolation isolation, int helper, int port, const sigset_t& before) {
  Program program;
  std::error_code unreadable;
  program.path = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  WHARF_ASSIGN_OR_RETURN(program.arguments, CommandLine());
  program.environment = PlainEnvironment();
  program.environment->push_back(fmt::format("{}=1", kVariable));
  program.descriptors = {0, 1, 2, helper >= 0 ? helper : kDevNull, port >= 0 ? port : kDevNull};
  program.isolation = isolation;
  program.network = Network::kMachines;
  // In a name space of processes the first one gets only what it waits for: signals that come early wait for it.
  const sigset_t ending = server::EndingSignals();
  sigorset(&program.blocked.emplace(), &before, &ending);
  program.parent_death_signal = SIGKILL;
  return Subprocess::Start(program);
}

// Outside of the name spaces, and so whatever becomes of the server: passes signals on to it, and ends it when it does
// not keep to its limits.
class Guard {
 public:
  Guard(Subprocess server, link::UniqueFd port, const ConfinementOptions& options)
      : server_(std::move(server)), port_(std::move(port)), options_(options) {}
  // Until the server's end, which becomes this process's. `awaited`: ending signals and SIGCHLD, blocked.
  void Watch(const sigset_t& awaited);

 private:
  ProcessEnd Await(const sigset_t& awaited);
  void OnEndingSignal(const siginfo_t& info);
  void LookAtAnnouncement();
  void LookAtUse();
  void LookAtTime();
  void EndServer(const std::string& why);

  Subprocess server_;
  link::UniqueFd port_;  // what it is announced at comes of it, once; -1: it came, or never will
  const ConfinementOptions& options_;
  std::unique_ptr<link::Announcer> announcer_;
  std::optional<TimePoint> asked_at_;  // to end
  std::optional<int> ended_by_;        // the second signal
  bool said_why_ = false;              // it was ended
};

void Guard::Watch(const sigset_t& awaited) {
  const ProcessEnd end = Await(awaited);
  if (ended_by_ && end.signal == SIGKILL) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, *ended_by_);
    sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    raise(*ended_by_);  // which is the end of a process that does not handle it
  }
  if (end.signal == SIGSYS) {
    std::fprintf(stderr, "wharf: the server made a system call that its sandbox does not have, and was ended\n");
  } else if (end.signal != 0 && !said_why_) {
    std::fprintf(stderr, "wharf: the server was ended by signal %d\n", end.signal);
  }
  SetExitCode(end.ShellCode());
}

ProcessEnd Guard::Await(const sigset_t& awaited) {
  constexpr timespec kBetweenLooks{0, 250'000'000};
  for (;;) {
    siginfo_t info{};
    const int signal = sigtimedwait(&awaited, &info, &kBetweenLooks);
    if (signal == SIGCHLD) {
      if (const auto end = server_.TryWait()) return *end;
    } else if (signal > 0) {
      OnEndingSignal(info);
    }
    LookAtAnnouncement();
    if (!kSanitized) {  // which takes memory and time as it likes
      LookAtUse();
      LookAtTime();
    }
    if (options_.look_after_helper != nullptr && !asked_at_) options_.look_after_helper();
  }
}

// The first is passed on, the second ends the server at once.
void Guard::OnEndingSignal(const siginfo_t& info) {
  if (asked_at_) {
    ended_by_ = info.si_signo;
    server_.Signal(SIGKILL);
    return;
  }
  asked_at_ = Clock::Real().Now();
  if (info.si_code <= 0) server_.Signal(info.si_signo);  // a terminal's own goes to the whole group
}

// The port is written before the server reads the first byte of a stranger; nothing else of the pipe is read.
void Guard::LookAtAnnouncement() {
  if (asked_at_ || (announcer_ != nullptr && announcer_->HasEnded())) announcer_.reset();
  uint16_t port = 0;
  const ssize_t got = port_.get() < 0 || asked_at_ ? -1 : read(port_.get(), &port, sizeof(port));
  if (got < 0) return;
  port_.Reset(-1);
  if (got != sizeof(port)) return;
  auto announcer = link::Announcer::Start(options_.announce_program, link::ServiceName(), options_.announce_type, port);
  if (announcer.ok()) {
    announcer_ = *std::move(announcer);
  } else {
    Log(LogLevel::kError, "the server cannot be announced", {{"why", Message(announcer.status())}});
  }
}

void Guard::LookAtUse() {
  constexpr uint64_t kUncounted = uint64_t{2} << 30;  // LibTorch itself, and what was there before the limit
  const absl::StatusOr<ProcessUse> use = UseOf(server_.Pid());
  if (!use.ok() || (use->memory <= options_.memory + kUncounted && use->threads <= kMostServerThreads)) return;
  EndServer(fmt::format("the server uses more than it may ({} MiB, {} threads), and is ended", use->memory >> 20,
                        use->threads));
}

void Guard::LookAtTime() {
  if (!asked_at_ || Clock::Real().Now() - *asked_at_ < options_.end_timeout) return;
  EndServer(fmt::format("the server has not ended {:g} s after it was asked to, and is ended",
                        Seconds(options_.end_timeout)));
}

void Guard::EndServer(const std::string& why) {
  server_.Signal(SIGKILL);  // first: it has our standard error, too, and may have filled a pipe that nobody reads
  if (!std::exchange(said_why_, true)) std::fprintf(stderr, "wharf: %s\n", why.c_str());
}

}  // namespace

void AddSandboxOption(CLI::App* command, std::string& sandbox, const std::string& keeps) {
  command
      ->add_option("--sandbox", sandbox,
                   keeps +
                       "; the server does not start where that cannot be had. weak: only the former, for containers "
                       "that permit no name spaces")
      ->check(CLI::IsMember({"strong", "weak"}))
      ->capture_default_str();
}

uint64_t DefaultServerMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4 * 3;
}

void AddConfinementOptions(CLI::App* command, ConfinementOptions& options) {
  AddSandboxOption(command, options.sandbox);
  AddBytes(command, "--memory", options.memory,
           "Memory of all its clients together; three quarters of the machine's by default");
  AddDuration(command, "--end-timeout", options.end_timeout,
              "With --sandbox=strong: a server that has not ended so long after SIGTERM is ended");
}

bool StartedByGuard() { return std::getenv(kVariable) != nullptr; }

absl::StatusOr<std::optional<Confinement>> Confinement::Begin(const ConfinementOptions& options) {
  if (StartedByGuard()) {
    for (const int descriptor : {kHelperDescriptor, kPortDescriptor, kFileSystemDescriptor}) {
      fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
    return Confinement(/*isolated=*/true, options, options.start_helper != nullptr ? kHelperDescriptor : -1);
  }
  WHARF_ASSIGN_OR_RETURN(const Isolation isolation, IsolationFor(options.sandbox));
  int helper = -1;
  if (options.start_helper != nullptr) {
    WHARF_ASSIGN_OR_RETURN(helper, options.start_helper(isolation));
  }
  if (isolation == Isolation::kNone) return Confinement(/*isolated=*/false, options, helper);
  sigset_t awaited = server::EndingSignals(), before;
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, &before);
  WHARF_ASSIGN_OR_RETURN(PortPipe port, MakePortPipe(options));
  absl::StatusOr<Subprocess> server = StartServer(isolation, helper, port.servers.get(), before);
  port.servers.Reset(-1);
  if (helper >= 0) close(helper);
  WHARF_RETURN_IF_ERROR(server.status());
  Guard(*std::move(server), std::move(port.guards), options).Watch(awaited);
  return std::nullopt;
}

absl::Status Confinement::Announce(const std::string& address) const {
  if (announce_program_.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const link::ParsedAddress here, link::ParseAddress(address));
  const auto port = static_cast<uint16_t>(std::atoi(here.port.c_str()));
  if (isolated_) {
    const link::UniqueFd guard(kPortDescriptor);
    const ssize_t written = write(guard.get(), &port, sizeof(port));
    return written == sizeof(port) ? absl::OkStatus() : ErrnoStatus(errno, "cannot tell the guard the port");
  }
  WHARF_ASSIGN_OR_RETURN(const auto announcer,
                         link::Announcer::Start(announce_program_, link::ServiceName(), announce_type_, port));
  announcer->Release();  // the sandbox has no signals for others
  return absl::OkStatus();
}

absl::Status Confinement::EnterOn(const std::string& device, const SandboxPolicy& on_processor,
                                  const SandboxPolicy& on_gpu) const {
  return device == "cpu" ? Enter(on_processor, FileSystem::kEmpty) : Enter(on_gpu, FileSystem::kKept);
}

absl::Status Confinement::Enter(const SandboxPolicy& policy, FileSystem becomes) const {
  // A GPU's driver reserves what it likes; with one, the guard counts what is used.
  if (becomes == FileSystem::kEmpty && !kSanitized) WHARF_RETURN_IF_ERROR(LimitMemory(memory_));
  if (isolated_) {
    WHARF_RETURN_IF_ERROR(LeaveFileSystem(kFileSystemDescriptor, kSanitized ? FileSystem::kKept : becomes));
  }
  return EnterSandbox(policy);
}

}  // namespace wharf::cli
