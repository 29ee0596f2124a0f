#include "wharf/link/frame_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

std::array<std::byte, kFrameHeaderBytes> Encoded(const FrameHeader& header) {
  std::array<std::byte, kFrameHeaderBytes> bytes;
  EncodeFrameHeader(header, bytes);
  return bytes;
}

TEST(FrameHeaderTest, IsLaidOutAsDocumented) {
  const auto bytes = Encoded(
      {.kind = 0x0201, .flags = 0x0403, .head_bytes = 0x08070605, .bulk_bytes = 0x0c0b0a09, .tag = 0x14131211100f0e0d});
  EXPECT_EQ(AsText(std::span(bytes).first(4)), "WHF1");
  for (size_t i = 4; i < kFrameHeaderBytes; ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i - 3)) << i;
}

RC_GTEST_PROP(FrameHeaderProperty, ComesBackAsItWas, ()) {
  FrameHeader sent;
  sent.kind = *rc::gen::arbitrary<uint16_t>();
  sent.flags = *rc::gen::arbitrary<uint16_t>();
  sent.head_bytes = *rc::gen::arbitrary<uint32_t>();
  sent.bulk_bytes = *rc::gen::arbitrary<uint32_t>();
  sent.tag = *rc::gen::arbitrary<uint64_t>();
  const auto received = DecodeFrameHeader(Encoded(sent), {UINT32_MAX, UINT32_MAX});
  RC_ASSERT(received.ok());
  RC_ASSERT(received->kind == sent.kind && received->flags == sent.flags && received->tag == sent.tag);
  RC_ASSERT(received->head_bytes == sent.head_bytes && received->bulk_bytes == sent.bulk_bytes);
}

TEST(FrameHeaderTest, ChecksMagicAndLimits) {
  const FrameLimits limits{100, 1000};
  EXPECT_TRUE(DecodeFrameHeader(Encoded({.head_bytes = 100, .bulk_bytes = 1000}), limits).ok());
  EXPECT_EQ(DecodeFrameHeader(Encoded({.head_bytes = 101}), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(DecodeFrameHeader(Encoded({.bulk_bytes = 1001}), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  for (size_t i = 0; i < 4; ++i) {
    auto bytes = Encoded({});
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(DecodeFrameHeader(bytes, limits).status().code(), absl::StatusCode::kDataLoss);
  }
}

// Gives what it was told, in reads of at most `piece`, then ends; remembers the largest place it was asked to fill.
class ScriptedStream final : public ByteStream {
 public:
  explicit ScriptedStream(std::vector<std::byte> bytes, size_t piece = SIZE_MAX)
      : bytes_(std::move(bytes)), piece_(piece) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    largest_place = std::max(largest_place, into.size());
    const size_t count = std::min({into.size(), bytes_.size() - given_, piece_});
    if (count > 0) std::memcpy(into.data(), bytes_.data() + given_, count);
    given_ += count;
    return count;
  }
  absl::Status Write(std::span<const std::span<const std::byte>>) override { return absl::OkStatus(); }
  void Shutdown() override {}
  std::string Peer() const override { return "script"; }
  bool IsLocal() const override { return true; }
  size_t largest_place = 0;

 private:
  const std::vector<std::byte> bytes_;
  const size_t piece_;
  size_t given_ = 0;
};

void Append(std::vector<std::byte>& stream, const FrameHeader& header, std::span<const std::byte> head,
            std::span<const std::byte> bulk) {
  const auto encoded = Encoded(header);
  stream.insert(stream.end(), encoded.begin(), encoded.end());
  stream.insert(stream.end(), head.begin(), head.end());
  stream.insert(stream.end(), bulk.begin(), bulk.end());
}

constexpr auto kAlways = [] { return true; };

TEST(FrameReaderTest, AHeaderThatLiesTakesNoMemory) {
  for (const FrameHeader& header : {FrameHeader{.bulk_bytes = 64 << 20}, FrameHeader{.head_bytes = 64 << 20}}) {
    std::vector<std::byte> bytes;
    Append(bytes, header, {}, Pattern(100'000));
    ScriptedStream stream(bytes);
    FrameReader reader(stream, {64 << 20, 64 << 20});
    Recorder recorder;
    EXPECT_EQ(reader.ReadFrame(recorder, kAlways), absl::UnavailableError("closed by peer in the middle of a frame"));
    EXPECT_LE(stream.largest_place, size_t{1} << 20);
    EXPECT_EQ(recorder.frames_kept(), 0u);
  }
}

TEST(FrameReaderTest, ALargeBulkGrowsAsItArrives) {
  const auto bulk = Pattern(20 << 20);
  std::vector<std::byte> bytes;
  Append(bytes, {.bulk_bytes = 20 << 20}, {}, bulk);
  ScriptedStream stream(bytes, 100'000);
  FrameReader reader(stream, {});
  Recorder recorder;
  EXPECT_TRUE(reader.ReadFrame(recorder, kAlways).ok());
  EXPECT_EQ(recorder.Take(1).at(0).bulk, bulk);
  EXPECT_LE(stream.largest_place, size_t{10} << 20);
}

TEST(FrameReaderTest, TheEndBetweenFramesIsInOrderElsewhereItIsNot) {
  std::vector<std::byte> bytes;
  Append(bytes, {.head_bytes = 3, .bulk_bytes = 2}, AsBytes("abc"), AsBytes("de"));
  for (size_t length = 0; length <= bytes.size(); ++length) {
    ScriptedStream stream({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
    FrameReader reader(stream, {});
    Recorder recorder;
    absl::Status status;
    while (status.ok()) status = reader.ReadFrame(recorder, kAlways);
    const bool whole = length == 0 || length == bytes.size();
    EXPECT_EQ(status, absl::UnavailableError(whole ? "closed by peer" : "closed by peer in the middle of a frame"));
    EXPECT_EQ(recorder.frames_kept(), length == bytes.size() ? 1u : 0u);
  }
}

TEST(FrameReaderTest, FramesNobodyWantsAreReadAndDropped) {
  std::vector<std::byte> bytes;
  Append(bytes, {.head_bytes = 3, .bulk_bytes = 50'000}, AsBytes("abc"), Pattern(50'000));
  Append(bytes, {.head_bytes = 4}, AsBytes("next"), {});
  ScriptedStream stream(bytes);
  FrameReader reader(stream, {});
  Recorder recorder;
  EXPECT_TRUE(reader.ReadFrame(recorder, [] { return false; }).ok());
  EXPECT_TRUE(reader.ReadFrame(recorder, kAlways).ok());
  EXPECT_EQ(recorder.Take(1).at(0).head, "next");
}

TEST(FrameReaderTest, APlaceOfTheWrongSizeIsAnError) {
  struct Wrong : Recorder {
    std::byte place[7];
    absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader&, std::span<const std::byte>) override {
      return std::span(place);
    }
  } handler;
  std::vector<std::byte> bytes;
  Append(bytes, {.bulk_bytes = 8}, {}, Pattern(8));
  ScriptedStream stream(bytes);
  FrameReader reader(stream, {});
  EXPECT_EQ(reader.ReadFrame(handler, kAlways).code(), absl::StatusCode::kInternal);
}

// Whatever the sizes and however the bytes come, the frames are the ones that were sent.
RC_GTEST_PROP(FrameReaderProperty, FramesSurviveAnyCutting, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(
      rc::gen::element(0, 1, 100, 16'383, 16'384, 16'385, 40'000), rc::gen::element(0, 1, 23, 16'360, 16'384, 50'000)));
  const auto piece = static_cast<size_t>(*rc::gen::element(1, 7, 24, 1448, 16'384, 1'000'000));
  std::vector<std::byte> bytes;
  uint32_t tag = 0;
  for (const auto& [head, bulk] : sizes) {
    ++tag;
    Append(bytes, {.head_bytes = static_cast<uint32_t>(head), .bulk_bytes = static_cast<uint32_t>(bulk), .tag = tag},
           Pattern(head, tag), Pattern(bulk, tag + 1000));
  }
  ScriptedStream stream(bytes, piece);
  FrameReader reader(stream, {});
  Recorder recorder;
  for (size_t i = 0; i < sizes.size(); ++i) RC_ASSERT(reader.ReadFrame(recorder, kAlways).ok());
  RC_ASSERT(reader.bytes() == bytes.size());
  const auto frames = recorder.Take(0);
  RC_ASSERT(frames.size() == sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto number = static_cast<uint32_t>(i + 1);
    RC_ASSERT(frames[i].header.tag == number);
    const bool same_head = frames[i].head == AsText(Pattern(sizes[i].first, number));
    const bool same_bulk = frames[i].bulk == Pattern(sizes[i].second, number + 1000);
    RC_ASSERT(same_head);  // not the comparison itself: a failure would print it all
    RC_ASSERT(same_bulk);
  }
}

}  // namespace
}  // namespace wharf::link
