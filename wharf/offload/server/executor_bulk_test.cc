// Data that travel compressed, or as what changed.
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/server/executor_testing.h"

namespace wharf::offload {
namespace {

// `bytes` zeros, compressed, that say they are `declared`.
std::vector<std::byte> CodedZeros(Codec codec, size_t bytes, uint32_t declared) {
  std::vector<std::byte> coded(bytes + 64);
  std::memcpy(coded.data(), &declared, kCodedPrefixBytes);
  Compressor compressor;
  const std::vector<std::byte> zeros(bytes);
  coded.resize(kCodedPrefixBytes + compressor.Compress(codec, zeros, std::span(coded).subspan(kCodedPrefixBytes)));
  return coded;
}

class CodedBulkTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ExecutorTest::SetUp();
    executor_->EnableCodedBulk();
    MapMemory map;
    map.address = kBase;
    map.size = 1 << 19;
    ASSERT_TRUE(client_->Post(map).ok());
  }
  template <typename Op>
  void PostCoded(const Op& op, const std::vector<std::byte>& bulk, const BulkCoding& coding) {
    ASSERT_TRUE(
        client_->channel()
            .Send(Op::kNumber, 0, Encode(op), bulk, link::BulkOwnership::kCopy, link::Urgency::kNow, coding.Flags())
            .ok());
  }
  static CopyToDevice CopyOf(uint64_t bytes) {
    CopyToDevice copy;
    copy.to.address = kBase;
    copy.extent.width = bytes;
    return copy;
  }
  // The session is over, and the client was told why.
  void ExpectEnd(const std::string& reason) {
    EXPECT_EQ(client_->AwaitClosed().code(), absl::StatusCode::kUnavailable);
    const auto goodbye = client_->Next(FrameKind::kGoodbye);
    ASSERT_TRUE(goodbye.ok()) << goodbye.status();
    EXPECT_THAT(goodbye->As<Goodbye>().reason, ::testing::HasSubstr(reason));
  }
};

TEST_F(CodedBulkTest, BecomesWhatTheProgramCopied) {
  Copy(kBase, std::vector<std::byte>(100'000, std::byte{5}));
  PostCoded(CopyOf(100'000), CodedZeros(Codec::kZstd, 100'000, 100'000), {Codec::kZstd, false, false});
  const auto answer = client_->Ask(Read(kBase, 100'000));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->bulk, std::vector<std::byte>(100'000));
  const ExecutorCounters counters = executor_->Counters();
  EXPECT_EQ(counters.bulk_in.zstd.payloads, 1u);
  EXPECT_EQ(counters.bulk_in.zstd.before, 100'000u);
  EXPECT_LT(counters.bulk_in.zstd.after, 1'000u);
}

TEST_F(CodedBulkTest, ThatIsNotWhatItsExtentSaysEndsTheSession) {
  PostCoded(CopyOf(100'000), CodedZeros(Codec::kLz4, 100'001, 100'000), {Codec::kLz4, false, false});
  ExpectEnd("damaged");
}

TEST_F(CodedBulkTest, ThatIsLongerThanItsExtentIsRefusedAtTheHeader) {
  PostCoded(CopyOf(5'000), std::vector<std::byte>(5'000), {Codec::kLz4, false, false});
  ExpectEnd("do not match its extent");
}

TEST_F(CodedBulkTest, ThatDiffersFromNothingEndsTheSession) {
  PostCoded(CopyOf(100'000), CodedZeros(Codec::kLz4, 100'000, 100'000), {Codec::kLz4, true, false});
  ExpectEnd("data differ from what was never sent there");
}

TEST_F(CodedBulkTest, OfAnImageIsAtMostOnePiece) {
  PostCoded(LoadModule{1, true}, CodedZeros(Codec::kLz4, 1 << 20, kMaxBulkBytes + 1), {Codec::kLz4, false, false});
  ExpectEnd("a piece of an image");
}

TEST_F(CodedBulkTest, OfAnImageIsThatImage) {
  std::vector<std::byte> image = CodedZeros(Codec::kZstd, 1 << 20, 1 << 20);
  PostCoded(LoadModule{1, true}, image, {Codec::kZstd, false, false});
  EXPECT_TRUE(client_->Ask(SynchronizeDevice{}).ok());
  EXPECT_EQ(executor_->Counters().bulk_in.zstd.before, 1u << 20);
}

TEST_F(CodedBulkTest, RepliesAreCodedWhenTheClientSaysThatItsLinkIsSlow) {
  ASSERT_TRUE(client_->SendControl(FrameKind::kArrived, Arrived{1'000'000, 1'000'000'000}).ok());
  const auto answer = client_->Ask(Read(kBase, 100'000));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_LT(answer->bulk.size(), 1'000u);
  const BulkTraffic out = executor_->Counters().bulk_out;
  EXPECT_EQ(out.lz4.payloads + out.zstd.payloads, 1u);
}

TEST_F(ExecutorTest, WithoutTheFeatureFlagsMeanNothing) {
  MapMemory map;
  map.address = kBase;
  map.size = 1 << 19;
  ASSERT_TRUE(client_->Post(map).ok());
  CopyToDevice copy;
  copy.to.address = kBase;
  copy.extent.width = 5'000;
  const std::vector<std::byte> data(5'000, std::byte{3});
  ASSERT_TRUE(
      client_->channel()
          .Send(CopyToDevice::kNumber, 0, Encode(copy), data, link::BulkOwnership::kCopy, link::Urgency::kNow, 0x31)
          .ok());
  EXPECT_EQ(client_->Ask(Read(kBase, 5'000)).value().bulk, data);
}

}  // namespace
}  // namespace wharf::offload
