#include "wharf/cli/common/confined_server.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/server/front/signals.h"

namespace wharf::cli {
namespace {

// Set for the server. Whoever sets it for a guard's process gets no server: it has no keeper of a file system.
constexpr const char* kVariable = "WHARF_STARTED_BY_GUARD";
constexpr int kHelperDescriptor = STDERR_FILENO + 1, kFileSystemDescriptor = kHelperDescriptor + 1;

// This process's own.
absl::StatusOr<std::vector<std::string>> CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) return Unavailable("cannot read /proc/self/cmdline");
  return words;
}

absl::StatusOr<Subprocess> StartServer(Isolation isolation, int helper, const sigset_t& before) {
  Program program;
  std::error_code unreadable;
  program.path = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  WHARF_ASSIGN_OR_RETURN(program.arguments, CommandLine());
  program.environment = ChangedEnvironment({{kVariable, "1"}});
  program.descriptors = {0, 1, 2, helper >= 0 ? helper : kDevNull};
  program.isolation = isolation;
  program.network = Network::kMachines;
  // In a name space of processes the first one gets only what it waits for: signals that come early wait for it.
  const sigset_t ending = server::EndingSignals();
  sigorset(&program.blocked.emplace(), &before, &ending);
  program.parent_death_signal = SIGKILL;
  return Subprocess::Start(program);
}

// Ends a server that uses more than it may.
void EndGreedy(const Subprocess& server, uint64_t memory) {
  constexpr uint64_t kUncounted = uint64_t{2} << 30;  // LibTorch itself, and what was there before the limit
  const absl::StatusOr<ProcessUse> use = UseOf(server.Pid());
  if (!use.ok() || (use->memory <= memory + kUncounted && use->threads <= kMostServerThreads)) return;
  std::fprintf(stderr, "wharf: the server uses more than it may (%llu MiB, %d threads), and is ended\n",
               static_cast<unsigned long long>(use->memory >> 20), use->threads);
  server.Signal(SIGKILL);
}

// Its end, while signals are passed on to it: the first, and the second, which ends it at once.
ProcessEnd Await(Subprocess& server, const sigset_t& awaited, uint64_t memory, std::optional<int>& ended_by) {
  constexpr timespec kBetweenLooks{0, 250'000'000};
  std::optional<int> asked_by;
  for (std::optional<ProcessEnd> end;;) {
    siginfo_t info{};
    const int signal = sigtimedwait(&awaited, &info, &kBetweenLooks);
    if (signal < 0 && errno == EAGAIN && !kSanitized) EndGreedy(server, memory);
    if (signal == SIGCHLD) {
      if ((end = server.TryWait())) return *end;
    } else if (signal > 0 && asked_by) {
      ended_by = signal;
      server.Signal(SIGKILL);
    } else if (signal > 0) {
      asked_by = signal;
      if (info.si_code <= 0) server.Signal(signal);  // a terminal's own goes to the whole group
    }
  }
}

void Guard(Subprocess server, const sigset_t& awaited, uint64_t memory) {
  std::optional<int> ended_by;
  const ProcessEnd end = Await(server, awaited, memory, ended_by);
  if (ended_by && end.signal == SIGKILL) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, *ended_by);
    sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    raise(*ended_by);  // which is the end of a process that does not handle it
  }
  if (end.signal == SIGSYS) {
    std::fprintf(stderr, "wharf: the server made a system call that its sandbox does not have, and was ended\n");
  } else if (end.signal != 0) {
    std::fprintf(stderr, "wharf: the server was ended by signal %d\n", end.signal);
  }
  SetExitCode(end.ShellCode());
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

void AddMemoryOption(CLI::App* command, uint64_t& bytes) {
  AddBytes(command, "--memory", bytes,
           "Memory of all its clients together; three quarters of the machine's by default");
}

bool StartedByGuard() { return std::getenv(kVariable) != nullptr; }

absl::StatusOr<std::optional<Confinement>> Confinement::Begin(const ConfinementOptions& options) {
  if (StartedByGuard()) {
    for (const int descriptor : {kHelperDescriptor, kFileSystemDescriptor}) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return Confinement(/*isolated=*/true, options.memory, options.start_helper != nullptr ? kHelperDescriptor : -1);
  }
  WHARF_ASSIGN_OR_RETURN(const Isolation isolation, IsolationFor(options.sandbox));
  int helper = -1;
  if (options.start_helper != nullptr) {
    WHARF_ASSIGN_OR_RETURN(helper, options.start_helper(isolation));
  }
  if (isolation == Isolation::kNone) return Confinement(/*isolated=*/false, options.memory, helper);
  sigset_t awaited = server::EndingSignals(), before;
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, &before);
  absl::StatusOr<Subprocess> server = StartServer(isolation, helper, before);
  if (helper >= 0) close(helper);
  WHARF_RETURN_IF_ERROR(server.status());
  Guard(*std::move(server), awaited, options.memory);
  return std::nullopt;
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
