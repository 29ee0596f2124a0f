// Decoding in this process and in one of its own: the same pictures, the same refusals; and that the process's death is
// an error like any other.
#include "wharf/ar/decoder/picture_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "wharf/split/codec/jpeg.h"

namespace wharf::ar {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 48, kHeight = 32;

std::vector<std::byte> Jpeg(int width = kWidth, int height = kHeight) {
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * width * height));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i / 7 % 251);
  return *split::EncodeJpeg({width, height, 3, pixels}, 90);
}

// Processes of this one.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

using Make = std::function<absl::StatusOr<std::unique_ptr<PictureDecoder>>()>;
absl::StatusOr<std::unique_ptr<PictureDecoder>> StartProcess() { return StartDecoderProcess(WHARF_DECODE); }

class PictureDecoderTest : public ::testing::TestWithParam<Make> {
 protected:
  void SetUp() override {
    auto made = GetParam()();
    ASSERT_TRUE(made.ok()) << ToString(made.status());
    decoder_ = *std::move(made);
  }
  std::string Refusal(std::span<const std::byte> jpeg, int width = kWidth) {
    const auto picture = decoder_->Decode(jpeg, width, kHeight);
    EXPECT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(Message(picture.status()));
  }
  std::unique_ptr<PictureDecoder> decoder_;
};

TEST_P(PictureDecoderTest, DecodesOneAfterTheOther) {
  for (int i = 0; i < 5; ++i) {
    const auto picture = decoder_->Decode(Jpeg(), kWidth, kHeight);
    ASSERT_TRUE(picture.ok()) << ToString(picture.status());
    EXPECT_EQ(picture->width, kWidth);
    EXPECT_EQ(picture->height, kHeight);
    EXPECT_EQ(picture->rgb, split::DecodeJpeg(Jpeg(), 3)->pixels);
  }
}

TEST_P(PictureDecoderTest, RefusesAndGoesOn) {
  const std::vector<std::byte> jpeg = Jpeg();
  EXPECT_THAT(Refusal(std::vector<std::byte>(500)), HasSubstr("not a JPEG"));
  EXPECT_THAT(Refusal({}), HasSubstr("not a JPEG"));
  EXPECT_THAT(Refusal(std::span(jpeg).first(jpeg.size() / 2)), HasSubstr("JPEG"));
  EXPECT_EQ(Refusal(jpeg, 64), "a picture of 48 x 32, not 64 x 32");
  EXPECT_TRUE(decoder_->Decode(jpeg, kWidth, kHeight).ok());
}

INSTANTIATE_TEST_SUITE_P(Both, PictureDecoderTest, ::testing::Values(Make(MakeLocalDecoder), Make(StartProcess)),
                         [](const auto& info) { return info.index == 0 ? "Local" : "Process"; });

TEST(DecoderProcess, TakesTheLargestPictures) {
  auto decoder = StartProcess();
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  const std::vector<uint8_t> grey(size_t{3} * 4096 * 4096, 128);
  const auto jpeg = split::EncodeJpeg({4096, 4096, 3, grey}, 90);
  ASSERT_TRUE(jpeg.ok());
  const auto picture = (*decoder)->Decode(*jpeg, 4096, 4096);
  ASSERT_TRUE(picture.ok()) << ToString(picture.status());
  EXPECT_EQ(picture->rgb.size(), grey.size());
}

TEST(DecoderProcess, ItsDeathIsAnError) {
  auto decoder = StartProcess();
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  ASSERT_TRUE((*decoder)->Decode(Jpeg(), kWidth, kHeight).ok());
  for (const pid_t child : Children()) kill(child, SIGKILL);
  EXPECT_EQ((*decoder)->Decode(Jpeg(), kWidth, kHeight).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ((*decoder)->Decode(Jpeg(), kWidth, kHeight).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(Children().empty());
}

TEST(DecoderProcess, OneThatHangsIsEnded) {
  auto decoder = StartDecoderProcess(WHARF_DECODE, std::chrono::milliseconds(50));
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  for (const pid_t child : Children()) kill(child, SIGSTOP);
  const absl::Status status = (*decoder)->Decode(Jpeg(), kWidth, kHeight).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("too long"));
  EXPECT_TRUE(Children().empty());
}

TEST(DecoderProcess, AProgramThatIsNotThereIsNotStarted) {
  EXPECT_EQ(StartDecoderProcess("/nowhere/wharf-decode").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::ar
