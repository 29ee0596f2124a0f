#include "wharf/device/fatbin/device_code.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kFirst = ".version 8.0\n.target sm_75\n// one\n", kSecond = ".version 8.0\n.target sm_80\n";

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<std::byte> Joined(const std::vector<std::byte>& first, const std::vector<std::byte>& second) {
  std::vector<std::byte> bytes = first;
  bytes.insert(bytes.end(), second.begin(), second.end());
  return bytes;
}

std::string Member(std::string_view content) {
  std::string text = fmt::format("{:<48}{:<10}`\n", "part.o/", content.size()) + std::string(content);
  if (content.size() % 2 != 0) text += '\n';
  return text;
}

void ExpectRefused(std::span<const std::byte> bytes, absl::StatusCode code, const std::string& reason) {
  const auto texts = PtxOfParts(bytes);
  ASSERT_FALSE(texts.ok());
  EXPECT_EQ(texts.status().code(), code);
  EXPECT_THAT(std::string(Message(texts.status())), HasSubstr(reason));
}

RC_GTEST_PROP(WrapPtx, IsReadBackWhole, (std::string body)) {
  std::erase(body, '\0');
  const std::string ptx = std::string(kFirst) + body;
  const auto image = WrapPtx(ptx);
  const auto size = ContainerBytes(image);
  RC_ASSERT(size.ok());
  RC_ASSERT(*size == image.size());
  const auto entries = Read(image);
  RC_ASSERT(entries.ok());
  RC_ASSERT(entries->size() == 1U);
  RC_ASSERT(entries->front().sm == 75U);
  const auto found = FindPtx(image);
  RC_ASSERT(found.ok());
  RC_ASSERT(*found == ptx);
}

// Of `nvcc -fatbin -gencode arch=compute_75,code=compute_75 -Xfatbin=-compress=false`, but for the lengths.
TEST(WrapPtx, HasTheHeaderOfNvcc) {
  const auto image = WrapPtx(".version 9.2\n.target sm_75\n");
  const auto at = [&](size_t offset) {
    uint32_t word = 0;
    std::memcpy(&word, image.data() + 16 + offset, sizeof word);
    return word;
  };
  EXPECT_EQ(at(0), 0x01010001u);
  EXPECT_EQ(at(4), 80u);
  EXPECT_EQ(at(8), 32u);
  EXPECT_EQ(at(20), 64u);
  EXPECT_EQ(at(24), 0x00090002u);
  EXPECT_EQ(at(28), 75u);
  EXPECT_EQ(at(40), 0x11u);
  EXPECT_EQ(at(64), 72u);
  for (const size_t offset : {12, 16, 32, 36, 44, 48, 52, 56, 60, 68, 72, 76}) EXPECT_EQ(at(offset), 0u) << offset;
}

TEST(WrapPtx, OfATextThatNamesNoArchitectureIsForAny) {
  const auto entries = Read(WrapPtx(".version 8.0\n"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(entries->front().sm, 0U);
}

TEST(PtxOfParts, OfTextIsTheText) {
  const auto texts = PtxOfParts(AsBytes(std::string(kFirst) + std::string(3, '\0')));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, ElementsAre(kFirst));
}

TEST(PtxOfParts, OfFatBinariesIsTheTextOfEach) {
  const auto texts = PtxOfParts(Joined(WrapPtx(kFirst), WrapPtx(kSecond)));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, ElementsAre(kFirst, kSecond));
}

TEST(PtxOfParts, OfAnArchiveWithoutDeviceCodeIsNothing) {
  const auto texts = PtxOfParts(AsBytes("!<arch>\n" + Member("odd") + Member("even")));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, IsEmpty());
}

TEST(PtxOfParts, OfAnArchiveThatIsCutShortIsRefused) {
  const std::string archive = "!<arch>\n" + Member("something");
  ExpectRefused(AsBytes(archive.substr(0, 30)), absl::StatusCode::kInvalidArgument, "an archive is cut short");
  ExpectRefused(AsBytes(archive.substr(0, 70)), absl::StatusCode::kInvalidArgument, "an archive's member does not fit");
  ExpectRefused(AsBytes("!<arch>\n" + std::string(60, 'x')), absl::StatusCode::kInvalidArgument,
                "an archive's member does not fit");
}

TEST(PtxOfParts, OfAnythingElseIsRefused) {
  ExpectRefused(AsBytes("something else"), absl::StatusCode::kInvalidArgument, "neither a fat binary nor PTX");
  ExpectRefused({}, absl::StatusCode::kInvalidArgument, "neither a fat binary nor PTX");
  std::string cubin("\177ELF\2\1\1", 7);
  cubin += std::string(11, '\0') + '\276' + std::string(45, '\0');
  ExpectRefused(AsBytes(cubin), absl::StatusCode::kUnimplemented, "only machine code (a cubin)");
  auto cut = WrapPtx(kFirst);
  cut.pop_back();
  ExpectRefused(cut, absl::StatusCode::kInvalidArgument, "a fat binary is cut short");
}

TEST(IsLtoIr, IsToldByItsFirstBytes) {
  EXPECT_TRUE(IsLtoIr(AsBytes("\xED\x43\x4E\x7F more")));
  EXPECT_FALSE(IsLtoIr(AsBytes("\xED\x43\x4E")));
  EXPECT_FALSE(IsLtoIr(AsBytes(kFirst)));
}

}  // namespace
}  // namespace wharf::device::fatbin
