// What a confined process cannot do, by trying it.
#include "wharf/base/sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"

namespace wharf {
namespace {

using Attack = std::function<int64_t()>;  // below 0, with errno, if it failed

constexpr int kSucceeded = 0, kNotConfined = 255;

// What becomes of a process that enters the sandbox and attacks: the errno of the attack, kSucceeded, or 128 + the
// signal that ended it.
int OutcomeOf(
    const SandboxPolicy& policy, const Attack& attack, const Attack& before = [] { return 0; }) {
  const pid_t child = fork();
  if (child == 0) {
    if (before() < 0 || !EnterSandbox(policy).ok()) _exit(kNotConfined);
    _exit(attack() < 0 ? errno : kSucceeded);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Attack Call(long number) {  // NOLINT: as syscall has it
  return [number] { return syscall(number, -1, 0, 0, 0, 0, 0); };
}

constexpr int kEnded = 128 + SIGSYS;

bool Filters(const SandboxPolicy& policy) { return !policy.rules.empty(); }

struct NamedPolicy {
  std::string name;
  std::function<SandboxPolicy()> make;
  friend void PrintTo(const NamedPolicy& policy, std::ostream* to) { *to << policy.name; }
};
std::string NameOf(const ::testing::TestParamInfo<NamedPolicy>& info) { return info.param.name; }

// Those that run nothing but what they compile themselves.
class ComputingPolicyTest : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  void SetUp() override {
    if (policy_.others == Verdict::kAllow) GTEST_SKIP() << "under a sanitizer only some calls are refused";
  }
  const SandboxPolicy policy_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(Policies, ComputingPolicyTest,
                         ::testing::Values(NamedPolicy{"soft", SoftWorkerPolicy},
                                           NamedPolicy{"models", ModelWorkerPolicy}),
                         NameOf);

TEST_P(ComputingPolicyTest, OpensNoPathAndLearnsNothingOfAny) {
  EXPECT_EQ(OutcomeOf(policy_, [] { return open("/etc/passwd", O_RDONLY); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return open("/tmp/wharf-attack", O_WRONLY | O_CREAT, 0600); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return access("/etc/passwd", F_OK); }), EPERM);
  struct stat facts;
  EXPECT_EQ(OutcomeOf(policy_, [&] { return stat("/etc/passwd", &facts); }), EPERM);
  char link[64];
  EXPECT_EQ(OutcomeOf(policy_, [&] { return readlink("/proc/self/exe", link, sizeof(link)); }), EPERM);
  for (const long call : {SYS_unlinkat, SYS_mkdirat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_truncate,  // NOLINT
                          SYS_fchmodat, SYS_fchownat, SYS_openat2, SYS_memfd_create, SYS_chdir, SYS_fchdir}) {
    EXPECT_EQ(OutcomeOf(policy_, Call(call)), kEnded) << call;
  }
}

TEST_P(ComputingPolicyTest, OpensNoPathBelowADirectoryItHas) {
  int directory = -1;
  const auto open_one = [&] { return directory = open("/etc", O_RDONLY | O_DIRECTORY); };
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return openat(directory, "passwd", O_RDONLY); }, open_one),
            EPERM);
}

TEST_P(ComputingPolicyTest, MakesThreadsAndNoProcesses) {
  EXPECT_EQ(OutcomeOf(policy_,
                      [] {
                        int done = -1;
                        std::thread([&] { done = 0; }).join();
                        return done;
                      }),
            kSucceeded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0); }),
            kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }), kEnded);
  clone_args asked{};
  asked.exit_signal = SIGCHLD;
  EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_clone3, &asked, sizeof(asked)); }), ENOSYS);
  EXPECT_EQ(OutcomeOf(policy_, [] { return execl("/bin/true", "true", nullptr); }), kEnded);
}

TEST_P(ComputingPolicyTest, SignalsNobodyButItself) {
  const pid_t parent = getpid();
  EXPECT_EQ(OutcomeOf(policy_, [&] { return kill(parent, SIGUSR1); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_tgkill, parent, parent, SIGUSR1); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_tkill, parent, SIGUSR1); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return raise(SIGTERM); }), 128 + SIGTERM);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return setpriority(PRIO_PROCESS, parent, 19); }), EPERM);
}

TEST_P(ComputingPolicyTest, MakesNoConnections) {
  EXPECT_EQ(OutcomeOf(policy_, [] { return socket(AF_INET, SOCK_STREAM, 0); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return socket(AF_UNIX, SOCK_STREAM, 0); }), kEnded);
  // Nor with a socket that was there before.
  int existing = -1;
  const auto open_one = [&] { return existing = socket(AF_INET, SOCK_STREAM, 0); };
  const sockaddr_in somebody{.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const auto* address = reinterpret_cast<const sockaddr*>(&somebody);
  for (const Attack& attack : std::initializer_list<Attack>{
           [&] { return connect(existing, address, sizeof(somebody)); },
           [&] { return bind(existing, address, sizeof(somebody)); }, [&] { return listen(existing, 1); },
           [&] { return accept(existing, nullptr, nullptr); },
           [&] { return sendto(existing, "", 1, MSG_FASTOPEN, address, sizeof(somebody)); }}) {
    EXPECT_EQ(OutcomeOf(policy_, attack, open_one), kEnded);
  }
  // Datagrams have addresses, so there is no pair of such sockets.
  int ends[2];
  EXPECT_EQ(OutcomeOf(policy_, [&] { return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }), kSucceeded);
}

TEST_P(ComputingPolicyTest, HasNoMemoryToWriteAndToExecute) {
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  const auto map = [](int protection) {
    return [protection] {
      void* const page = mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return page == MAP_FAILED ? -1 : 0;
    };
  };
  EXPECT_EQ(OutcomeOf(policy_, map(kAll)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, map(PROT_READ | PROT_EXEC)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, map(PROT_READ | PROT_WRITE)), kSucceeded);
  const auto protect = [](int protection) {
    return [protection] {
      void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return mprotect(page, 4096, protection);
    };
  };
  EXPECT_EQ(OutcomeOf(policy_, protect(kAll)), GetParam().name == "models" ? kSucceeded : kEnded);  // oneDNN does so
  EXPECT_EQ(OutcomeOf(policy_, protect(PROT_READ | PROT_EXEC)), kSucceeded);
  // The same through the half of the argument that the kernel does not look at.
  EXPECT_EQ(OutcomeOf(policy_, [] { return syscall(SYS_pkey_mprotect, 0, 0, PROT_EXEC, -1); }), kEnded);
}

TEST_P(ComputingPolicyTest, RaisesNoLimit) {
  rlimit limit{};
  EXPECT_EQ(OutcomeOf(policy_, [&] { return getrlimit(RLIMIT_STACK, &limit); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return setrlimit(RLIMIT_STACK, &limit); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return prctl(PR_SET_NAME, "name"); }), kSucceeded);
}

TEST_P(ComputingPolicyTest, HoldsForThreadsThatRanBefore) {
  int entered[2] = {-1, -1};
  std::thread earlier;
  const auto start = [&] {
    if (pipe(entered) != 0) return -1;
    earlier = std::thread([&] {
      char byte = 0;
      if (read(entered[0], &byte, 1) == 1) socket(AF_INET, SOCK_STREAM, 0);
    });
    return 0;
  };
  const auto attack = [&] {
    if (write(entered[1], "", 1) != 1) return 0;
    earlier.join();
    return 0;
  };
  EXPECT_EQ(OutcomeOf(policy_, attack, start), kEnded);
}

#if defined(__x86_64__)
TEST_P(ComputingPolicyTest, RefusesTheSameCallsByOtherNumbers) {
  constexpr long kX32 = 0x40000000;  // NOLINT
  EXPECT_EQ(OutcomeOf(policy_, Call(kX32 + SYS_socket)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, Call(kX32 + SYS_getpid)), kEnded);
}
#endif

// Those whose libraries open files when they like.
class DriverPolicyTest : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  const SandboxPolicy policy_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(Policies, DriverPolicyTest,
                         ::testing::Values(NamedPolicy{"gpu", GpuWorkerPolicy},
                                           NamedPolicy{"networked", NetworkedPolicy}),
                         NameOf);

TEST_P(DriverPolicyTest, RefusesWhatReachesOtherProcessesAndTheMachine) {
  EXPECT_EQ(OutcomeOf(policy_, [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return unshare(CLONE_FILES); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return execl("/bin/true", "true", nullptr); }), EPERM);
  for (const long call : {SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_setns, SYS_chroot,  // NOLINT
                          SYS_finit_module, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_personality,
                          SYS_io_uring_setup, SYS_pidfd_getfd, SYS_open_by_handle_at}) {
    EXPECT_EQ(OutcomeOf(policy_, Call(call)), EPERM) << call;
  }
#if defined(__x86_64__)
  constexpr long kX32 = 0x40000000;  // NOLINT
  EXPECT_EQ(OutcomeOf(policy_, Call(kX32 + SYS_getpid)), EPERM);
#endif
}

TEST(GpuWorkerPolicyTest, LeavesTheDriverItsSocketAndNoOther) {
  const SandboxPolicy policy = GpuWorkerPolicy();
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_UNIX, SOCK_DGRAM, 0); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_INET, SOCK_STREAM, 0); }), EPERM);
  const sockaddr_un somebody{AF_UNIX, "/run/docker.sock"};
  const auto connect_to_somebody = [&] {
    const int end = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(end, reinterpret_cast<const sockaddr*>(&somebody), sizeof(somebody));
  };
  EXPECT_EQ(OutcomeOf(policy, connect_to_somebody), EPERM);
}

TEST(NetworkedPolicyTest, LeavesTheNetwork) {
  EXPECT_EQ(OutcomeOf(NetworkedPolicy(), [] { return socket(AF_INET, SOCK_STREAM, 0); }), kSucceeded);
}

class DecoderPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Filters(policy_)) GTEST_SKIP() << "decoders are not confined under a sanitizer";
  }
  const SandboxPolicy policy_ = DecoderPolicy();
};

TEST_F(DecoderPolicyTest, EndsWhoDoesAnythingElse) {
  EXPECT_EQ(OutcomeOf(policy_, Call(SYS_openat)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return socket(AF_INET, SOCK_STREAM, 0); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return execl("/bin/true", "true", nullptr); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, [] { return fork(); }), kEnded);
  for (const long call : {SYS_connect, SYS_recvfrom, SYS_kill, SYS_ptrace, SYS_ioctl, SYS_getpid}) {  // NOLINT
    EXPECT_EQ(OutcomeOf(policy_, Call(call)), kEnded) << call;
  }
}

TEST_F(DecoderPolicyTest, LetsItComputeAndAnswer) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto answer = [&] {
    const std::vector<char> memory(size_t{64} << 20, 'x');
    return write(ends[1], memory.data(), 1);
  };
  EXPECT_EQ(OutcomeOf(policy_, answer), kSucceeded);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST_F(DecoderPolicyTest, LimitsItsMemory) {
  const auto take = [] {
    void* const memory = mmap(nullptr, size_t{1} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
  };
  EXPECT_EQ(OutcomeOf(policy_, take), ENOMEM);
}

TEST_F(DecoderPolicyTest, WritesToNoFile) {
  int file = -1;
  const auto open_one = [&] { return file = open("/tmp", O_TMPFILE | O_WRONLY, 0600); };
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return write(file, "x", 1); }, open_one),
            128 + SIGXFSZ);
}

TEST(SandboxTest, WithoutRulesOnlyLimits) {
  EXPECT_EQ(OutcomeOf(SandboxPolicy{}, [] { return socket(AF_UNIX, SOCK_STREAM, 0); }), kSucceeded);
}

TEST(SandboxTest, TheFirstRuleThatFitsCounts) {
  const SandboxPolicy policy{.rules = {{SYS_getpriority, {{.argument = 1, .value = 7, .mask = 0xff}}, Verdict::kAbsent},
                                       {SYS_getpriority, {}, Verdict::kRefuse}}};
  EXPECT_EQ(OutcomeOf(policy, [] { return syscall(SYS_getpriority, 0, 0x107); }), ENOSYS);
  EXPECT_EQ(OutcomeOf(policy, [] { return syscall(SYS_getpriority, 0, 8); }), EPERM);
}

TEST(SandboxTest, BothHalvesOfAnArgumentCount) {
  constexpr int64_t kWide = (int64_t{5} << 32) + 7;
  const SandboxPolicy policy{.rules = {{SYS_getpriority, {{.argument = 2, .value = kWide}}, Verdict::kRefuse}}};
  EXPECT_EQ(OutcomeOf(policy, [] { return syscall(SYS_getpriority, 0, 0, kWide); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy, [] { return syscall(SYS_getpriority, 0, 0, 7); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy, [] { return syscall(SYS_getpriority, 0, 0, int64_t{5} << 32); }), kSucceeded);
}

TEST(SandboxTest, ItsMemoryIsNotForProcessesOfTheSameUser) {
  EXPECT_EQ(OutcomeOf(SandboxPolicy{}, [] { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1; }), kSucceeded);
}

// What an ordinary user can have, in a process whose memory others of the user may read, or not.
int IsolationOfAnOrdinaryUser(bool dumpable) {
  constexpr int kCannotBecomeOne = 200;
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0)) {
      _exit(kCannotBecomeOne);
    }
    if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0) _exit(kCannotBecomeOne);
    const auto found = FindIsolation();
    _exit(found.ok() ? static_cast<int>(*found) : kNotConfined);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

TEST(Namespaces, ADaemonGetsWhatItsUserGets) {
  EXPECT_EQ(IsolationOfAnOrdinaryUser(/*dumpable=*/false), IsolationOfAnOrdinaryUser(/*dumpable=*/true));
}

}  // namespace
}  // namespace wharf
