// Every kind of field survives its encoding, which is the one that is documented, and nothing else decodes.
#include "wharf/wire/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/wire/codec_testing.h"

namespace wharf::wire {
namespace {

using testing::Everything;
using testing::Point;

Everything Random() {
  Everything random;
  random.flag = *rc::gen::arbitrary<bool>();
  random.small = *rc::gen::arbitrary<int8_t>();
  random.large = *rc::gen::arbitrary<uint64_t>();
  random.real = *rc::gen::arbitrary<int32_t>() / 8.0;
  random.colour = static_cast<testing::Colour>(*rc::gen::arbitrary<uint16_t>());
  random.text = *rc::gen::arbitrary<std::string>();
  for (const uint8_t byte : *rc::gen::arbitrary<std::vector<uint8_t>>()) random.bytes.push_back(std::byte{byte});
  random.four = *rc::gen::container<std::array<uint16_t, 4>>(rc::gen::arbitrary<uint16_t>());
  for (const int32_t x : *rc::gen::arbitrary<std::vector<int32_t>>()) random.points.push_back({x, -1});
  return random;
}

RC_GTEST_PROP(CodecProperty, WhatIsEncodedComesBackAsItWas, ()) {
  const Everything sent = Random();
  const auto received = Decode<Everything>(Encode(sent));
  RC_ASSERT(received.ok());
  RC_ASSERT(*received == sent);
}

RC_GTEST_PROP(CodecProperty, NothingShorterAndNothingLongerDecodes, ()) {
  std::vector<std::byte> bytes = Encode(Random());
  const size_t kept = *rc::gen::inRange<size_t>(0, bytes.size());
  RC_ASSERT(Decode<Everything>(std::span(bytes).first(kept)).status().code() == absl::StatusCode::kDataLoss);
  bytes.push_back(std::byte{0});
  RC_ASSERT(Decode<Everything>(bytes).status() == DataLoss("1 bytes left over after a message's fields"));
}

RC_GTEST_PROP(CodecProperty, ListsComeBackAndAreNeverCutShort, ()) {
  std::vector<Point> points;
  for (const int32_t x : *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<int32_t>>())) points.push_back({x, x / 2});
  std::vector<std::byte> bytes = EncodeList(points);
  RC_ASSERT(bytes.size() == points.size() * 2 * sizeof(int32_t));
  RC_ASSERT(*DecodeList<Point>(bytes) == points);
  bytes.pop_back();
  RC_ASSERT(DecodeList<Point>(bytes).status().code() == absl::StatusCode::kDataLoss);
}

TEST(CodecTest, TheEncodingIsTheOneThatIsDocumented) {
  Everything sent;
  sent.flag = true;
  sent.small = -2;
  sent.large = 0x0102030405060708;
  sent.real = 1;
  sent.colour = testing::Colour::kBlue;
  sent.text = "k";
  sent.bytes = {std::byte{9}, std::byte{8}};
  sent.four = {1, 2, 3, 4};
  sent.points = {{5, -1}};
  const std::vector<uint8_t> expected = {1,                                                           // flag
                                         0xfe,                                                        // small
                                         8,    7, 6, 5, 4,   3, 2,    1,                              // large
                                         0,    0, 0, 0, 0,   0, 0xf0, 0x3f,                           // real
                                         2,    1,                                                     // colour
                                         1,    0, 0, 0, 'k',                                          // text
                                         2,    0, 0, 0, 9,   8,                                       // bytes
                                         1,    0, 2, 0, 3,   0, 4,    0,                              // four
                                         1,    0, 0, 0, 5,   0, 0,    0,    0xff, 0xff, 0xff, 0xff};  // points
  std::vector<uint8_t> encoded;
  for (const std::byte byte : Encode(sent)) encoded.push_back(static_cast<uint8_t>(byte));
  EXPECT_EQ(encoded, expected);
}

TEST(CodecTest, ALengthBeyondTheMessageTakesNoMemory) {
  const std::vector<std::byte> claim(sizeof(uint32_t) + 3, std::byte{0xff});  // 4 GiB, of which 3 bytes are there
  EXPECT_EQ(Decode<std::string>(claim).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode<std::vector<std::byte>>(claim).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode<std::vector<Point>>(claim).status().code(), absl::StatusCode::kDataLoss);
  // No more entries than bytes, but more than fit into them.
  const std::vector<std::byte> few = Encode(std::array<uint32_t, 4>{12, 1, 2, 3});
  Decoder decoder(few);
  std::vector<Point> points;
  decoder.Get(points);
  EXPECT_FALSE(decoder.ok());
  EXPECT_TRUE(points.empty());
  EXPECT_LE(points.capacity(), 4u);
}

TEST(CodecTest, AListHasAtMostSoManyEntries) {
  std::vector<std::byte> bytes(kMaxListEntries);
  EXPECT_EQ(DecodeList<uint8_t>(bytes)->size(), kMaxListEntries);
  bytes.push_back({});
  EXPECT_EQ(DecodeList<uint8_t>(bytes).status().code(), absl::StatusCode::kDataLoss);
}

TEST(CodecTest, AMalformedHeadIsNamed) {
  EXPECT_EQ(DecodeHead<Point>(std::vector<std::byte>(3), "a point").status(), InvalidArgument("a point is malformed"));
  EXPECT_EQ(DecodeHead<Point>(Encode(Point{1, 2}), "a point")->y, 2);
}

TEST(CodecTest, FieldsBeyondTheEndAreZero) {
  Point point{7, 8};
  const std::vector<std::byte> half = Encode(int32_t{5});
  Decoder decoder(half);
  decoder.Get(point);
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(point, (Point{5, 0}));
}

}  // namespace
}  // namespace wharf::wire
