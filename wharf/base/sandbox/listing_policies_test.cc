// What a process under a policy that lists its calls cannot do, by trying it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <tuple>

#include "wharf/base/sandbox/policies.h"
#include "wharf/base/sandbox/sandbox_testing.h"

namespace wharf {
namespace {

// Those that list what a process may do.
class ListingPolicyTest : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  void SetUp() override {
    if (policy_.others == Verdict::kAllow) GTEST_SKIP() << "under a sanitizer only some calls are refused";
  }
  // Who executes nothing that comes while it runs.
  bool ExecutesNothing() const { return GetParam().name == "compiler" || GetParam().name == "relay"; }
  // oneDNN wants memory to write and to execute.
  bool RunsModels() const { return GetParam().name != "soft" && !ExecutesNothing(); }
  const SandboxPolicy policy_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(Policies, ListingPolicyTest,
                         ::testing::Values(NamedPolicy{"soft", SoftWorkerPolicy},
                                           NamedPolicy{"models", ModelWorkerPolicy},
                                           NamedPolicy{"compiler", CompilerPolicy}, NamedPolicy{"relay", RelayPolicy},
                                           NamedPolicy{"accepting", AcceptingServerPolicy},
                                           NamedPolicy{"peer", PeerServerPolicy}),
                         NameOf);

// Those of a process that has no network.
class ComputingPolicyTest : public ListingPolicyTest {};
INSTANTIATE_TEST_SUITE_P(Policies, ComputingPolicyTest,
                         ::testing::Values(NamedPolicy{"soft", SoftWorkerPolicy},
                                           NamedPolicy{"models", ModelWorkerPolicy},
                                           NamedPolicy{"compiler", CompilerPolicy}, NamedPolicy{"relay", RelayPolicy}),
                         NameOf);

TEST_P(ListingPolicyTest, OpensNoPathAndLearnsNothingOfAny) {
  EXPECT_EQ(OutcomeOf(policy_, [] { return open("/etc/passwd", O_RDONLY); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return open("/tmp/wharf-attack", O_WRONLY | O_CREAT, 0600); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return access("/etc/passwd", F_OK); }), EPERM);
  struct stat facts;
  EXPECT_EQ(OutcomeOf(policy_, [&] { return stat("/etc/passwd", &facts); }), EPERM);
  char link[64];
  EXPECT_EQ(OutcomeOf(policy_, [&] { return readlink("/proc/self/exe", link, sizeof(link)); }), EPERM);
  EXPECT_NE(OutcomeOf(policy_, [] { return unlink("/tmp/wharf-attack"); }), kSucceeded);
  for (const long call : {SYS_mkdirat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_truncate,  // NOLINT
                          SYS_fchmodat, SYS_fchownat, SYS_openat2, SYS_memfd_create, SYS_chdir, SYS_fchdir}) {
    EXPECT_EQ(OutcomeOf(policy_, Call(call)), kEnded) << call;
  }
}

TEST_P(ListingPolicyTest, OpensNoPathBelowADirectoryItHas) {
  int directory = -1;
  const auto open_one = [&] { return directory = open("/etc", O_RDONLY | O_DIRECTORY); };
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return openat(directory, "passwd", O_RDONLY); }, open_one),
            EPERM);
}

TEST_P(ListingPolicyTest, MakesThreadsAndNoProcesses) {
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

TEST_P(ListingPolicyTest, GainsNothingAndSeesNobody) {
  const pid_t parent = getpid();
  EXPECT_EQ(OutcomeOf(policy_, [&] { return ptrace(PTRACE_ATTACH, parent, nullptr, nullptr); }), kEnded);
  for (const long call :
       {SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open, SYS_mount,  // NOLINT
        SYS_setns, SYS_unshare, SYS_chroot, SYS_pivot_root, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl,
        SYS_io_uring_setup, SYS_setuid, SYS_capset, SYS_shmget, SYS_msgget}) {
    EXPECT_EQ(OutcomeOf(policy_, Call(call)), kEnded) << call;
  }
}

TEST_P(ListingPolicyTest, SignalsNobodyButItself) {
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

TEST_P(ListingPolicyTest, HasNoMemoryToWriteAndToExecute) {
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
  EXPECT_EQ(OutcomeOf(policy_, protect(kAll)), RunsModels() ? kSucceeded : kEnded);
  EXPECT_EQ(OutcomeOf(policy_, protect(PROT_READ | PROT_EXEC)), ExecutesNothing() ? kEnded : kSucceeded);
  // The same through the half of the argument that the kernel does not look at.
  EXPECT_EQ(OutcomeOf(policy_, [] { return syscall(SYS_pkey_mprotect, 0, 0, PROT_EXEC, -1); }), kEnded);
}

TEST_P(ListingPolicyTest, HasNoMemoryThatDoesNotCount) {
  const auto map = [](int flags) {
    return [flags] {
      void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
      return page == MAP_FAILED ? -1 : 0;
    };
  };
  EXPECT_EQ(OutcomeOf(policy_, map(MAP_PRIVATE | MAP_NORESERVE)), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy_, map(MAP_SHARED)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, map(MAP_SHARED_VALIDATE)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, map(MAP_PRIVATE | MAP_GROWSDOWN)), kEnded);
}

TEST_P(ComputingPolicyTest, HasSomeDescriptorsAndNoMore) {
  const auto hoard = [] {
    for (int made = 0; made < 10'000; ++made) {
      if (syscall(SYS_eventfd2, 0, 0) < 0) return -1;
    }
    return 0;
  };
  EXPECT_EQ(OutcomeOf(policy_, hoard), EMFILE);
}

// Of sockets, connected ones: what the kernel has beside sending and receiving.
TEST_P(ListingPolicyTest, HasNoUncommonUseOfItsSockets) {
  int ends[2] = {-1, -1};
  const auto make_pair = [&] { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends); };
  const auto send_out_of_band = [&] { return send(ends[0], "x", 1, MSG_OOB); };
  EXPECT_EQ(OutcomeOf(policy_, send_out_of_band, make_pair), kEnded);
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return send(ends[0], "x", 1, MSG_NOSIGNAL); }, make_pair),
            kSucceeded);
  int existing = -1;
  const auto open_one = [&] { return existing = socket(AF_INET, SOCK_STREAM, 0); };
  const auto set = [&](int level, int option) {
    return [&existing, level, option] {
      const int on = 1;
      return setsockopt(existing, level, option, &on, sizeof(on));
    };
  };
  EXPECT_EQ(OutcomeOf(policy_, set(IPPROTO_TCP, TCP_NODELAY), open_one), kSucceeded);
  for (const int option : {TCP_ULP, TCP_CONGESTION, TCP_REPAIR, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_MD5SIG}) {
    EXPECT_EQ(OutcomeOf(policy_, set(IPPROTO_TCP, option), open_one), EPERM) << option;
  }
}

// Standard error may be a file that others write to.
TEST_P(ListingPolicyTest, WritesNothingOver) {
  int file = -1;
  const auto open_one = [&] { return file = open("/tmp", O_TMPFILE | O_WRONLY, 0600); };
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return lseek(file, 0, SEEK_SET); }, open_one),
            EPERM);
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return pwrite(file, "x", 1, 0); }, open_one),
            kEnded);
  EXPECT_EQ(OutcomeOf(
                policy_, [&] { return ftruncate(file, 0); }, open_one),
            kEnded);
}

TEST_P(ListingPolicyTest, RaisesNoLimit) {
  rlimit limit{};
  EXPECT_EQ(OutcomeOf(policy_, [&] { return getrlimit(RLIMIT_STACK, &limit); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy_, [&] { return setrlimit(RLIMIT_STACK, &limit); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy_, [] { return prctl(PR_SET_NAME, "name"); }), kSucceeded);
}

TEST_P(ListingPolicyTest, HoldsForThreadsThatRanBefore) {
  int entered[2] = {-1, -1};
  std::thread earlier;
  const auto start = [&] {
    if (pipe(entered) != 0) return -1;
    earlier = std::thread([&] {
      char byte = 0;
      if (read(entered[0], &byte, 1) == 1) unshare(CLONE_FILES);
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
TEST_P(ListingPolicyTest, RefusesTheSameCallsByOtherNumbers) {
  constexpr long kX32 = 0x40000000;  // NOLINT
  EXPECT_EQ(OutcomeOf(policy_, Call(kX32 + SYS_socket)), kEnded);
  EXPECT_EQ(OutcomeOf(policy_, Call(kX32 + SYS_getpid)), kEnded);
}
#endif

// --- Servers ---

class ServerPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "under a sanitizer only some calls are refused";
  }
  // Calls that a socket of before would take.
  void ExpectNoOtherUseOf(const SandboxPolicy& policy) {
    int existing = -1;
    const auto open_one = [&] { return existing = socket(AF_INET, SOCK_STREAM, 0); };
    const sockaddr_in somebody{.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const auto* address = reinterpret_cast<const sockaddr*>(&somebody);
    for (const Attack& attack : std::initializer_list<Attack>{
             [&] { return bind(existing, address, sizeof(somebody)); }, [&] { return listen(existing, 1); },
             [&] { return sendto(existing, "", 1, MSG_FASTOPEN, address, sizeof(somebody)); }}) {
      EXPECT_EQ(OutcomeOf(policy, attack, open_one), kEnded);
    }
    for (const auto& [family, type, protocol] : {std::tuple(AF_UNIX, SOCK_STREAM, 0),
                                                 {AF_UNIX, SOCK_DGRAM, 0},
                                                 {AF_INET, SOCK_DGRAM, 0},
                                                 {AF_INET6, SOCK_DGRAM, 0},
                                                 {AF_INET, SOCK_RAW, IPPROTO_ICMP},
                                                 {AF_INET, SOCK_STREAM, IPPROTO_MPTCP},
                                                 {AF_INET, SOCK_STREAM, IPPROTO_SCTP},
                                                 {AF_NETLINK, SOCK_RAW, 0},
                                                 {AF_PACKET, SOCK_RAW, 0},
                                                 {AF_VSOCK, SOCK_STREAM, 0},
                                                 {AF_ALG, SOCK_SEQPACKET, 0}}) {
      EXPECT_EQ(OutcomeOf(policy, [&] { return socket(family, type, protocol); }), EPERM) << family << ", " << type;
    }
  }
};

TEST_F(ServerPolicyTest, AcceptsAndWaits) {
  for (const SandboxPolicy& policy : {AcceptingServerPolicy(), PeerServerPolicy()}) {
    int listening = -1;
    const auto listen_before = [&] {
      listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      return listen(listening, 1);
    };
    EXPECT_EQ(OutcomeOf(
                  policy, [&] { return accept4(listening, nullptr, nullptr, SOCK_CLOEXEC); }, listen_before),
              EAGAIN);
    EXPECT_EQ(OutcomeOf(policy, [] { return epoll_create1(EPOLL_CLOEXEC); }), kSucceeded);
    int bytes = 0;
    EXPECT_EQ(OutcomeOf(
                  policy, [&] { return ioctl(listening, FIONREAD, &bytes); },
                  [&] { return listening = socket(AF_INET, SOCK_STREAM, 0); }),
              kSucceeded);
    EXPECT_EQ(OutcomeOf(
                  policy, [&] { return ioctl(listening, FIOASYNC, &bytes); },
                  [&] { return listening = socket(AF_INET, SOCK_STREAM, 0); }),
              EPERM);
    const auto wait = [] {
      sigset_t signals;
      sigemptyset(&signals);
      sigaddset(&signals, SIGTERM);
      const timespec now{};
      return sigtimedwait(&signals, nullptr, &now);
    };
    EXPECT_EQ(OutcomeOf(policy, wait), EAGAIN);
  }
}

TEST_F(ServerPolicyTest, OneThatAcceptsMakesNoConnections) {
  const SandboxPolicy policy = AcceptingServerPolicy();
  ExpectNoOtherUseOf(policy);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_INET, SOCK_STREAM, 0); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy, Call(SYS_connect)), kEnded);
}

TEST_F(ServerPolicyTest, APeerConnectsByTcpAndByNothingElse) {
  const SandboxPolicy policy = PeerServerPolicy();
  ExpectNoOtherUseOf(policy);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listening, name, sizeof(address)), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  ASSERT_EQ(getsockname(listening, name, &size), 0);
  for (const int protocol : {0, static_cast<int>(IPPROTO_TCP)}) {
    const auto connect_there = [&] {
      const int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
      return connect(end, name, sizeof(address)) == 0 || errno == EINPROGRESS ? 0 : -1;
    };
    EXPECT_EQ(OutcomeOf(policy, connect_there), kSucceeded);
  }
  close(listening);
}

// What it can have of Unix sockets is connected, and stays so.
TEST_F(ServerPolicyTest, APeerConnectsToNoUnixSocket) {
  sockaddr_un name{AF_UNIX, {}};
  std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "wharf-policy-test-%d", getpid());
  const auto* const address = reinterpret_cast<const sockaddr*>(&name);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listening, address, sizeof(name)), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  for (const bool alone : {false, true}) {
    const auto connect_there = [&] {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
      if (alone) close(ends[1]);
      return connect(ends[0], address, sizeof(name));
    };
    EXPECT_EQ(OutcomeOf(PeerServerPolicy(), connect_there), EISCONN);
  }
  close(listening);
}

TEST_F(ServerPolicyTest, WhatLibrariesDoLateWorksOrIsRefused) {
  for (const SandboxPolicy& policy : {AcceptingServerPolicy(), PeerServerPolicy()}) {
    const auto look = [] {
      if (std::thread::hardware_concurrency() == 0) return -1;
      std::thread([] { std::free(std::malloc(1 << 20)); }).join();  // an arena of its own
      char random[16];
      return static_cast<int>(getrandom(random, sizeof(random), 0)) - 16;
    };
    EXPECT_EQ(OutcomeOf(policy, look), kSucceeded);
    // A number is no name: nothing is opened for it.
    const auto resolve = [] {
      addrinfo hints{}, *found = nullptr;
      hints.ai_socktype = SOCK_STREAM;
      hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
      return getaddrinfo("192.0.2.1", "7090", &hints, &found) == 0 ? 0 : -1;
    };
    EXPECT_EQ(OutcomeOf(policy, resolve), kSucceeded);
  }
}

}  // namespace
}  // namespace wharf
