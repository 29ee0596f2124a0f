// Decoders that were taken over: whatever they say, the server's side ends them, soon, and nothing of them stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "wharf/ar/decoder/decoder_testing.h"

namespace wharf::ar {
namespace {

constexpr int kLieWidth = 48, kLieHeight = 32;
const std::vector<std::byte> kAnyJpeg(3000);

auto OpenDescriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

absl::Status DecodeBy(PictureDecoder& decoder) { return decoder.Decode(kAnyJpeg, kLieWidth, kLieHeight).status(); }

class FalseDecoderTest : public ::testing::TestWithParam<NamedLie> {};

TEST_P(FalseDecoderTest, IsEndedByItsFirstLie) {
  const auto before = OpenDescriptors();
  {
    FalseDecoder false_one(GetParam().lie);
    const auto decoder = false_one.Start();
    ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
    EXPECT_EQ(DecodeBy(**decoder).code(), absl::StatusCode::kInternal);
    EXPECT_EQ(DecodeBy(**decoder), Internal("the picture's decoder has died before"));
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(All, FalseDecoderTest, ::testing::ValuesIn(Lies()),
                         [](const auto& info) { return info.param.name; });

// Lies that would never end. Patience is for the picture, not for each byte.
void ExpectToBeEndedInTime(const FalseDecoder::Lie& lie) {
  FalseDecoder false_one(lie);
  const auto decoder = false_one.Start(std::chrono::milliseconds(50));
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  EXPECT_EQ(DecodeBy(**decoder), Internal("the picture's decoder has died: it takes too long"));
}

TEST(EndlessDecoder, OneThatReadsNothing) {
  FalseDecoder false_one([](int socket) {
    pollfd closed{socket, POLLRDHUP, 0};
    poll(&closed, 1, -1);
  });
  const auto decoder = false_one.Start(std::chrono::milliseconds(50));
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  const std::vector<std::byte> large(4 << 20);  // more than a socket holds
  EXPECT_EQ((*decoder)->Decode(large, kLieWidth, kLieHeight).status().code(), absl::StatusCode::kInternal);
}

TEST(EndlessDecoder, OneThatSaysNothing) {
  ExpectToBeEndedInTime([](int socket) { NextRequest(socket); });
}

TEST(EndlessDecoder, OneThatGivesAPictureByteByByte) {
  ExpectToBeEndedInTime([](int socket) {
    const DecodeRequest request = NextRequest(socket);
    Say(socket, {0, PixelBytes(request)});
    // For minutes, if it may.
    for (uint32_t i = 0; i < PixelBytes(request); ++i) {
      usleep(30'000);
      const std::byte one{1};
      if (!WriteAll(socket, {&one, 1}).ok()) return;
    }
  });
}

TEST(EndlessDecoder, OneThatGivesAReasonByteByByte) {
  ExpectToBeEndedInTime([](int socket) {
    NextRequest(socket);
    Say(socket, {3, kMaxReasonBytes});
    for (uint32_t i = 0; i < kMaxReasonBytes; ++i) {
      usleep(30'000);
      const std::byte one{'x'};
      if (!WriteAll(socket, {&one, 1}).ok()) return;
    }
  });
}

TEST(FalseDecoderDescriptors, ThoseThatItSendsAreNotTaken) {
  const auto before = OpenDescriptors();
  FalseDecoder false_one([](int socket) {
    for (DecodeRequest request = NextRequest(socket); request.width > 0; request = NextRequest(socket)) {
      DecodeReply reply{0, PixelBytes(request)};
      SendDescriptors(socket, 200, socket, BytesOf(reply));
      SendDescriptors(socket, 200, socket, std::vector<std::byte>(PixelBytes(request)));
    }
  });
  auto decoder = false_one.Start();
  ASSERT_TRUE(decoder.ok()) << ToString(decoder.status());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(DecodeBy(**decoder), absl::OkStatus());
  decoder->reset();
  EXPECT_LE(OpenDescriptors(), before + 4);  // the starter's two, and the thread's, while it lasts
}

TEST(FalseStarter, GivesTwoDescriptorsOrNone) {
  const auto before = OpenDescriptors();
  for (const size_t count : {1, 3, 200}) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const int error = 0;
    SendDescriptors(ends[1], count, ends[1], std::as_bytes(std::span(&error, 1)));
    EXPECT_EQ(ReceiveDecoder(ends[0]).status().code(), absl::StatusCode::kInternal) << count;
    for (const int end : ends) close(end);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace wharf::ar
