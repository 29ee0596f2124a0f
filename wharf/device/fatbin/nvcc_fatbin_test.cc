// Fat binaries as nvcc makes them, in every compression mode, hold the PTX that `nvcc -ptx` prints.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(WHARF_FIXTURES "/") + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::byte> ReadBytes(const std::string& name) {
  const std::string text = ReadFile(name);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Without comments and white space: nvcc drops the former from what it embeds.
std::string Essence(std::string_view text) {
  std::string essence;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") i = std::min(text.find('\n', i), text.size() - 1);
    if (text[i] > ' ') essence.push_back(text[i]);
  }
  return essence;
}

class NvccFatbin : public ::testing::TestWithParam<const char*> {};

TEST_P(NvccFatbin, HoldsThePtx) {
  const auto bytes = ReadBytes(std::string(GetParam()) + ".fatbin");
  const auto ptx = FindPtx(bytes);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_EQ(Essence(*ptx), Essence(ReadFile("fixture.ptx")));
}

TEST_P(NvccFatbin, HoldsOneEntryForEachArchitecture) {
  const auto entries = Read(ReadBytes(std::string(GetParam()) + ".fatbin"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  uint32_t ptx = 0;
  uint32_t elf = 0;
  for (const Entry& entry : *entries) {
    (entry.kind == Kind::kPtx ? ptx : elf) |= entry.sm == 75 ? 1 : entry.sm == 80 ? 2 : 4;
    if (entry.kind == Kind::kElf) {
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(entry.data.data()), 4), "\177ELF");
    }
  }
  EXPECT_EQ(ptx, 3U);
  EXPECT_EQ(elf, 1U);
}

TEST_P(NvccFatbin, HasMachineCode) {
  EXPECT_TRUE(HasMachineCode(ReadBytes(std::string(GetParam()) + ".fatbin")).value());
}

INSTANTIATE_TEST_SUITE_P(Modes, NvccFatbin, ::testing::Values("none", "speed", "balance", "size", "default"));

}  // namespace
}  // namespace wharf::device::fatbin
