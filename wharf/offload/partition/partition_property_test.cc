// Random CUDA programs observe the same on a device alone and with their operations spread over two at random: every
// result, every error and all device memory.
//
// The server is a process of its own: both devices must have the same addresses.
//
// WHARF_RANDOM_PROGRAMS=n runs n programs instead of the default, WHARF_RANDOM_SEED=n starts at another seed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "absl/synchronization/notification.h"
#include "wharf/base/test_environment.h"
#include "wharf/link/byte_stream.h"
#include "wharf/offload/partition/cut_planner.h"
#include "wharf/offload/partition/partitioned_device.h"
#include "wharf/offload/partition/remote_device.h"
#include "wharf/offload/testing/loopback_server.h"
#include "wharf/offload/testing/random_cuda_interpreter.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kPrograms = 300;

// Serves one client after the other in a child process. A client first says how much memory it wants: 8 bytes.
class ServerProcess {
 public:
  // REQUIRES: this process has no threads.
  ServerProcess() : listening_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    // Linux picks an abstract name.
    Check(bind(listening_, reinterpret_cast<sockaddr*>(&address_), sizeof(sa_family_t)));
    size_ = sizeof(address_);
    Check(getsockname(listening_, reinterpret_cast<sockaddr*>(&address_), &size_));
    Check(listen(listening_, 1));
    pid_ = fork();
    Check(pid_);
    if (pid_ == 0) Serve();
    close(listening_);
  }
  ~ServerProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  std::unique_ptr<link::ByteStream> Connect(uint64_t quota) const {
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Check(connect(connection, reinterpret_cast<const sockaddr*>(&address_), size_));
    Check(write(connection, &quota, sizeof(quota)) == sizeof(quota) ? 0 : -1);
    return link::FromSocket(connection);
  }

 private:
  static void Check(int result) {
    if (result < 0) std::abort();
  }
  [[noreturn]] void Serve() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) {
      const int connection = accept(listening_, nullptr, nullptr);
      uint64_t quota = 0;
      if (connection < 0 || recv(connection, &quota, sizeof(quota), MSG_WAITALL) != sizeof(quota)) continue;
      const int hang_up = dup(connection);
      {
        const LoopbackServer server(link::FromSocket(connection), MakeRandomProgramDevice(quota));
        std::byte byte;
        while (recv(hang_up, &byte, 1, MSG_PEEK) > 0) usleep(1000);
      }
      close(hang_up);
    }
  }

  const int listening_;
  sockaddr_un address_{};
  socklen_t size_ = 0;
  pid_t pid_ = -1;
};

// Stays on a side for a while.
class RandomPlacement final : public Placement {
 public:
  explicit RandomPlacement(uint64_t seed) : random_(seed), mean_(1 << seed % 6) {}
  Side Next(const StepOp&, const Access&) override {
    if (random_() % mean_ == 0) side_ = Other(side_);
    return side_;
  }

 private:
  std::mt19937_64 random_;
  const uint64_t mean_;
  Side side_ = Side::kLocal;
};

// As in use, over a link whose rate jumps.
std::unique_ptr<Placement> MakePlanner(uint64_t seed) {
  return std::make_unique<CutPlanner>([random = std::mt19937_64(seed)]() mutable {
    constexpr double kRates[] = {1e5, 1e7, 1e9};
    return link::LinkEstimate{0, kRates[random() % 3], std::chrono::microseconds(10)};
  });
}

std::unique_ptr<Placement> MakePlacement(uint64_t seed) {
  if (seed % 8 == 0) return std::make_unique<AllLocal>();
  if (seed % 4 == 1) return MakePlanner(seed);
  return std::make_unique<RandomPlacement>(seed);
}

class PartitionProperty : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server = new ServerProcess(); }
  static void TearDownTestSuite() {
    delete server;
    server = nullptr;
  }

  static bool HaveAddressesInCommon(uint64_t quota) {
    const auto session = ClientSession::Open(server->Connect(quota), {}).value();
    return MakeRandomProgramDevice(quota)->Arena().base == session->welcome().arena.base;
  }
  // A process that has made many devices may find their usual place taken. A new child has this process's layout. No
  // session is open then, whose threads would be missing in the child, perhaps with a lock in their hands.
  static void ShareAddresses(uint64_t quota) {
    constexpr int kAttempts = 5;
    for (int i = 0; i < kAttempts && !HaveAddressesInCommon(quota); ++i) {
      delete server;
      server = new ServerProcess();
    }
  }

  // Executes the program on two devices.
  Trace Partitioned(const RandomCudaProgram& program, ExecutionOptions options, std::unique_ptr<Placement> placement,
                    Mode upstream) {
    ShareAddresses(options.quota);
    options.mode = Mode::kPosted;
    options.wrap_device = [&](std::unique_ptr<device::Device> local) {
      const uint64_t quota = options.quota;
      auto remote = RemoteDevice::Open([&](auto output) {
                      ClientSessionOptions session;
                      session.mode = upstream;
                      session.timeout = std::chrono::seconds(60);
                      session.output = std::move(output);
                      return ClientSession::Open(server->Connect(quota), std::move(session));
                    }).value();
      auto both = PartitionedDevice::Create(std::move(local), std::move(remote), std::move(placement)).value();
      counters_ = both->Counters();
      return both;
    };
    return Execute(program, options);
  }

  static Trace Reference(const RandomCudaProgram& program, ExecutionOptions options) {
    options.mode = Mode::kPerCall;
    options.settle = true;
    options.disturbance = 0;
    return Execute(program, options);
  }

  static inline ServerProcess* server = nullptr;
  std::shared_ptr<const PartitionCounters> counters_;  // of the last device
};

TEST_F(PartitionProperty, ProgramsObserveTheSameWhereverTheirOperationsRun) {
  const uint64_t first = FromEnvironment("WHARF_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", kPrograms);
  uint64_t local = 0, remote = 0, transfers = 0, covered = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomCudaProgram program = GenerateCudaProgram(seed);
    ExecutionOptions options;
    options.disturbance = seed % 2 == 0 ? 0 : seed;
    if (seed % 16 == 0) options.quota = (2 + seed / 16 % 8) * 4096;
    const Mode upstream = seed % 3 == 0 ? Mode::kPosted : Mode::kReplay;
    const Trace actual = Partitioned(program, options, MakePlacement(seed), upstream);
    const auto difference = Difference(Reference(program, options), actual, /*deferred=*/true);
    ASSERT_FALSE(difference.has_value()) << fmt::format("seed {}: {}\n{}", seed, *difference, Print(program));
    local += counters_->operations_local;
    remote += counters_->operations_remote;
    transfers += counters_->transfers;
    covered += counters_->covered;
  }
  fmt::print("{} local operations, {} remote, {} transfers, {} launches covered\n", local, remote, transfers, covered);
  // Otherwise this tests nothing.
  EXPECT_GT(covered, 0u);
  EXPECT_GT(local, remote / 4);
  EXPECT_GT(remote, local / 4);
  EXPECT_GT(transfers, (local + remote) / 20);
}

// A program of which all work runs on the server.
class AllOnTheServer : public PartitionProperty {
 protected:
  AllOnTheServer() {
    class AllRemote final : public Placement {
      Side Next(const StepOp&, const Access&) override { return Side::kRemote; }
    };
    constexpr uint64_t kQuota = 1 << 20;
    ShareAddresses(kQuota);
    auto local = MakeRandomProgramDevice(kQuota);
    local_ = local.get();
    auto remote = RemoteDevice::Open([](auto) { return ClientSession::Open(server->Connect(kQuota), {}); }).value();
    both_ = PartitionedDevice::Create(std::move(local), std::move(remote), std::make_unique<AllRemote>()).value();
    word_ = {both_->Arena().base, 4, 4};
  }
  ~AllOnTheServer() override {
    if (!go_on_.HasBeenNotified()) go_on_.Notify();
    both_.reset();
  }

  void MapWord() {
    ASSERT_EQ(both_->Map(word_.address, both_->Arena().granularity), absl::OkStatus());
    ASSERT_EQ(FillWord(), absl::OkStatus());
  }
  absl::Status FillWord() { return both_->Fill(device::kDefaultStream, word_, {4, 1, 1}, 7, 4); }
  // Returns when the word has come; its delivery then lasts until go_on_.
  void StartDelivery() {
    absl::Notification arrived;
    ASSERT_EQ(both_->CopyToHost(device::kDefaultStream, word_, {4, 1, 1},
                                [&](const absl::Status&, std::vector<std::byte>) {
                                  arrived.Notify();
                                  go_on_.WaitForNotification();
                                  delivered_ = true;
                                }),
              absl::OkStatus());
    arrived.WaitForNotification();
  }

  device::Device* local_ = nullptr;
  std::unique_ptr<PartitionedDevice> both_;
  device::Region word_{};
  absl::Notification go_on_;
  std::atomic<bool> delivered_ = false;
};

// Whoever waits for the device while a copy from the server is being delivered waits for that, too.
TEST_F(AllOnTheServer, ACopyIsDeliveredBeforeItsSideIsDone) {
  ASSERT_NO_FATAL_FAILURE(MapWord());
  ASSERT_NO_FATAL_FAILURE(StartDelivery());
  absl::Notification all_done, local_done;
  std::atomic<bool> delivered_when_done = false;
  ASSERT_EQ(both_->NotifyAll([&](const absl::Status&) {
    delivered_when_done = delivered_.load();
    all_done.Notify();
  }),
            absl::OkStatus());
  // What asked this device only has its answer before this.
  ASSERT_EQ(local_->NotifyAll([&](const absl::Status&) { local_done.Notify(); }), absl::OkStatus());
  local_done.WaitForNotification();
  go_on_.Notify();
  all_done.WaitForNotification();
  EXPECT_TRUE(delivered_when_done);
}

TEST_F(AllOnTheServer, AHostFunctionSeesWhatWasCopiedBeforeIt) {
  ASSERT_NO_FATAL_FAILURE(MapWord());
  ASSERT_NO_FATAL_FAILURE(StartDelivery());
  absl::Notification called;
  std::atomic<bool> delivered_when_called = false;
  ASSERT_EQ(both_->HostCall(device::kDefaultStream,
                            [&] {
                              delivered_when_called = delivered_.load();
                              called.Notify();
                            }),
            absl::OkStatus());
  // Time for a call that does not wait to be made.
  called.WaitForNotificationWithTimeout(absl::Milliseconds(100));
  go_on_.Notify();
  called.WaitForNotification();
  EXPECT_TRUE(delivered_when_called);
}

// Whether the side here is done or not.
TEST_F(AllOnTheServer, AQueryBringsTheServersErrors) {
  ASSERT_EQ(local_->HostCall(device::kDefaultStream, [this] { go_on_.WaitForNotification(); }), absl::OkStatus());
  EXPECT_EQ(FillWord(), absl::OkStatus());  // nothing is allocated there
  EXPECT_EQ(both_->StreamDone(device::kDefaultStream).value(), false);
  EXPECT_EQ(device::CudaErrorOf(both_->TakeDeferredError()), device::CudaError::kInvalidValue);
}

}  // namespace
}  // namespace wharf::offload
