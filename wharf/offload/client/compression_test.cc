// Data of a program travel compressed, in both directions and every mode but the baseline, and come out as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "wharf/device/fake_device.h"
#include "wharf/link/testing.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/testing/loopback_server.h"
#include "wharf/offload/testing/scripted_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::FakeDevice;

constexpr uint64_t kMemory = FakeDevice::kBase;
constexpr size_t kData = 100'000;

void UploadTo(ClientSession& session, uint64_t address, std::span<const std::byte> bytes) {
  CopyToDevice copy;
  copy.to.address = address;
  copy.extent.width = bytes.size();
  ASSERT_EQ(session.Post(copy, bytes), CudaError::kSuccess);
}

std::vector<std::byte> DownloadFrom(ClientSession& session, uint64_t address, size_t bytes) {
  std::vector<std::byte> into(bytes, std::byte{0xee});
  CopyToHost copy;
  copy.from.address = address;
  copy.extent.width = bytes;
  EXPECT_EQ(session.Ask(copy, nullptr, into), CudaError::kSuccess);
  return into;
}

class CompressionTest : public testing::TestWithParam<Mode> {
 protected:
  void Open(Compression compression) {
    auto [ours, theirs] = link::MemoryPair();
    server_ = std::make_unique<LoopbackServer>(std::move(theirs), std::make_unique<FakeDevice>());
    ClientSessionOptions options;
    options.mode = GetParam();
    options.compression = compression;
    options.timeout = std::chrono::minutes(2);
    auto opened = ClientSession::Open(std::move(ours), options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    session_ = *std::move(opened);
    ASSERT_EQ(session_->Post(MapMemory{kMemory, 1 << 19}), CudaError::kSuccess);
  }
  void TearDown() override {
    if (session_ != nullptr) session_->Close(std::chrono::seconds(10));
    session_.reset();
    server_.reset();
  }
  // Noise of which each round changes one byte, up and down again.
  void CopyRounds(int rounds) {
    auto data = link::Pattern(kData, 1);
    for (int round = 0; round < rounds; ++round) {
      data[static_cast<size_t>(round) * 7] ^= std::byte{1};
      UploadTo(*session_, kMemory, data);
      ASSERT_EQ(DownloadFrom(*session_, kMemory, kData), data) << "round " << round;
    }
  }

  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<ClientSession> session_;
};

std::string NameOfMode(const testing::TestParamInfo<Mode>& info) {
  constexpr const char* kNames[] = {"Posted", "PerCall", "Cached", "Replay"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Modes, CompressionTest,
                         testing::Values(Mode::kPerCall, Mode::kCached, Mode::kPosted, Mode::kReplay), NameOfMode);

TEST_P(CompressionTest, UploadsThatDifferLittleTravelAsDifferences) {
  Open(Compression::kAlways);
  CopyRounds(10);
  const ClientSessionCounters counters = session_->Counters();
  if (GetParam() == Mode::kPerCall) {
    EXPECT_EQ(counters.bulk_up.differences, 0u) << "the papers' baseline";
    EXPECT_GT(counters.bytes_up, 10 * kData);
    return;
  }
  EXPECT_EQ(counters.bulk_up.differences, 8u) << "all but the first, and the second, which is remembered";
  EXPECT_LT(counters.bytes_up, 3 * kData);
  EXPECT_EQ(server_->executor().Counters().bulk_in.differences, 8u);
}

TEST_P(CompressionTest, DownloadsTravelCompressed) {
  if (GetParam() == Mode::kPerCall) GTEST_SKIP() << "the papers' baseline";
  Open(Compression::kAlways);
  const std::vector<std::byte> zeros(kData);
  UploadTo(*session_, kMemory, zeros);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(DownloadFrom(*session_, kMemory, kData), zeros);
  const ClientSessionCounters counters = session_->Counters();
  EXPECT_GE(counters.bulk_down.lz4.payloads + counters.bulk_down.zstd.payloads, 10u);  // replay may push one more
  EXPECT_LT(counters.bytes_down, kData);
}

TEST_P(CompressionTest, ManyThreadsCopyAtOnce) {
  Open(Compression::kAlways);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      auto data = link::Pattern(20'000 + thread, thread);
      const uint64_t address = kMemory + (thread << 16);
      for (size_t round = 0; round < 20; ++round) {
        data[round] ^= std::byte{1};
        UploadTo(*session_, address, data);
        ASSERT_EQ(DownloadFrom(*session_, address, data.size()), data) << "thread " << thread << ", round " << round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CompressionTest, OffMeansOff) {
  Open(Compression::kOff);
  CopyRounds(4);
  EXPECT_GT(session_->Counters().bytes_up, 4 * kData);
}

// --- what the server says ---

class ScriptedCompressionTest : public testing::Test {
 protected:
  void Open(uint64_t granted) {
    auto [client, server] = link::MemoryPair();
    server_ = std::make_unique<ScriptedServer>(std::move(server));
    server_->welcome().features = granted;
    server_->Start();
    ClientSessionOptions options;
    options.compression = Compression::kAuto;
    options.timeout = std::chrono::minutes(2);
    options.on_lost = [this](std::string_view why) { lost_ = why; };
    auto opened = ClientSession::Open(std::move(client), options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    session_ = *std::move(opened);
  }
  // How many bytes travel of so many zeros.
  size_t Travelled() {
    const size_t before = server_->Operations().size();
    UploadTo(*session_, kMemory, std::vector<std::byte>(kData));
    EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kSuccess);
    return server_->Operations().at(before).bulk.size();
  }
  // Data of a reply to a CopyToHost, coded.
  void AnswerCopy(const std::vector<std::byte>& bulk, uint16_t flags) {
    server_->Silence(/*dead=*/false);
    std::vector<std::byte> into(kData);
    CopyToHost copy;
    copy.extent.width = kData;
    const auto request = session_->Start(copy, into);
    server_->WaitForOperations(1);
    const uint64_t tag = server_->Operations().back().tag;
    ASSERT_TRUE(server_->channel()
                    .Send(static_cast<uint16_t>(FrameKind::kReply), tag, Encode(ReplyHeader{}), bulk,
                          link::BulkOwnership::kCopy, link::Urgency::kNow, flags)
                    .ok());
    error_ = session_->Wait({&request, 1});
    into_ = into;
  }

  std::string lost_;
  CudaError error_ = CudaError::kSuccess;
  std::vector<std::byte> into_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<ClientSession> session_;
};

TEST_F(ScriptedCompressionTest, NothingIsCodedForAServerThatCannotDecode) {
  Open(0);
  server_->Send(FrameKind::kArrived, Arrived{1'000'000, 1'000'000'000});
  EXPECT_EQ(Travelled(), kData);
}

TEST_F(ScriptedCompressionTest, DataAreCodedOnceTheServerSaysThatTheyArriveSlowly) {
  Open(kFeatureCodedBulk);
  EXPECT_EQ(Travelled(), kData) << "nothing is known of the link";
  server_->Send(FrameKind::kArrived, Arrived{1'000'000, 1'000'000'000});
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kSuccess);  // which comes behind that
  EXPECT_LT(Travelled(), kData / 50);
}

TEST_F(ScriptedCompressionTest, OnAFastLinkNothingIsCoded) {
  Open(kFeatureCodedBulk);
  server_->Send(FrameKind::kArrived, Arrived{1'000'000'000, 100'000'000});
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kSuccess);
  EXPECT_EQ(Travelled(), kData);
  EXPECT_EQ(session_->Counters().bulk_up.nanoseconds, 0u);
}

std::vector<std::byte> Compressed(const std::vector<std::byte>& data, uint32_t declared) {
  std::vector<std::byte> coded(data.size());
  std::memcpy(coded.data(), &declared, kCodedPrefixBytes);
  Compressor compressor;
  coded.resize(kCodedPrefixBytes +
               compressor.Compress(Codec::kZstd, data, std::span(coded).subspan(kCodedPrefixBytes)));
  return coded;
}

TEST_F(ScriptedCompressionTest, ACodedReplyIsDecodedToItsPlace) {
  Open(kFeatureCodedBulk);
  const std::vector<std::byte> data(kData, std::byte{4});
  AnswerCopy(Compressed(data, kData), BulkCoding{Codec::kZstd, false, false}.Flags());
  EXPECT_EQ(error_, CudaError::kSuccess);
  EXPECT_EQ(into_, data);
}

TEST_F(ScriptedCompressionTest, ACodedReplyOfAnotherSizeEndsTheSession) {
  Open(kFeatureCodedBulk);
  AnswerCopy(Compressed(std::vector<std::byte>(kData), kData + 1), BulkCoding{Codec::kZstd, false, false}.Flags());
  EXPECT_EQ(error_, CudaError::kRemoteLost);
  EXPECT_THAT(lost_, testing::HasSubstr("data of another size"));
}

TEST_F(ScriptedCompressionTest, AReplyThatDiffersFromOthersEndsTheSession) {
  Open(kFeatureCodedBulk);
  AnswerCopy(Compressed(std::vector<std::byte>(kData), kData), BulkCoding{Codec::kZstd, true, false}.Flags());
  EXPECT_EQ(error_, CudaError::kRemoteLost);
  EXPECT_THAT(lost_, testing::HasSubstr("no place"));
}

}  // namespace
}  // namespace wharf::offload
