#include "wharf/cli/pack/compile_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CompileJobsTest, SplitsWordsAsAShell) {
  EXPECT_THAT(*SplitWords(""), IsEmpty());
  EXPECT_THAT(*SplitWords("  nvcc  -DX=1\t-c a.cu\n"), ElementsAre("nvcc", "-DX=1", "-c", "a.cu"));
  EXPECT_THAT(*SplitWords(R"("--generate-code=arch=compute_75,code=[sm_75]" 'a b'c "d\"e" f\ g "h\i" '' )"),
              ElementsAre("--generate-code=arch=compute_75,code=[sm_75]", "a bc", "d\"e", "f g", "h\\i", ""));
  EXPECT_EQ(SplitWords("'open").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CompileJobsTest, KeepsWhatDeviceCodeDependsOn) {
  EXPECT_THAT(DeviceFlags({"-forward-unknown-to-host-compiler",
                           "-DX=1",
                           "-I",
                           "include",
                           "-isystem=/usr/x",
                           "-O3",
                           "-std=c++17",
                           "--generate-code=arch=compute_80,code=[sm_80]",
                           "-gencode",
                           "arch=compute_75,code=sm_75",
                           "-arch=sm_90",
                           "-arch",
                           "sm_75",
                           "-Xcompiler",
                           "-fPIC",
                           "-MD",
                           "-MT",
                           "a.o",
                           "-MF",
                           "a.d",
                           "-x",
                           "cu",
                           "-c",
                           "src/a.cu",
                           "-o",
                           "a.o"},
                          "src/a.cu"),
              ElementsAre("-forward-unknown-to-host-compiler", "-DX=1", "-I", "include", "-isystem=/usr/x", "-O3",
                          "-std=c++17", "-Xcompiler", "-fPIC", "-x", "cu"));
  EXPECT_THAT(DeviceFlags({"-o"}, "a.cu"), IsEmpty());
}

constexpr const char* kCommands = R"([
  {"directory": "/build", "file": "/src/a.cu", "command": "ccache /usr/bin/nvcc -DA=\"x y\" -c /src/a.cu -o a.o"},
  {"directory": "/build", "file": "../src/b.cu", "arguments": ["nvcc", "-DB", "-c", "../src/b.cu"]},
  {"directory": "/build", "file": "../src/b.cu", "arguments": ["nvcc", "-DB2", "-c", "../src/b.cu"]},
  {"directory": "/build", "file": "/src/c.cc", "command": "g++ -c /src/c.cc"}])";

TEST(CompileJobsTest, ReadsCompileCommands) {
  const auto jobs = ReadCompileCommands(kCommands, {});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].source, "/src/a.cu");
  EXPECT_EQ((*jobs)[0].directory, "/build");
  EXPECT_THAT((*jobs)[0].flags, ElementsAre("-DA=x y"));
  EXPECT_EQ((*jobs)[1].source, "/src/b.cu");
  EXPECT_THAT((*jobs)[1].flags, ElementsAre("-DB"));
}

TEST(CompileJobsTest, TakesOnlyWhatIsAskedFor) {
  EXPECT_EQ(ReadCompileCommands(kCommands, {"b.cu", "nothing"})->size(), 1U);
  EXPECT_EQ(ReadCompileCommands(kCommands, {"c.cc"}).status().code(), absl::StatusCode::kNotFound);
}

TEST(CompileJobsTest, RefusesOtherFiles) {
  for (const char* json : {"", "{}", "[1]", "[{}]", R"([{"file": 1}])", R"([{"file": "a.cu"}])",
                           R"([{"file": "a.cu", "command": "'open"}])", R"([{"file": "a.cu", "arguments": [1]}])"}) {
    EXPECT_EQ(ReadCompileCommands(json, {}).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
}

}  // namespace
}  // namespace wharf::cli
