// What a confined process cannot do, by trying it.
#include "wharf/base/sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
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
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/sandbox/sandbox_testing.h"

namespace wharf {
namespace {

// Those whose libraries open files when they like.
class DriverPolicyTest : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  const SandboxPolicy policy_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(Policies, DriverPolicyTest,
                         ::testing::Values(NamedPolicy{"gpu", GpuWorkerPolicy}, NamedPolicy{"gpu_peer", GpuPeerPolicy},
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

TEST_P(DriverPolicyTest, MakesProcessesAndNoNameSpaces) {
  const auto fork_one = [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return waitpid(child, nullptr, 0);
  };
  EXPECT_EQ(OutcomeOf(policy_, fork_one), kSucceeded);
  for (const uint64_t names : {CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS,
                               CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET}) {
    EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_clone, names | SIGCHLD, 0, 0, 0, 0); }), EPERM) << names;
  }
  clone_args asked{};
  asked.flags = CLONE_NEWUSER;
  asked.exit_signal = SIGCHLD;
  EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_clone3, &asked, sizeof(asked)); }), ENOSYS);
}

// A descriptor that there is not is the kernel's answer to what the policy lets through.
TEST_P(DriverPolicyTest, TypesIntoNoTerminal) {
  constexpr uint64_t kUnseen = uint64_t{1} << 32;  // the kernel does not look at this half
  for (const uint64_t request : {uint64_t{TIOCSTI}, uint64_t{TIOCLINUX}, kUnseen | TIOCSTI}) {
    EXPECT_EQ(OutcomeOf(policy_, [&] { return syscall(SYS_ioctl, -1, request, "x"); }), EPERM) << request;
  }
  EXPECT_EQ(OutcomeOf(policy_, [] { return ioctl(-1, TIOCGWINSZ); }), EBADF);
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

TEST(GpuPeerPolicyTest, LeavesTheDriverItsSocketAndTcp) {
  const SandboxPolicy policy = GpuPeerPolicy();
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_INET, SOCK_DGRAM, 0); }), EPERM);
  const auto connect_to_nobody = [] {
    const sockaddr_in nobody{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    return connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<const sockaddr*>(&nobody), sizeof(nobody));
  };
  EXPECT_EQ(OutcomeOf(policy, connect_to_nobody), ECONNREFUSED);
}

TEST(NetworkedPolicyTest, LeavesTheNetwork) {
  EXPECT_EQ(OutcomeOf(NetworkedPolicy(), [] { return socket(AF_INET, SOCK_STREAM, 0); }), kSucceeded);
}

class RelayPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (policy_.others == Verdict::kAllow) GTEST_SKIP() << "under a sanitizer only some calls are refused";
  }
  const SandboxPolicy policy_ = RelayPolicy();
};

TEST_F(RelayPolicyTest, LimitsItsMemory) {
  const auto take = [] {
    void* const memory = mmap(nullptr, size_t{1} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
  };
  EXPECT_EQ(OutcomeOf(policy_, take), ENOMEM);
}

TEST_F(RelayPolicyTest, WritesToNoFile) {
  int file = -1;
  const auto open_one = [&] { return file = open("/tmp", O_TMPFILE | O_WRONLY, 0600); };
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return write(file, "x", 1); }, open_one),
            128 + SIGXFSZ);
}

TEST(KeeperPolicyTest, ChangesFilesAndNothingElse) {
  const SandboxPolicy policy = KeeperPolicy();
  if (policy.others == Verdict::kAllow) GTEST_SKIP() << "under a sanitizer only some calls are refused";
  for (const long call : {SYS_execve,         SYS_clone,
                          SYS_clone3,         SYS_socket,
                          SYS_connect,        SYS_bind,
                          SYS_kill,  // NOLINT
                          SYS_ptrace,         SYS_process_vm_readv,
                          SYS_mount,          SYS_chroot,
                          SYS_pivot_root,     SYS_symlinkat,
                          SYS_linkat,         SYS_fchmodat,
                          SYS_fchownat,       SYS_mknodat,
                          SYS_openat2,        SYS_memfd_create,
                          SYS_io_uring_setup, SYS_bpf,
                          SYS_setuid}) {
    EXPECT_EQ(OutcomeOf(policy, Call(call)), kEnded) << call;
  }
#if defined(__x86_64__)
  for (const long call : {SYS_fork, SYS_vfork}) EXPECT_EQ(OutcomeOf(policy, Call(call)), kEnded) << call;  // NOLINT
#endif
  EXPECT_EQ(OutcomeOf(policy, [] { return fork(); }), kEnded);
  EXPECT_EQ(OutcomeOf(policy,
                      [] {
                        void* const page =
                            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                        return mprotect(page, 4096, PROT_READ | PROT_EXEC);
                      }),
            kEnded);
  EXPECT_EQ(OutcomeOf(policy, [] { return open("/proc/self/comm", O_RDONLY); }), kSucceeded);
}

// A server's: alone but for the network.
TEST(Namespaces, TheMachinesNetworkMayBeKept) {
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  const NewNamespaces namespaces(*isolation, Network::kMachines);
  int keeper[2];
  ASSERT_EQ(pipe2(keeper, O_CLOEXEC), 0);
  const auto name_of = [](const char* kind, char(&name)[64]) {
    return readlink((std::string("/proc/self/ns/") + kind).c_str(), name, sizeof(name)) > 0;
  };
  const auto same = [&](const char* kind, const char(&before)[64]) {
    char now[64] = {};
    return name_of(kind, now) && std::strcmp(before, now) == 0;
  };
  char net[64] = {}, mnt[64] = {}, ipc[64] = {}, uts[64] = {};
  ASSERT_TRUE(name_of("net", net) && name_of("mnt", mnt) && name_of("ipc", ipc) && name_of("uts", uts));
  const pid_t child = namespaces.Fork();
  if (child == 0) {  // has the other end, too, without which the keeper would empty the root, and /proc be gone
    if (namespaces.Settle(keeper[0]) != 0) _exit(2);
    if (!same("net", net) || same("mnt", mnt) || same("ipc", ipc) || same("uts", uts)) _exit(3);
    _exit(getpid() == 1 ? 0 : 4);
  }
  ASSERT_GT(child, 0);
  for (const int end : keeper) close(end);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// What a process whose root became `directory` cannot reach: nothing is read, it is only looked for.
TEST(Namespaces, OneDirectoryIsAllThereIs) {
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  std::string directory = "/tmp/wharf-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  ASSERT_EQ(mkdir((directory + "/inside").c_str(), 0700), 0);
  const NewNamespaces namespaces(*isolation);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = namespaces.Fork();
  if (child == 0) {
    if (namespaces.Settle(ends[0]) != 0) _exit(2);
    close(ends[0]);
    if (!LeaveFileSystem(ends[1], FileSystem::kOneDirectory, directory).ok()) _exit(3);
    struct stat facts;
    if (stat("/inside", &facts) != 0) _exit(4);
    for (const char* path : {"/etc", "/proc", "/..//etc", "../etc", "../../../../etc", "/tmp"}) {
      if (stat(path, &facts) == 0) _exit(5);
    }
    const int file = open("/inside/file", O_WRONLY | O_CREAT, 0600);
    _exit(file >= 0 ? 0 : 6);
  }
  ASSERT_GT(child, 0);
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(unlink((directory + "/inside/file").c_str()), 0);
  EXPECT_EQ(rmdir((directory + "/inside").c_str()), 0);
  EXPECT_EQ(rmdir(directory.c_str()), 0);
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

TEST(Limits, MemoryThatIsWrittenIsCountedAndAddressSpaceIsNot) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  constexpr size_t kLimit = size_t{64} << 20, kMuch = size_t{1} << 40;
  const auto limit = [] { return LimitMemory(kLimit).ok() ? 0 : -1; };
  const auto reserve = [](size_t bytes) {
    return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  const auto take = [&](size_t bytes) {
    return [&, bytes] { return mprotect(reserve(kMuch), bytes, PROT_READ | PROT_WRITE); };
  };
  const SandboxPolicy policy = SoftWorkerPolicy();
  EXPECT_EQ(OutcomeOf(policy, take(kLimit / 2), limit), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy, take(2 * kLimit), limit), ENOMEM);
  EXPECT_EQ(OutcomeOf(
                policy, [] { return sbrk(intptr_t{2} * kLimit) == reinterpret_cast<void*>(-1) ? -1 : 0; }, limit),
            ENOMEM);
}

TEST(Limits, WhatAProcessUsesIsSeenFromOutside) {
  constexpr size_t kBytes = size_t{64} << 20;
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<char> memory(kBytes, 'x');
    std::thread other([] { poll(nullptr, 0, -1); });
    if (!EnterSandbox(SoftWorkerPolicy()).ok() || write(told[1], memory.data(), 1) != 1) _exit(1);
    other.join();
  }
  char byte = 0;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  const auto use = UseOf(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int end : told) close(end);
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_GE(use->memory, kBytes);
  EXPECT_GE(use->threads, 2);
  EXPECT_EQ(UseOf(child).status().code(), absl::StatusCode::kNotFound);
}

// What an ordinary user can have, in a process whose memory others of the user may read, or not.
constexpr int kCannotBecomeOne = 200;
bool BecomeAnOrdinaryUser() {
  constexpr uid_t kNobody = 65534;
  return geteuid() != 0 || (setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0);
}
int IsolationOfAnOrdinaryUser(bool dumpable) {
  const pid_t child = fork();
  if (child == 0) {
    if (!BecomeAnOrdinaryUser()) _exit(kCannotBecomeOne);
    if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0) _exit(kCannotBecomeOne);
    const auto found = FindIsolation();
    _exit(found.ok() ? static_cast<int>(*found) : kNotConfined);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

TEST(Limits, AWorkersDescriptorsBecomeFewerAndNoMoreAgain) {
  if (kSanitized) GTEST_SKIP() << "policies are weaker with a sanitizer";
  const auto become_a_user = [] { return BecomeAnOrdinaryUser() ? 0 : -1; };
  SandboxPolicy policy = SoftWorkerPolicy();
  policy.descriptors = kArrivingDescriptors;
  const auto take_down_and_hoard = [] {
    constexpr rlim_t kFew = 128;
    if (!LimitDescriptors(kFew).ok()) return 0;
    const rlimit more{kFew + 1, kFew + 1};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0 || errno != EPERM) return 0;
    for (rlim_t made = 0; made < kFew; ++made) {
      if (syscall(SYS_eventfd2, 0, 0) < 0) return -1;
    }
    return 0;
  };
  EXPECT_EQ(OutcomeOf(policy, take_down_and_hoard, become_a_user), EMFILE);
  // Where less is permitted than a policy says, that stays.
  const auto permit_few = [] { return LimitDescriptors(16).ok() ? 0 : -1; };
  const auto hoard = [] {
    for (int made = 0; made < 16; ++made) {
      if (syscall(SYS_eventfd2, 0, 0) < 0) return -1;
    }
    return 0;
  };
  EXPECT_EQ(OutcomeOf(policy, hoard, permit_few), EMFILE);
}

TEST(Namespaces, ADaemonGetsWhatItsUserGets) {
  EXPECT_EQ(IsolationOfAnOrdinaryUser(/*dumpable=*/false), IsolationOfAnOrdinaryUser(/*dumpable=*/true));
}

// As a child of this one in such name spaces ends.
int OutcomeIn(const NewNamespaces& namespaces, const std::function<int(int keeper)>& body) {
  int keeper[2];
  if (pipe(keeper) != 0) return kNotConfined;
  const pid_t child = namespaces.Fork();
  if (child == 0) {
    close(keeper[1]);
    _exit(body(keeper[0]));
  }
  close(keeper[0]);
  int status = 0;
  const bool ended = waitpid(child, &status, 0) == child && WIFEXITED(status);
  close(keeper[1]);  // not before: it has the keeper take the files away
  return ended ? WEXITSTATUS(status) : kNotConfined;
}

// What CUDA's driver counts on. A container that hides parts of its own /proc permits no other.
TEST(Namespaces, ProcShowsTheProcessesOfThisNameSpace) {
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  const NewNamespaces namespaces(*isolation);
  const int permitted = OutcomeIn(namespaces, [](int) {
    const bool mounted = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
    return mounted ? 0 : errno;
  });
  if (permitted != 0) GTEST_SKIP() << "no /proc of its own is permitted here: " << strerror(permitted);
  constexpr int kOther = 1;
  EXPECT_EQ(OutcomeIn(namespaces,
                      [&](int keeper) {
                        if (namespaces.Settle(keeper) != 0) return kNotConfined;
                        char self[32] = {};
                        if (readlink("/proc/self", self, sizeof(self) - 1) <= 0) return kOther;
                        return std::atoi(self) == getpid() ? kSucceeded : kOther;
                      }),
            kSucceeded);
}

// In a child of this one, in name spaces of its own: whether so many threads can be had, as an errno.
int OutcomeOfThreads(int count) {
  const NewNamespaces namespaces(Isolation::kByUser);
  return OutcomeIn(namespaces, [&](int keeper) {
    if (namespaces.Settle(keeper) != 0) return kNotConfined;
    for (int made = 1; made < count; ++made) {
      pthread_t thread;
      pthread_attr_t small;
      pthread_attr_init(&small);
      pthread_attr_setstacksize(&small, 64 << 10);
      const auto wait = [](void*) -> void* { return pause(), nullptr; };
      if (const int error = pthread_create(&thread, &small, wait, nullptr); error != 0) return error;
    }
    return kSucceeded;
  });
}

TEST(Namespaces, ThreadsAreLimited) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer makes threads of its own";
  const pid_t child = fork();
  if (child == 0) {
    if (!BecomeAnOrdinaryUser() || *FindIsolation() != Isolation::kByUser) _exit(kCannotBecomeOne);
    if (OutcomeOfThreads(MostThreads() / 2) != kSucceeded) _exit(kNotConfined);
    _exit(OutcomeOfThreads(2 * MostThreads()));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kCannotBecomeOne) GTEST_SKIP() << "ordinary users have no name spaces here";
  EXPECT_EQ(WEXITSTATUS(status), EAGAIN);
}

}  // namespace
}  // namespace wharf
