// Decoding in this process and in one of its own: the same pictures, the same refusals; and that the process's death is
// an error like any other.
#include "wharf/ar/decoder/picture_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "wharf/base/sandbox/policies.h"
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
absl::StatusOr<std::unique_ptr<PictureDecoder>> StartIsolated() {
  return StartDecoderProcess(WHARF_DECODE, FindIsolation().value_or(Isolation::kNone));
}

// By a starter, which outlives it.
class Started final : public PictureDecoder {
 public:
  Started(Subprocess process, std::unique_ptr<DecoderStarter> starter, std::unique_ptr<PictureDecoder> decoder)
      : process_(std::move(process)), starter_(std::move(starter)), decoder_(std::move(decoder)) {}
  absl::StatusOr<scene::Image> Decode(std::span<const std::byte> jpeg, int width, int height) override {
    return decoder_->Decode(jpeg, width, height);
  }

 private:
  Subprocess process_;
  std::unique_ptr<DecoderStarter> starter_;
  std::unique_ptr<PictureDecoder> decoder_;
};
absl::StatusOr<std::unique_ptr<PictureDecoder>> StartByStarter() {
  WHARF_ASSIGN_OR_RETURN(auto process, DecoderStarter::StartProcess(WHARF_DECODE));
  auto starter = DecoderStarter::At(process.socket);
  WHARF_ASSIGN_OR_RETURN(auto decoder, starter->StartDecoder());
  return std::make_unique<Started>(std::move(process.process), std::move(starter), std::move(decoder));
}

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

std::string NameOf(const ::testing::TestParamInfo<Make>& info) {
  constexpr const char* kNames[] = {"Local", "Process", "Isolated", "ByStarter"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(All, PictureDecoderTest,
                         ::testing::Values(Make(MakeLocalDecoder), Make(StartProcess), Make(StartIsolated),
                                           Make(StartByStarter)),
                         NameOf);

TEST(DecoderProcess, SeesNeitherFilesNorProcessesNorTheNetwork) {
  if (geteuid() != 0) GTEST_SKIP() << "only root sees what another process sees";
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps the files";
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  auto decoder = StartDecoderProcess(WHARF_DECODE, *isolation);
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  ASSERT_TRUE((*decoder)->Decode(Jpeg(), kWidth, kHeight).ok());
  const std::vector<pid_t> children = Children();
  ASSERT_EQ(children.size(), 1u);
  const std::filesystem::path process = "/proc/" + std::to_string(children[0]);
  EXPECT_TRUE(std::filesystem::is_empty(process / "root/."));
  for (const char* const kind : {"mnt", "pid", "net", "ipc", "uts"}) {
    EXPECT_NE(std::filesystem::read_symlink(process / "ns" / kind),
              std::filesystem::read_symlink(std::filesystem::path("/proc/self/ns") / kind));
  }
}

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
  auto decoder = StartDecoderProcess(WHARF_DECODE, Isolation::kNone, std::chrono::milliseconds(50));
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

TEST(DecoderStarter, ADecoderEndsWithItsObjectAndAllEndWithTheStarter) {
  auto process = DecoderStarter::StartProcess(WHARF_DECODE);
  ASSERT_TRUE(process.ok()) << ToString(process.status());
  auto starter = DecoderStarter::At(process->socket);
  const std::vector<pid_t> children = Children();
  ASSERT_EQ(children.size(), 1u);
  const std::filesystem::path path = "/proc/" + std::to_string(children[0]) + "/task/" + std::to_string(children[0]);
  const auto decoders = [&] {
    std::ifstream file(path / "children");
    return std::distance(std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>());
  };
  auto first = starter->StartDecoder(), second = starter->StartDecoder();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(decoders(), 2);
  first->reset();
  while (decoders() != 1) usleep(1000);
  EXPECT_TRUE((*second)->Decode(Jpeg(), kWidth, kHeight).ok());
  starter.reset();
  EXPECT_EQ(process->process.Wait(), ProcessEnd());
  EXPECT_TRUE(Children().empty());
  EXPECT_EQ((*second)->Decode(Jpeg(), kWidth, kHeight).status().code(), absl::StatusCode::kInternal);
}

TEST(DecoderStarter, OneThatIsGoneIsAnError) {
  auto process = DecoderStarter::StartProcess(WHARF_DECODE);
  ASSERT_TRUE(process.ok()) << ToString(process.status());
  const auto starter = DecoderStarter::At(process->socket);
  process->process.Signal(SIGKILL);
  EXPECT_EQ(starter->StartDecoder().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wharf::ar
