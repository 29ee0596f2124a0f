#include "wharf/split/codec/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <rapidcheck/gtest.h>
#include <turbojpeg.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace wharf::split {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<std::byte> Bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A different colour everywhere.
Image Colourful(int width, int height) {
  Image image{width, height, 3, {}};
  for (int i = 0; i < width * height * 3; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 7 % 251));
  return image;
}

std::vector<std::byte> AsPng(const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_get_memory_size(png, size, 0, image.pixels.data(), 0, nullptr);
  std::vector<std::byte> bytes(size);
  EXPECT_NE(png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr), 0);
  bytes.resize(size);
  return bytes;
}

std::vector<std::byte> AsPpm(const Image& image) {
  return Bytes(fmt::format("P6\n# a comment\n{} {}\n255\n", image.width, image.height) +
               std::string(image.pixels.begin(), image.pixels.end()));
}

TEST(ReadImage, PngAndPpmAreExact) {
  const Image image = Colourful(5, 3);
  for (const auto& file : {AsPng(image), AsPpm(image)}) {
    EXPECT_TRUE(IsImage(file));
    const auto read = ReadImage(file);
    ASSERT_TRUE(read.ok()) << ToString(read.status());
    EXPECT_EQ(*read, image);
  }
}

TEST(ReadImage, JpegIsClose) {
  Image image{16, 16, 3, std::vector<uint8_t>(16 * 16 * 3, 90)};
  const auto read = ReadImage(*EncodeJpeg(image, 90));
  ASSERT_TRUE(read.ok()) << ToString(read.status());
  EXPECT_EQ(read->width, 16);
  EXPECT_THAT(read->pixels, Each(::testing::AllOf(::testing::Ge(87), ::testing::Le(93))));
}

TEST(ReadImage, GreyPnmBecomesColours) {
  const auto read = ReadImage(Bytes("P5 2 1 255\n\x10\x20"));
  ASSERT_TRUE(read.ok()) << ToString(read.status());
  EXPECT_THAT(read->pixels, ElementsAre(16, 16, 16, 32, 32, 32));
}

TEST(ReadImage, RefusesWhatIsNone) {
  const std::string png(reinterpret_cast<const char*>(AsPng(Colourful(9, 9)).data()), 60);
  for (const std::string& wrong :
       {std::string("hello"), std::string(), std::string("P6"), std::string("P6 2 2 255\nabc"),
        std::string("P6 2 2 65535\nabcdefghijklmnopqrstuvwxyz"), std::string("P6 999999999 999999999 255\n"),
        std::string("P6 -1 2 255\n"), std::string("P5 0 2 255\n"), std::string("\xff\xd8\xff"), png}) {
    EXPECT_EQ(ReadImage(Bytes(wrong)).status().code(), kInvalid) << wrong.substr(0, 12);
  }
  EXPECT_FALSE(IsImage(Bytes("\x93NUMPY")));
}

TEST(ConversionOf, SaysWhatAPngLoses) {
  std::string header("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x10\0", 26);  // 16 bits, grey
  EXPECT_EQ(ConversionOf(std::as_bytes(std::span(header))), "its 16 bits a channel become 8");
  header[24] = 8;
  EXPECT_EQ(ConversionOf(std::as_bytes(std::span(header))), "");
  EXPECT_EQ(ConversionOf(std::as_bytes(std::span(header).first(8))), "");
}

TEST(Resized, TheSameSizeIsTheSamePicture) {
  const Image image = Colourful(13, 7);
  EXPECT_EQ(Resized(image, 13, 7), image);
}

RC_GTEST_PROP(Resized, KeepsOneColourAndStaysWithinTheShades, ()) {
  const int width = *rc::gen::inRange(1, 40), height = *rc::gen::inRange(1, 40);
  const int to_width = *rc::gen::inRange(1, 40), to_height = *rc::gen::inRange(1, 40);
  const auto shade = *rc::gen::arbitrary<uint8_t>();
  const Image plain{width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width) * height * 3, shade)};
  const Image resized = Resized(plain, to_width, to_height);
  RC_ASSERT(resized.pixels == std::vector<uint8_t>(static_cast<size_t>(to_width) * to_height * 3, shade));
  const Image colourful = Colourful(width, height);
  const auto [low, high] = std::minmax_element(colourful.pixels.begin(), colourful.pixels.end());
  for (const uint8_t pixel : Resized(colourful, to_width, to_height).pixels) {
    RC_ASSERT(pixel >= *low);
    RC_ASSERT(pixel <= *high);
  }
}

TEST(Resized, ShrinkingTakesMeansAndGrowingInterpolates) {
  // Black and white lines, too fine for the smaller picture.
  Image lines{64, 1, 1, {}};
  for (int x = 0; x < 64; ++x) lines.pixels.push_back(x % 2 == 0 ? 0 : 255);
  EXPECT_THAT(Resized(lines, 8, 1).pixels, Each(::testing::AllOf(::testing::Ge(110), ::testing::Le(145))));
  const Image two{2, 1, 1, {0, 200}};
  EXPECT_THAT(Resized(two, 4, 1).pixels, ElementsAre(0, 50, 150, 200));
}

TEST(WithChannels, WeighsColours) {
  const Image image{3, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255}};
  EXPECT_THAT(WithChannels(image, 1).pixels, ElementsAre(76, 150, 29));
  EXPECT_EQ(WithChannels(image, 3), image);
}

// Of printers: cyan, magenta, yellow and black, 255 is no ink.
TEST(ReadImage, TakesJpegsOfFourInks) {
  constexpr int kSide = 16;
  for (const auto& [inks, light] :
       std::map<std::array<uint8_t, 4>, std::array<int, 3>>{{{255, 255, 255, 255}, {255, 255, 255}},
                                                            {{255, 0, 0, 255}, {255, 0, 0}},
                                                            {{255, 255, 255, 64}, {64, 64, 64}}}) {
    std::vector<uint8_t> pixels;
    for (int i = 0; i < kSide * kSide; ++i) pixels.insert(pixels.end(), inks.begin(), inks.end());
    const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitCompress(), tjDestroy);
    unsigned char* jpeg = nullptr;
    unsigned long size = 0;  // NOLINT(google-runtime-int): the library's type
    ASSERT_EQ(tjCompress2(handle.get(), pixels.data(), kSide, 0, kSide, TJPF_CMYK, &jpeg, &size, TJSAMP_444, 95, 0), 0);
    EXPECT_EQ(ConversionOf(std::as_bytes(std::span(jpeg, size))), "its four inks (CMYK) become red, green, blue");
    const auto read = ReadImage(std::as_bytes(std::span(jpeg, size)));
    tjFree(jpeg);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->channels, 3);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(read->pixels[i], light[i], 3);
  }
}

TEST(Pixels, LieAsTheTensorWants) {
  const Image image{2, 1, 3, {1, 2, 3, 4, 5, 6}};
  const auto numbers = [](const std::vector<std::byte>& bytes) {
    std::vector<int> ints;
    for (const std::byte byte : bytes) ints.push_back(static_cast<int>(byte));
    return ints;
  };
  EXPECT_THAT(numbers(PixelBytes(image, true)), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(numbers(PixelBytes(image, false)), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto floats = PixelFloats(image, true, {{1, 2, 3}, {0, 0, 10}});
  std::vector<float> read(6);
  std::memcpy(read.data(), floats.data(), floats.size());
  EXPECT_THAT(read, ElementsAre(1, 4, 4, 10, 19, 28));
}

}  // namespace
}  // namespace wharf::split
