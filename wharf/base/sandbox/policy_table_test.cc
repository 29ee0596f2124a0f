// Tries every system call under every policy, and compares what became of them with the table in docs/security.md:
// WHARF_WRITE_TABLE=1 writes that instead.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "wharf/base/sandbox/policies.h"

namespace wharf {
namespace {

// Of x86-64, as the kernel's header has them.
constexpr const char* kNumbers = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
constexpr const char* kBegin = "<!-- policies: begin -->\n";
constexpr const char* kEnd = "<!-- policies: end -->";

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<uint32_t, std::string> Names() {
  std::map<uint32_t, std::string> names;
  const std::string text = TextOf(kNumbers);
  const std::regex line(R"(#define __NR_(\w+) (\d+))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    names[static_cast<uint32_t>(std::stoul((*it)[2]))] = (*it)[1];
  }
  return names;
}

using Arguments = std::array<uint64_t, 6>;

// Arguments that do no harm, whatever the call.
Arguments Harmless() { return {~uint64_t{0}}; }

// Whether a process that makes the call is ended for it. `arguments` are made in that process.
bool Ends(const SandboxPolicy& policy, uint32_t call, const std::function<Arguments()>& arguments = Harmless) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(2);  // some wait
    const Arguments with = arguments();
    if (!EnterSandbox(policy).ok()) _exit(1);
    syscall(call, with[0], with[1], with[2], with[3], with[4], with[5]);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

std::string Listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text.empty() ? "none" : text;
}

// How a call that is allowed with some arguments is tried: with such, and with others. None does harm if it is carried
// out.
struct Attempts {
  std::vector<std::function<Arguments()>> allowed, refused;
};
using AttemptsAt = std::map<std::string, Attempts>;

template <typename... T>
std::function<Arguments()> With(T... arguments) {
  return [=] { return Arguments{static_cast<uint64_t>(arguments)...}; };
}

AttemptsAt CommonAttempts() {
  constexpr uint64_t kMinusOne = ~uint64_t{0};
  constexpr uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                               CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  static char buffer[64];
  const auto memory = reinterpret_cast<uint64_t>(buffer);
  return {
      // No thread begins: there can be no thread-local storage at that address.
      {"clone",
       {{With(kThread, 0, 0, 0, kMinusOne)},
        {With(SIGCHLD), With(CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, kMinusOne), With(kThread & ~CLONE_THREAD),
         With(kThread | CLONE_NEWUSER, 0, 0, 0, kMinusOne)}}},
      {"fcntl",
       {{With(-1, F_DUPFD_CLOEXEC), With(-1, F_GETFD), With(-1, F_SETFD), With(-1, F_GETFL), With(-1, F_SETFL)},
        {With(-1, F_DUPFD), With(-1, F_SETOWN), With(-1, F_SETLK), With(-1, F_SETLEASE), With(-1, F_NOTIFY)}}},
      {"ioctl", {{With(-1, FIONREAD)}, {With(-1, TIOCSTI), With(-1, FIOASYNC)}}},
      {"mmap",
       {{With(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1)},
        {With(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1),
         With(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1),
         With(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1),
         With(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1)}}},
      {"mprotect",
       {{With(0, 0, PROT_READ), With(0, 0, PROT_READ | PROT_WRITE), With(0, 0, PROT_NONE)},
        {With(0, 0, PROT_READ | PROT_EXEC), With(0, 0, PROT_READ | PROT_WRITE | PROT_EXEC)}}},
      {"prctl",
       {{With(PR_SET_NAME, memory), With(PR_GET_NAME, memory)},
        {With(PR_SET_DUMPABLE, 1), With(PR_SET_SECCOMP, 0), With(PR_SET_PDEATHSIG, 0)}}},
      {"prlimit64",
       {{With(0, RLIMIT_NOFILE, 0, memory)},
        {With(0, RLIMIT_NOFILE, memory, 0), [] { return Arguments{static_cast<uint64_t>(getppid())}; }}}},
      {"sendmsg", {{With(-1, 0, 0), With(-1, 0, MSG_NOSIGNAL)}, {With(-1, 0, MSG_FASTOPEN), With(-1, 0, MSG_OOB)}}},
      {"sendto",
       {{With(-1, memory, 1, MSG_NOSIGNAL, 0, 0)},
        {With(-1, memory, 1, 0, memory, 16), With(-1, memory, 1, MSG_FASTOPEN, 0, 0),
         With(-1, memory, 1, MSG_OOB, 0, 0)}}},
      {"setpriority",
       {{With(PRIO_PROCESS, 0, 19)}, {With(PRIO_PROCESS, 1, 19), With(PRIO_PGRP, 0, 19), With(PRIO_USER, 0, 19)}}},
      {"setsockopt",
       {{With(-1, SOL_SOCKET, SO_RCVTIMEO), With(-1, IPPROTO_TCP, TCP_NODELAY)},
        {With(-1, SOL_SOCKET, SO_ATTACH_FILTER), With(-1, SOL_SOCKET, SO_MARK), With(-1, IPPROTO_IP, IP_TTL),
         With(-1, IPPROTO_TCP, TCP_ULP), With(-1, IPPROTO_TCP, TCP_REPAIR), With(-1, IPPROTO_TCP, TCP_CONGESTION),
         With(-1, IPPROTO_TCP, TCP_FASTOPEN_CONNECT)}}},
      {"socketpair",
       {{With(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, memory)},
        {With(AF_UNIX, SOCK_DGRAM, 0, memory), With(AF_UNIX, SOCK_SEQPACKET, 0, memory),
         With(AF_INET, SOCK_STREAM, 0, memory)}}},
      {"tgkill",
       {{[] {
          return Arguments{static_cast<uint64_t>(getpid()), static_cast<uint64_t>(getpid())};
        }},
        {[] {
           return Arguments{static_cast<uint64_t>(getppid()), static_cast<uint64_t>(getppid())};
         },
         With(-1, 1)}}},
  };
}

// Where others than the common ones are allowed.
AttemptsAt CompilingAttempts() {
  AttemptsAt attempts = CommonAttempts();
  static rlimit same;
  getrlimit(RLIMIT_NOFILE, &same);
  const auto limit = reinterpret_cast<uint64_t>(&same);
  attempts["prlimit64"].allowed.push_back(With(0, RLIMIT_NOFILE, limit, 0));
  attempts["prlimit64"].refused = {With(0, RLIMIT_STACK, limit, 0), With(1, RLIMIT_NOFILE, limit, 0)};
  attempts["mprotect"] = {{With(0, 0, PROT_READ | PROT_WRITE), With(0, 0, PROT_READ | PROT_EXEC)},
                          {With(0, 0, PROT_READ | PROT_WRITE | PROT_EXEC), With(0, 0, PROT_WRITE | PROT_EXEC)}};
  return attempts;
}
AttemptsAt LockingAttempts() {
  AttemptsAt attempts = CommonAttempts();
  attempts["fcntl"].allowed.push_back(With(-1, F_OFD_SETLK));
  return attempts;
}
AttemptsAt ConnectingAttempts() {
  AttemptsAt attempts = CommonAttempts();
  attempts["socket"] = {{With(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), With(AF_INET6, SOCK_STREAM, IPPROTO_TCP)},
                        {With(AF_UNIX, SOCK_STREAM, 0), With(AF_INET, SOCK_DGRAM, 0), With(AF_INET, SOCK_RAW, 1),
                         With(AF_INET, SOCK_STREAM, IPPROTO_SCTP), With(AF_NETLINK, SOCK_RAW, 0)}};
  return attempts;
}
// Where all is allowed but a list.
AttemptsAt NetworkedAttempts() {
  return {
      {"clone",
       {{With(SIGCHLD), With(CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, ~uint64_t{0})},
        {With(CLONE_NEWUSER | SIGCHLD), With(CLONE_NEWNET | SIGCHLD), With(CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD)}}},
      {"ioctl", {{With(-1, FIONREAD), With(-1, TIOCGWINSZ)}, {With(-1, TIOCSTI), With(-1, TIOCLINUX)}}}};
}
AttemptsAt DrivingAttempts() {
  AttemptsAt attempts = NetworkedAttempts();
  attempts["socket"] = {{With(AF_UNIX, SOCK_STREAM, 0), With(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)},
                        {With(AF_UNIX, SOCK_DGRAM, 0), With(AF_INET, SOCK_STREAM, 0), With(AF_INET6, SOCK_DGRAM, 0),
                         With(AF_NETLINK, SOCK_RAW, 0)}};
  return attempts;
}

AttemptsAt DrivingAndConnectingAttempts() {
  AttemptsAt attempts = DrivingAttempts();
  attempts["socket"] = {{With(AF_UNIX, SOCK_STREAM, 0), With(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)},
                        {With(AF_UNIX, SOCK_DGRAM, 0), With(AF_INET, SOCK_DGRAM, 0), With(AF_INET6, SOCK_RAW, 1),
                         With(AF_NETLINK, SOCK_RAW, 0)}};
  return attempts;
}

struct Tried {
  std::set<std::string> allowed, by_arguments, refused;
};

// Whether all that should be allowed is, and all that should be refused; says which is not.
bool DependsOnArguments(const SandboxPolicy& strict, const std::string& name, uint32_t call, const AttemptsAt& all) {
  const auto attempts = all.find(name);
  if (attempts == all.end() || attempts->second.allowed.empty() || attempts->second.refused.empty()) {
    ADD_FAILURE() << name << " is not tried with arguments that are allowed and with others";
    return false;
  }
  bool does = true;
  for (const bool should_end : {false, true}) {
    const auto& those = should_end ? attempts->second.refused : attempts->second.allowed;
    for (size_t i = 0; i < those.size(); ++i) {
      if (Ends(strict, call, those[i]) == should_end) continue;
      ADD_FAILURE() << name << " is " << (should_end ? "allowed" : "refused") << " with arguments no. " << i;
      does = false;
    }
  }
  return does;
}

// To tell refusals of the policy from the kernel's own, they end the
// process in a second run.
Tried TryAll(const SandboxPolicy& policy, const std::map<uint32_t, std::string>& names, const AttemptsAt& attempts) {
  SandboxPolicy strict = policy;
  std::set<uint32_t> conditional;
  for (CallRule& rule : strict.rules) {
    if (!rule.when.empty()) conditional.insert(rule.call);
    if (rule.verdict != Verdict::kAllow) rule.verdict = Verdict::kKill;
  }
  Tried tried;
  for (const auto& [call, name] : names) {
    if (conditional.contains(call)) {
      if (DependsOnArguments(strict, name, call, attempts)) tried.by_arguments.insert(name);
    } else if (Ends(strict, call)) {
      // One that ends the process anyway is not worth its name.
      if (policy.others == Verdict::kAllow || !Ends(policy, call)) tried.refused.insert(name);
    } else {
      tried.allowed.insert(name);
    }
  }
  return tried;
}

std::string Section(const std::string& title, const SandboxPolicy& policy, const std::map<uint32_t, std::string>& names,
                    const AttemptsAt& attempts = CommonAttempts()) {
  SCOPED_TRACE(title);
  const Tried tried = TryAll(policy, names, attempts);
  const std::string rest = policy.others == Verdict::kKill ? "the process ends" : "allowed";
  std::string text = "**" + title + "**\n\n| outcome | calls |\n| --- | --- |\n";
  if (policy.others == Verdict::kKill) text += "| allowed | " + Listed(tried.allowed) + " |\n";
  text += "| allowed with some arguments | " + Listed(tried.by_arguments) + " |\n";
  text += "| refused | " + Listed(tried.refused) + " |\n";
  return text + "| any other | " + rest + " |\n\n";
}

TEST(PolicyTableTest, ThePageSaysWhatBecomesOfEverySystemCall) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the table has the numbers of x86-64";
#endif
  if (kSanitized) GTEST_SKIP() << "policies are weaker with a sanitizer";
  const std::map<uint32_t, std::string> names = Names();
  if (names.empty()) GTEST_SKIP() << kNumbers << " is not here";
  const std::string table =
      "\n" + Section("A worker on the software device", SoftWorkerPolicy(), names, CompilingAttempts()) +
      Section("A worker that runs models on the processor", ModelWorkerPolicy(), names) +
      Section("The process that compiles kernels", CompilerPolicy(), names) +
      Section("The keeper of files", KeeperPolicy(), names, LockingAttempts()) +
      Section("The relay of an AR client", RelayPolicy(), names) +
      Section("A server of AR clients, models on the processor", AcceptingServerPolicy(), names) +
      Section("A scheduler or worker of pipelines", PeerServerPolicy(), names, ConnectingAttempts()) +
      Section("A worker with a GPU", GpuWorkerPolicy(), names, DrivingAttempts()) +
      Section("A worker of pipelines with a GPU", GpuPeerPolicy(), names, DrivingAndConnectingAttempts()) +
      Section("A worker of a partitioned device", NetworkedPolicy(), names, NetworkedAttempts());
  const std::string page = TextOf(WHARF_SECURITY_PAGE);
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << WHARF_SECURITY_PAGE << " has no markers";
  const size_t from = begin + std::string(kBegin).size();
  if (std::getenv("WHARF_WRITE_TABLE") != nullptr) {
    std::ofstream(WHARF_SECURITY_PAGE) << page.substr(0, from) << table << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table) << "WHARF_WRITE_TABLE=1 writes the page anew";
}

}  // namespace
}  // namespace wharf
