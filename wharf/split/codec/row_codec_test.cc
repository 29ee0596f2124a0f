#include "wharf/split/codec/row_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "wharf/split/codec/half.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::split {
namespace {

using graph::ElementType;
using graph::TensorType;
using Bytes = std::vector<std::byte>;

constexpr RowCodec kPlain{RowCoding::kPlain, 0}, kPacked{RowCoding::kPacked, 0}, kHalf{RowCoding::kHalf, 0},
    kPackedHalf{RowCoding::kPackedHalf, 0}, kJpeg{RowCoding::kJpeg, 95};
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Bytes BytesOf(const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> FloatsOf(const Bytes& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(numbers)).begin());  // there may be none
  return numbers;
}

TensorType Floats(size_t count) { return {ElementType::kFloat, {1, static_cast<int64_t>(count)}}; }

// Some type, and bytes for it: random ones, or such as compress.
std::pair<TensorType, Bytes> ArbitraryTensor() {
  TensorType type{*rc::gen::element(ElementType::kFloat, ElementType::kUint8, ElementType::kInt64), {}};
  const int rank = *rc::gen::inRange(0, 5);
  for (int i = 0; i < rank; ++i) type.shape.push_back(*rc::gen::inRange(0, 9));
  Bytes bytes(type.Bytes());
  const bool dull = *rc::gen::arbitrary<bool>();
  for (std::byte& one : bytes) one = std::byte{dull ? uint8_t{7} : *rc::gen::arbitrary<uint8_t>()};
  return {type, bytes};
}

RC_GTEST_PROP(RowCodec, ExactCodingsGiveBackWhatTheyGot, ()) {
  const auto [type, plain] = ArbitraryTensor();
  const RowCodec codec = *rc::gen::element(kPlain, kPacked);
  const Bytes coded = EncodeRows(type, codec, plain);
  RC_ASSERT(CheckCodedBytes(type, codec, coded.size()).ok());
  RC_ASSERT(coded.size() <= plain.size());
  const auto decoded = DecodeRows(type, codec, coded);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == plain);
}

RC_GTEST_PROP(RowCodec, HalvesAreWithinHalfAStep, ()) {
  const auto exponents = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-40, 16));
  std::vector<float> numbers;
  for (const int exponent : exponents) {
    numbers.push_back(std::ldexp(static_cast<float>(*rc::gen::inRange(-10'000, 10'001)) / 10'000, exponent));
  }
  const TensorType type = Floats(numbers.size());
  const RowCodec codec = *rc::gen::element(kHalf, kPackedHalf);
  const Bytes coded = EncodeRows(type, codec, BytesOf(numbers));
  RC_ASSERT(static_cast<int64_t>(coded.size()) <= type.Bytes() / 2);
  const auto decoded = DecodeRows(type, codec, coded);
  RC_ASSERT(decoded.ok());
  const std::vector<float> back = FloatsOf(*decoded);
  for (size_t i = 0; i < numbers.size(); ++i) {
    RC_ASSERT(std::abs(back[i] - numbers[i]) <= std::max(std::ldexp(std::abs(numbers[i]), -11), 0x1p-25f));
  }
}

TEST(Half, EveryHalfIsItself) {
  for (uint32_t half = 0; half <= 0xffff; ++half) {
    const float number = FromHalf(static_cast<uint16_t>(half));
    if (std::isnan(number)) {
      EXPECT_TRUE(std::isnan(FromHalf(ToHalf(number))));
    } else {
      ASSERT_EQ(ToHalf(number), half);
    }
  }
}

TEST(Half, TiesGoToTheEvenOne) {
  for (uint32_t half = 0; half < 0x7bff; ++half) {  // between all neighbours, subnormal ones too
    const double below = FromHalf(static_cast<uint16_t>(half)), above = FromHalf(static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(ToHalf(middle), half % 2 == 0 ? half : half + 1);
    ASSERT_EQ(ToHalf(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(ToHalf(std::nextafter(middle, 1e9f)), half + 1);
  }
}

TEST(Half, WhatIsTooLargeStaysFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FromHalf(ToHalf(65520.0f)), 65504.0f);
  EXPECT_EQ(FromHalf(ToHalf(-1e30f)), -65504.0f);
  EXPECT_EQ(FromHalf(ToHalf(infinity)), infinity);
  EXPECT_EQ(FromHalf(ToHalf(-infinity)), -infinity);
  EXPECT_TRUE(std::isnan(FromHalf(ToHalf(std::nanf("")))));
}

TEST(RowCodec, HalvesLeaveOtherElementsAsTheyAre) {
  const TensorType type{ElementType::kInt64, {3}};
  Bytes plain(24, std::byte{9});
  EXPECT_EQ(EncodeRows(type, kHalf, plain), plain);
  EXPECT_EQ(*DecodeRows(type, kHalf, plain), plain);
}

TEST(RowCodec, ZerosOfActivationsAreWorthPacking) {
  std::vector<float> numbers(20'000);
  uint32_t random = 1;
  for (float& number : numbers) {
    random = random * 1664525 + 1013904223;
    number = std::max(0.0f, static_cast<float>(static_cast<int32_t>(random)));
  }
  const Bytes plain = BytesOf(numbers);
  EXPECT_LT(EncodeRows(Floats(numbers.size()), kPacked, plain).size(), plain.size() * 3 / 4);
}

// A gradient, planar and interleaved.
struct Picture {
  TensorType type;
  Bytes bytes;
};
Picture Gradient(bool planar) {
  constexpr int kHeight = 24, kWidth = 40;
  Picture picture;
  picture.type = {ElementType::kUint8,
                  planar ? graph::Shape{1, 3, kHeight, kWidth} : graph::Shape{1, kHeight, kWidth, 3}};
  picture.bytes.resize(picture.type.Bytes());
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int place = planar ? (c * kHeight + y) * kWidth + x : (y * kWidth + x) * 3 + c;
        picture.bytes[place] = std::byte{static_cast<uint8_t>(40 * c + 3 * x + y)};
      }
    }
  }
  return picture;
}

TEST(RowCodec, JpegsAreSmallAndNearlyTheSame) {
  for (const bool planar : {true, false}) {
    const Picture picture = Gradient(planar);
    const Bytes coded = EncodeRows(picture.type, kJpeg, picture.bytes);
    EXPECT_LT(coded.size(), picture.bytes.size() / 2);
    const auto decoded = DecodeRows(picture.type, kJpeg, coded);
    ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
    ASSERT_EQ(decoded->size(), picture.bytes.size());
    for (size_t i = 0; i < decoded->size(); ++i) {
      EXPECT_NEAR(static_cast<int>((*decoded)[i]), static_cast<int>(picture.bytes[i]), 8) << planar << " " << i;
    }
  }
}

TEST(RowCodec, WhatIsNoImageTravelsPlain) {
  const Bytes plain = BytesOf({1, 2, 3, 4});
  EXPECT_EQ(EncodeRows(Floats(4), kJpeg, plain), plain);
  EXPECT_EQ(CheckCodedBytes(Floats(4), kJpeg, 15).code(), kInvalid);
}

TEST(RowCodec, RefusesSizesBeforeAnythingElse) {
  const TensorType type = Floats(100);
  for (const RowCodec codec : {kPlain, kHalf}) {
    const auto size = static_cast<uint64_t>(MaxCodedBytes(type, codec));
    EXPECT_TRUE(CheckCodedBytes(type, codec, size).ok());
    EXPECT_EQ(CheckCodedBytes(type, codec, size - 1).code(), kInvalid);
    EXPECT_EQ(CheckCodedBytes(type, codec, size + 1).code(), kInvalid);
  }
  for (const RowCodec codec : {kPacked, kPackedHalf}) {
    const auto size = static_cast<uint64_t>(MaxCodedBytes(type, codec));
    EXPECT_TRUE(CheckCodedBytes(type, codec, 1).ok());
    EXPECT_EQ(CheckCodedBytes(type, codec, 0).code(), kInvalid);
    EXPECT_EQ(CheckCodedBytes(type, codec, size + 1).code(), kInvalid);
  }
  EXPECT_TRUE(CheckCodedBytes(Floats(0), kPacked, 0).ok());
}

TEST(RowCodec, RefusesFramesOfAnotherSize) {
  const Bytes dull(400);
  const Bytes coded = EncodeRows(Floats(100), kPacked, dull);
  EXPECT_EQ(DecodeRows(Floats(101), kPacked, coded).status(),
            InvalidArgument("compressed rows that are not 404 bytes"));
  EXPECT_EQ(DecodeRows(Floats(50), kPacked, coded).status(), InvalidArgument("compressed rows that are not 200 bytes"));
  const Picture picture = Gradient(true);
  TensorType taller = picture.type;
  taller.shape[2] *= 2;
  EXPECT_EQ(DecodeRows(taller, kJpeg, EncodeRows(picture.type, kJpeg, picture.bytes)).status(),
            InvalidArgument("a JPEG of 40 x 24 pixels came for rows of 40 x 48"));
}

// Hundreds of scans of some bytes each take as long as hundreds of pictures.
TEST(RowCodec, RefusesJpegsInScans) {
  const Picture picture = Gradient(false);
  for (const bool progressive : {false, true}) {
    unsigned char* jpeg = nullptr;
    unsigned long size = 0;  // NOLINT(google-runtime-int): the library's type
    const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitCompress(), tjDestroy);
    ASSERT_EQ(tjCompress2(handle.get(), reinterpret_cast<const unsigned char*>(picture.bytes.data()), 40, 0, 24,
                          TJPF_RGB, &jpeg, &size, TJSAMP_420, 50, progressive ? TJFLAG_PROGRESSIVE : 0),
              0);
    const auto* const bytes = reinterpret_cast<const std::byte*>(jpeg);
    const Bytes coded(bytes, bytes + size);
    tjFree(jpeg);
    EXPECT_EQ(DecodeRows(picture.type, kJpeg, coded).status(),
              progressive ? InvalidArgument("a JPEG in scans, or none") : absl::OkStatus());
  }
}

// What came damaged is refused, or has the size that was asked for.
RC_GTEST_PROP(RowCodec, SurvivesDamage, ()) {
  const Picture picture = Gradient(*rc::gen::arbitrary<bool>());
  const RowCodec codec = *rc::gen::element(kPacked, kJpeg);
  Bytes coded = EncodeRows(picture.type, codec, picture.bytes);
  const int damages = *rc::gen::inRange(1, 5);
  for (int i = 0; i < damages; ++i) {
    coded[*rc::gen::inRange<size_t>(0, coded.size())] = std::byte{*rc::gen::arbitrary<uint8_t>()};
  }
  if (*rc::gen::arbitrary<bool>()) coded.resize(*rc::gen::inRange<size_t>(0, coded.size()));
  const auto decoded = DecodeRows(picture.type, codec, coded);
  if (decoded.ok()) {
    RC_ASSERT(decoded->size() == picture.bytes.size());
  } else {
    RC_ASSERT(decoded.status().code() == kInvalid);
  }
}

}  // namespace
}  // namespace wharf::split
