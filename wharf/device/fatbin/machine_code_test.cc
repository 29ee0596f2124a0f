// The image in testdata/seeds was made by nvcc 13.0 of testdata/machine_code.cu: `nvcc -cubin -arch=sm_75`.
#include "wharf/device/fatbin/machine_code.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "wharf/base/read_file.h"
#include "wharf/device/fatbin/elf_image.h"
#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::byte> Image() { return *ReadBytes(WHARF_TESTDATA "/seeds/machine_code.cubin"); }

const MachineKernel* KernelWith(const MachineCode& code, std::string_view part) {
  const auto found = std::find_if(code.kernels.begin(), code.kernels.end(), [&](const MachineKernel& kernel) {
    return kernel.name.find(part) != std::string::npos;
  });
  return found == code.kernels.end() ? nullptr : &*found;
}

// The bytes of a section's content in the image, to be changed.
std::span<std::byte> SectionOf(std::vector<std::byte>& image, std::string_view name_part) {
  const auto elf = *ElfImage::Read(image);
  for (const ElfSection& section : elf.sections()) {
    if (section.name.find(name_part) == std::string_view::npos) continue;
    return std::span(image).subspan(static_cast<size_t>(section.data.data() - image.data()), section.data.size());
  }
  return {};
}

TEST(MachineCodeTest, HasKernelsAndTheirParameters) {
  const auto code = ReadMachineCode(Image());
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(code->sm, 75U);
  EXPECT_EQ(code->kernels.size(), 5U);
  EXPECT_THAT(KernelWith(*code, "without_parameters")->parameters, IsEmpty());
  EXPECT_THAT(KernelWith(*code, "TemplateIfLi3E")->parameters,
              ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 32}));
  EXPECT_THAT(KernelWith(*code, "6Hidden")->parameters,
              ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 1}, ParameterLayout{10, 2}));
  EXPECT_THAT(KernelWith(*code, "6Static")->parameters, ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 1}));
}

TEST(MachineCodeTest, HasVariables) {
  const auto code = ReadMachineCode(Image());
  ASSERT_TRUE(code.ok()) << code.status();
  const auto has = [&](const MachineVariable& variable) {
    return std::find(code->variables.begin(), code->variables.end(), variable) != code->variables.end();
  };
  EXPECT_TRUE(has({"counter", 4, false}));
  EXPECT_TRUE(has({"table", 4000, false}));
  EXPECT_TRUE(has({"weights", 20, true}));
  EXPECT_EQ(code->variables.size(), 4U);
}

TEST(MachineCodeTest, RefusesOtherImages) {
  EXPECT_EQ(ReadMachineCode({}).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::byte> zeroes(4096);
  EXPECT_EQ(ReadMachineCode(zeroes).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::byte> image = Image();
  image[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_EQ(ReadMachineCode(image).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MachineCodeTest, RefusesEveryImageThatIsCutShort) {
  const std::vector<std::byte> image = Image();
  const auto elf = *ElfImage::Read(image);
  size_t end = 0;  // of what is looked at
  for (const ElfSection& section : elf.sections()) {
    if (!section.data.empty())
      end = std::max(end, static_cast<size_t>(section.data.data() - image.data()) + section.size);
  }
  for (size_t size = 0; size < end; ++size) {
    EXPECT_EQ(ReadMachineCode(std::span(image).first(size)).status().code(), absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(MachineCodeTest, RefusesParametersThatContradictThemselves) {
  // Of a parameter's record the word before the last has ordinal and offset, the last the size.
  const auto with = [](size_t offset, uint8_t value) {
    std::vector<std::byte> image = Image();
    const std::span<std::byte> info = SectionOf(image, ".nv.info._Z8TemplateIfLi3E");
    const std::array<std::byte, 4> head{std::byte{4}, std::byte{0x17}, std::byte{12}, std::byte{0}};
    const auto record = std::search(info.begin(), info.end(), head.begin(), head.end());
    EXPECT_NE(record, info.end());
    record[static_cast<ptrdiff_t>(offset)] = std::byte{value};
    return ReadMachineCode(image).status();
  };
  EXPECT_EQ(with(4, 0), absl::OkStatus()) << "what is not looked at";
  EXPECT_EQ(with(8, 9).code(), absl::StatusCode::kDataLoss) << "an ordinal";
  EXPECT_EQ(with(10, 99).code(), absl::StatusCode::kDataLoss) << "an offset";
  EXPECT_EQ(with(14, 1).code(), absl::StatusCode::kDataLoss) << "a size";
  EXPECT_EQ(with(0, 9).code(), absl::StatusCode::kInvalidArgument) << "a record's format";
  EXPECT_EQ(with(3, 0xff).code(), absl::StatusCode::kInvalidArgument) << "a record's length";
}

TEST(MachineCodeTest, SaysTheSameWithoutTheCode) {
  const std::vector<std::byte> image = Image();
  const auto outline = WithoutCode(image);
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_LT(outline->size(), image.size());
  const auto code = ReadMachineCode(image), again = ReadMachineCode(*outline);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->sm, code->sm);
  EXPECT_EQ(again->kernels, code->kernels);
  EXPECT_EQ(again->variables, code->variables);
  const auto elf = *ElfImage::Read(*outline);
  for (const ElfSection& section : elf.sections()) {
    EXPECT_TRUE(!section.name.starts_with(".text.") || section.data.empty()) << section.name;
  }
  EXPECT_EQ(*WithoutCode(*outline), *outline);
  EXPECT_EQ(WithoutCode({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MachineCodeTest, FindsTheLowestArchitecture) {
  EXPECT_EQ(*FindMachineCode(Image()), Image());
  EXPECT_EQ(FindMachineCode({}).status().code(), absl::StatusCode::kNotFound);
  const auto with_code = *ReadBytes(WHARF_TESTDATA "/seeds/size.fatbin"),
             without = *ReadBytes(WHARF_TESTDATA "/seeds/none.fatbin");
  const auto found = FindMachineCode(with_code);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(ReadMachineCode(*found)->kernels.size(), 1U);
  EXPECT_EQ(FindMachineCode(without).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::device::fatbin
