// What a confined process cannot do, by trying it.
#include "wharf/base/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

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

TEST(WorkerPolicy, RefusesWhatReachesOtherProcessesAndTheMachine) {
  for (const bool for_gpu : {false, true}) {
    const SandboxPolicy policy = WorkerPolicy(for_gpu);
    EXPECT_EQ(OutcomeOf(policy, [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }), EPERM);
    EXPECT_EQ(OutcomeOf(policy, [] { return unshare(CLONE_FILES); }), EPERM);
    for (const long call : {SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_setns, SYS_chroot,  // NOLINT
                            SYS_finit_module, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl,
                            SYS_personality, SYS_io_uring_setup, SYS_pidfd_getfd, SYS_open_by_handle_at}) {
      EXPECT_EQ(OutcomeOf(policy, Call(call)), EPERM) << call;
    }
  }
}

TEST(WorkerPolicy, RefusesProgramsAndSocketsWithoutAGpu) {
  const SandboxPolicy policy = WorkerPolicy(false);
  EXPECT_EQ(OutcomeOf(policy, [] { return execl("/bin/true", "true", nullptr); }), EPERM);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_INET, SOCK_STREAM, 0); }), EPERM);
  // Nor with a socket that was there before.
  int existing = -1;
  const auto open_one = [&] { return existing = socket(AF_UNIX, SOCK_STREAM, 0); };
  const sockaddr_un nobody{AF_UNIX, "/nobody"};
  const auto* address = reinterpret_cast<const sockaddr*>(&nobody);
  EXPECT_EQ(OutcomeOf(
                policy, [&] { return connect(existing, address, sizeof(nobody)); }, open_one),
            EPERM);
  EXPECT_EQ(OutcomeOf(
                policy, [&] { return bind(existing, address, sizeof(nobody)); }, open_one),
            EPERM);
  EXPECT_EQ(OutcomeOf(
                policy, [&] { return listen(existing, 1); }, open_one),
            EPERM);
  EXPECT_EQ(OutcomeOf(
                policy, [&] { return accept(existing, nullptr, nullptr); }, open_one),
            EPERM);
}

TEST(WorkerPolicy, LeavesTheGpusDriverWhatItNeeds) {
  const SandboxPolicy policy = WorkerPolicy(true);
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_UNIX, SOCK_STREAM, 0); }), kSucceeded);
  EXPECT_EQ(OutcomeOf(policy, [] { return execl("/bin/true", "true", nullptr); }), kSucceeded);
}

TEST(WorkerPolicy, HoldsForThreadsThatRanBefore) {
  int entered[2] = {-1, -1};
  int error = -1;
  std::thread earlier;
  const auto start = [&] {
    if (pipe(entered) != 0) return -1;
    earlier = std::thread([&] {
      char byte = 0;
      const bool told = read(entered[0], &byte, 1) == 1;
      error = told && socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
    });
    return 0;
  };
  const auto attack = [&] {
    if (write(entered[1], "", 1) != 1) return 0;
    earlier.join();
    errno = error;
    return error == 0 ? 0 : -1;
  };
  EXPECT_EQ(OutcomeOf(WorkerPolicy(false), attack, start), EPERM);
}

#if defined(__x86_64__)
TEST(WorkerPolicy, RefusesTheSameCallsByOtherNumbers) {
  constexpr long kX32 = 0x40000000;  // NOLINT
  EXPECT_EQ(OutcomeOf(WorkerPolicy(false), Call(kX32 + SYS_socket)), EPERM);
  EXPECT_EQ(OutcomeOf(WorkerPolicy(false), Call(kX32 + SYS_getpid)), EPERM);
}
#endif

class DecoderPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (policy_.calls.empty()) GTEST_SKIP() << "decoders are not confined under a sanitizer";
  }
  const SandboxPolicy policy_ = DecoderPolicy();
};

TEST_F(DecoderPolicyTest, EndsWhoDoesAnythingElse) {
  constexpr int kEnded = 128 + SIGSYS;
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

TEST(Sandbox, WithoutRulesOnlyLimits) {
  const SandboxPolicy policy{.calls = {},
                             .listed = Verdict::kAllow,
                             .others = Verdict::kAllow,
                             .foreign = Verdict::kAllow,
                             .address_space = std::nullopt};
  EXPECT_EQ(OutcomeOf(policy, [] { return socket(AF_UNIX, SOCK_STREAM, 0); }), kSucceeded);
}

}  // namespace
}  // namespace wharf
