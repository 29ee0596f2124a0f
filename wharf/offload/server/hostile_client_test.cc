// A whole hostile client: operations in any order with any numbers in them, modules that are broken or cut short,
// records of replay about what never was, frames of no kind. Whatever it sends, the server answers every request or
// ends the session and says why, and takes no more memory than the session may have.
//
// WHARF_HOSTILE_SESSIONS: how many (default 3,000); WHARF_HOSTILE_SEED: of the first, to repeat one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "wharf/base/test_environment.h"
#include "wharf/device/device.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/replay/progress.h"
#include "wharf/offload/server/executor.h"
#include "wharf/offload/server/hostile_operations_testing.h"
#include "wharf/offload/testing/generated/random_cuda_kernels_ptx.h"
#include "wharf/offload/testing/random_cuda_interpreter.h"
#include "wharf/offload/testing/raw_client.h"

namespace wharf::offload {
namespace {

class HostileClient {
 public:
  HostileClient(RawClient& client, const device::Arena& arena, bool replays, uint64_t seed)
      : client_(client), replays_(replays), random_(seed), numbers_(random_, arena) {}

  void Run() {
    if (random_.Chance(0.9)) SetUp();
    for (int left = random_.Between(5, 120); left > 0; --left) Step();
    if (random_.Chance(0.3)) SendGarbage();
  }
  // So that what follows has something to go wrong with.
  void SetUp() {
    const std::span<const char> image(kRandomCudaKernels.data(), kRandomCudaKernels.size());
    Load(1, {reinterpret_cast<const std::byte*>(image.data()), image.size()});
    for (uint64_t i = 0; i < 8; ++i) {
      DefineFunction define;
      define.function = i;
      define.module = 1;
      define.name = kHostileKernels[random_.Below(std::size(kHostileKernels))];
      Send(define);
    }
    for (uint64_t id = HostileNumbers::kFirstStream; id < HostileNumbers::kStreams; ++id) {
      Send(CreateStream{id});
      Send(CreateEvent{id});
    }
    for (int i = 0; i < 8; ++i) {
      const MapMemory map{numbers_.Granule(8 * i), static_cast<uint64_t>(random_.Between(2, 8)) * 4096};
      Send(map);
      numbers_.Remember(map);
    }
  }
  // The tag by which it asks whether that is done.
  template <typename Op>
  uint64_t SendOne() {
    Op op = operations_.Any<Op>();
    op.stream = numbers_.Stream();
    Send(op);
    Send(SynchronizeDevice{});
    return asked_.back();
  }
  const std::vector<uint64_t>& Asked() const { return asked_; }
  bool HoldsAStream() const { return holds_; }
  // Then it is not told any more why the session is over.
  bool SaidGoodbye() const { return said_goodbye_; }

 private:
  void Step() {
    if (replays_ && random_.Chance(0.02)) return SendProgress();
    if (random_.Chance(0.01)) return LoadSomething();
    if (random_.Chance(0.4)) return Send(operations_.Any<Launch>());
    SendAny(AllOps());
  }

  template <typename... Ops>
  void SendAny(OpList<Ops...>) {
    int left = random_.Below(sizeof...(Ops));
    ((left-- == 0 ? Send(operations_.Any<Ops>()) : void()), ...);
  }

  template <typename Op>
  void Send(const Op& op) {
    if constexpr (std::is_same_v<Op, RequestHostCall>) {
      if (!calls_host_) return;
      holds_ = true;
    }
    std::vector<std::byte> bulk;
    if constexpr (std::is_same_v<Op, CopyToDevice>) bulk = BulkOf(op.extent);
    if constexpr (std::is_same_v<Op, LoadModule>) bulk.resize(static_cast<size_t>(random_.Below(256)));
    if (Op::kAnswer == Answer::kBlocking) {
      asked_.push_back(asked_.size() + 1);
      client_.SendFrame(Op::kNumber, asked_.back(), Encode(op)).IgnoreError();
    } else {
      const uint16_t flags = bulk.empty() ? uint16_t{0} : Code(bulk);
      client_.channel()
          .Send(Op::kNumber, 0, Encode(op), bulk, link::BulkOwnership::kCopy, link::Urgency::kNow, flags)
          .IgnoreError();
    }
  }

  // Makes coded data of it, mostly such as it says; at times of any flags. The flags.
  uint16_t Code(std::vector<std::byte>& bulk) {
    if (random_.Chance(0.01)) return static_cast<uint16_t>(random_.Next());
    BulkCoding coding;
    coding.remember = random_.Chance(0.3);
    if (bulk.size() < 64 || random_.Chance(0.5)) return coding.Flags();
    coding.codec = random_.Chance(0.5) ? Codec::kLz4 : Codec::kZstd;
    coding.difference = random_.Chance(0.05);
    std::vector<std::byte> coded(bulk.size());
    const auto declared = static_cast<uint32_t>(bulk.size() - (random_.Chance(0.02) ? 1 : 0));
    std::memcpy(coded.data(), &declared, kCodedPrefixBytes);
    const size_t size = compressor_.Compress(coding.codec, bulk, std::span(coded).subspan(kCodedPrefixBytes));
    coded.resize(kCodedPrefixBytes + size);
    if (random_.Chance(0.02)) coded.back() ^= std::byte{0x11};
    bulk = std::move(coded);
    return coding.Flags();
  }

  // As long as the extent says, if that can be; at times not.
  std::vector<std::byte> BulkOf(const device::Extent& extent) {
    constexpr uint64_t kMost = 1 << 20;
    uint64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(extent.width, extent.height, &bytes) &&
                      !__builtin_mul_overflow(bytes, extent.depth, &bytes) && bytes <= kMost;
    if (!fits || random_.Chance(0.05)) bytes = static_cast<uint64_t>(random_.Below(5000));
    return std::vector<std::byte>(bytes, std::byte{7});
  }

  // --- what no client sends ---

  void Load(uint64_t module, std::span<const std::byte> image) {
    client_.SendFrame(LoadModule::kNumber, 0, Encode(LoadModule{module, true}), {image.begin(), image.end()})
        .IgnoreError();
  }
  // A module that is cut short, or has some bytes changed. Nothing of it is launched: its loops need not end.
  void LoadSomething() {
    const auto* begin = reinterpret_cast<const std::byte*>(kRandomCudaKernels.data());
    std::vector<std::byte> image(begin, begin + kRandomCudaKernels.size());
    if (random_.Chance(0.3)) image.resize(static_cast<size_t>(random_.Below(static_cast<int>(image.size()))));
    for (int changes = random_.Below(6); changes > 0 && !image.empty(); --changes) {
      const auto at = static_cast<size_t>(random_.Below(static_cast<int>(image.size())));
      image[at] = random_.Chance(0.5) ? static_cast<std::byte>(random_.Next())
                                      : image[static_cast<size_t>(random_.Below(static_cast<int>(image.size())))];
    }
    constexpr uint64_t kBroken = 1'000;  // no id that Launch could meet
    const uint64_t module = kBroken + numbers_.Id() % 4;
    Load(module, image);
    DefineFunction define;
    define.function = module;
    define.module = module;
    define.name = kHostileKernels[random_.Below(std::size(kHostileKernels))];
    Send(define);
    GetAttributes attributes;
    attributes.function = module;
    Send(attributes);
    if (random_.Chance(0.5)) Send(UnloadModule{module});
  }
  // What a client would send that goes on as predicted, at a place where perhaps nothing is; at times any bytes.
  void SendProgress() {
    ProgressWriter writer;
    for (int records = random_.Below(4); records > 0; --records) {
      const auto operation = static_cast<OperationId>(random_.Below(20));
      switch (random_.Below(6)) {
        case 0:
          writer.Known(operation, static_cast<uint64_t>(random_.Below(40)));
          break;
        case 1:
          writer.Forget();
          break;
        case 2:
          writer.Wait();
          break;
        case 3:
          writer.Lane(static_cast<uint64_t>(random_.Below(3)));
          break;
        default:
          writer.Advance();
      }
    }
    std::vector<std::byte> records = writer.Bytes();
    if (random_.Chance(0.1)) records.push_back(static_cast<std::byte>(random_.Next()));
    client_.SendFrame(static_cast<uint16_t>(FrameKind::kProgress), static_cast<uint64_t>(random_.Below(100)), records)
        .IgnoreError();
  }
  void SendGarbage() {
    std::vector<std::byte> head(static_cast<size_t>(random_.Below(100))), bulk(static_cast<size_t>(random_.Below(50)));
    for (std::byte& byte : head) byte = static_cast<std::byte>(random_.Next());
    const auto kind = static_cast<uint16_t>(random_.Below(90));
    said_goodbye_ = kind == static_cast<uint16_t>(FrameKind::kGoodbye);
    client_.SendFrame(kind, random_.Next(), head, bulk).IgnoreError();
  }

  RawClient& client_;
  const bool replays_;
  HostileRandom random_;
  HostileNumbers numbers_;
  HostileOperations operations_{random_, numbers_};
  Compressor compressor_;
  std::vector<uint64_t> asked_;
  const bool calls_host_ = random_.Chance(0.1);
  bool said_goodbye_ = false;
  bool holds_ = false;  // perhaps: a stream, until a host function has run
};

// A server with a software device, and the client's end of the link to it.
class Session {
 public:
  Session(bool replays, bool codes) {
    auto [ours, theirs] = link::MemoryPair();
    auto device = MakeRandomProgramDevice(kHostileQuota);
    arena_ = device->Arena();
    link::ChannelOptions options;
    options.limits = ExecutorFrameLimits();
    channel_ = link::Channel::Create(std::move(theirs), options);
    executor_ = std::make_unique<Executor>(std::move(device), channel_.get());
    if (replays) executor_->EnableReplay({});
    if (codes) executor_->EnableCodedBulk();
    channel_->Start(executor_.get());
    client_ = std::make_unique<RawClient>(std::move(ours));
  }
  ~Session() {
    executor_->Release();
    executor_->Stop();
    channel_->Stop();
  }
  RawClient& client() { return *client_; }
  const device::Arena& arena() const { return arena_; }
  const Executor& executor() const { return *executor_; }

 private:
  device::Arena arena_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<RawClient> client_;
};

TEST(HostileClientTest, IsAnsweredOrEndedWhateverItSends) {
  const uint64_t sessions = FromEnvironment("WHARF_HOSTILE_SESSIONS", 3000);
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  uint64_t answered = 0, ended = 0, launches = 0;
  for (uint64_t seed = first; seed < first + sessions && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const bool replays = seed % 2 == 0;
    Session session(replays, /*codes=*/seed % 4 < 2);
    HostileClient hostile(session.client(), session.arena(), replays, seed);
    hostile.Run();
    if (hostile.HoldsAStream()) continue;  // what comes behind waits, and may
    for (const uint64_t tag : hostile.Asked()) {
      // Whatever was asked: only the header is looked at, or that the session is over.
      const auto reply = session.client().Await<SynchronizeDevice>(tag);
      if (absl::IsUnavailable(reply.status())) {
        EXPECT_TRUE(hostile.SaidGoodbye() || session.client().Has(FrameKind::kGoodbye)) << "it ends without a word";
        ++ended;
        break;
      }
      EXPECT_FALSE(absl::IsDeadlineExceeded(reply.status())) << "request " << tag << " has no answer";
      ++answered;
    }
    EXPECT_LE(session.executor().Counters().peak_mapped_bytes, kHostileQuota);
    launches += session.executor().Counters().launches;
  }
  const std::string sum = fmt::format("{} sessions: {} requests answered, {} launches, {} sessions ended\n", sessions,
                                      answered, launches, ended);
  std::fputs(sum.c_str(), stdout);
  if (sessions >= 100) {  // or it tests nothing
    EXPECT_GT(answered, 2 * sessions);
    EXPECT_GT(launches, 5 * sessions);
    EXPECT_GT(ended, sessions / 20);
  }
}

// Hostile numbers for a library's functions, among such that most calls are carried out: what is refused at its first
// operand tests nothing behind that.
template <typename Op>
class HostileLibraryCallsTest : public ::testing::Test {};
using LibraryCalls = ::testing::Types<RunGemm, RunConvolution, RunPooling, RunBatchNorm, RunSoftmax, RunPointwise,
                                      RunRecurrent, RunFourier, RunLapack, RunDnnGraph>;
struct LibraryCallNames {
  template <typename Op>
  static std::string GetName(int) {
    return Op::kName;
  }
};
TYPED_TEST_SUITE(HostileLibraryCallsTest, LibraryCalls, LibraryCallNames);

TYPED_TEST(HostileLibraryCallsTest, AreRefusedOrCarriedOut) {
  const uint64_t sessions = FromEnvironment("WHARF_HOSTILE_SESSIONS", 3000) / 60;
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  constexpr int kCalls = 40;
  // What has passed all checks: the software device computes none of the graphs that a client may describe.
  constexpr auto kPassed =
      std::is_same_v<TypeParam, RunDnnGraph> ? device::CudaError::kNotSupported : device::CudaError::kSuccess;
  uint64_t passed = 0;
  for (uint64_t seed = first; seed < first + sessions; ++seed) {
    Session session(/*replays=*/false, /*codes=*/false);
    HostileClient hostile(session.client(), session.arena(), /*replays=*/false, seed);
    hostile.SetUp();
    for (int i = 0; i < kCalls; ++i) {
      const auto answer = session.client().template Await<SynchronizeDevice>(hostile.template SendOne<TypeParam>());
      ASSERT_TRUE(answer.ok()) << "seed " << seed << ": " << answer.status();
      if (answer->header.posted_error == kPassed) ++passed;
      fprintf(stderr, "T%s %d %s\n", TypeParam::kName, (int)answer->header.posted_error,
              answer->header.message.c_str());
    }
  }
  std::fputs(fmt::format("{} of {} calls pass\n", passed, sessions * kCalls).c_str(), stdout);
  if (sessions >= 10) {  // or it tests nothing
    EXPECT_GT(passed, sessions * kCalls / 20);
  }
}

}  // namespace
}  // namespace wharf::offload
