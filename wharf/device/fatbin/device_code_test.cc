#include "wharf/device/fatbin/device_code.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

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
