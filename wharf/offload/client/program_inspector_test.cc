#include "wharf/offload/client/program_inspector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace wharf::offload {
namespace {

using ::testing::HasSubstr;

std::string TemporaryPath(const std::string& name) { return ::testing::TempDir() + "/wharf_inspector_" + name; }

TEST(ProgramInspector, ReportsAMissingFile) {
  EXPECT_EQ(InspectProgram("/nonexistent/program").code(), absl::StatusCode::kNotFound);
}

TEST(ProgramInspector, ScriptIsNoElf) {
  const std::string path = TemporaryPath("script");
  std::ofstream(path) << "#!/bin/sh\necho hello\n";
  const auto facts = ReadProgramFacts(path);
  ASSERT_TRUE(facts.ok());
  EXPECT_FALSE(facts->is_elf);
  EXPECT_TRUE(InspectProgram(path).ok());
  std::remove(path.c_str());
}

TEST(ProgramInspector, OrdinaryProgramHasNoCuda) {
  const auto facts = ReadProgramFacts("/proc/self/exe");
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->is_elf);
  EXPECT_FALSE(facts->has_device_code);
  EXPECT_THAT(facts->needed, ::testing::Contains(HasSubstr("libc.so")));
}

// Every prefix of a real program: cut anywhere, it must neither crash nor be taken for statically linked by chance.
TEST(ProgramInspector, SurvivesTruncatedFiles) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes(1 << 16, '\0');
  self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::string path = TemporaryPath("truncated");
  for (size_t size = 0; size < 4096; size += 61) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(size));
    const auto facts = ReadProgramFacts(path);
    ASSERT_TRUE(facts.ok());
    EXPECT_FALSE(facts->static_cudart);
  }
  std::remove(path.c_str());
}

#ifdef WHARF_NVCC
// Built by nvcc with `flags` for the length of a test.
class NvccProgram {
 public:
  NvccProgram(const std::string& name, const std::string& flags) : path_(TemporaryPath(name)) {
    const std::string command = fmt::format("{} {} {} -o {}", WHARF_NVCC, flags, WHARF_TEST_PROGRAM, path_);
    built_ = std::system(command.c_str()) == 0;
  }
  ~NvccProgram() { std::remove(path_.c_str()); }
  bool built() const { return built_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool built_ = false;
};

TEST(ProgramInspector, SharedRuntimeIsAccepted) {
  const NvccProgram program("shared", "-cudart shared");
  ASSERT_TRUE(program.built());
  const auto facts = ReadProgramFacts(program.path());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->cudart, "libcudart.so.13");
  EXPECT_TRUE(facts->has_device_code);
  EXPECT_TRUE(facts->has_ptx);
  EXPECT_FALSE(facts->static_cudart);
  EXPECT_TRUE(InspectProgram(program.path()).ok());
  EXPECT_EQ(InspectProgram(program.path(), "libcudart.so.14").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ProgramInspector, StaticRuntimeIsRefusedWithTheWayOut) {
  const NvccProgram program("static", "");
  ASSERT_TRUE(program.built());
  const absl::Status status = InspectProgram(program.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("-cudart shared"));
}

TEST(ProgramInspector, SeesThatThereIsNoPtx) {
  const NvccProgram program("no_ptx", "-cudart shared -gencode arch=compute_75,code=sm_75");
  ASSERT_TRUE(program.built());
  const auto facts = ReadProgramFacts(program.path());
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->has_device_code);
  EXPECT_FALSE(facts->has_ptx);
}
#endif

}  // namespace
}  // namespace wharf::offload
