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
  EXPECT_EQ(ReadProgramFacts("/nonexistent/program").status().code(), absl::StatusCode::kNotFound);
}

TEST(ProgramInspector, ScriptIsNoElf) {
  const std::string path = TemporaryPath("script");
  std::ofstream(path) << "#!/bin/sh\necho hello\n";
  const auto facts = ReadProgramFacts(path);
  ASSERT_TRUE(facts.ok());
  EXPECT_FALSE(facts->is_elf);
  EXPECT_TRUE(InspectProgram(path, *facts, true).ok());
  std::remove(path.c_str());
}

TEST(ProgramInspector, OrdinaryProgramHasNoCuda) {
  const auto facts = ReadProgramFacts("/proc/self/exe");
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->is_elf);
  EXPECT_FALSE(facts->has_device_code);
  EXPECT_THAT(facts->needed, ::testing::Contains(HasSubstr("libc.so")));
}

// Every prefix of a real program: cut anywhere, it must neither crash nor be taken for what it is not.
TEST(ProgramInspector, SurvivesTruncatedFiles) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes(1 << 16, '\0');
  self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::string path = TemporaryPath("truncated");
  for (size_t size = 0; size < 4096; size += 61) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(size));
    const auto facts = ReadProgramFacts(path);
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->cudart, "");
    EXPECT_FALSE(facts->has_device_code);
  }
  std::remove(path.c_str());
}

#ifdef WHARF_NVCC
// Built by nvcc with `flags` for the length of a test.
class NvccProgram {
 public:
  NvccProgram(const std::string& name, const std::string& flags, const std::string& source = "program.cu")
      : path_(TemporaryPath(name)) {
    const std::string command = fmt::format("{} {} {}/{} -o {}", WHARF_NVCC, flags, WHARF_TEST_PROGRAMS, source, path_);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  ~NvccProgram() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  ProgramFacts Facts() const {
    const auto facts = ReadProgramFacts(path_);
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.value_or(ProgramFacts());
  }
  // What is said of it where kernels can only be run if there is PTX.
  absl::Status Inspect() const { return InspectProgram(path_, Facts(), true); }

 private:
  const std::string path_;
};

// As a program that calls the driver API has it.
constexpr const char* kDriver = " -Xlinker --no-as-needed -lcuda";

MATCHER_P(Refused, words, "") {
  return arg.code() == absl::StatusCode::kFailedPrecondition &&
         ExplainMatchResult(HasSubstr(words), std::string(Message(arg)), result_listener);
}

TEST(ProgramInspector, SharedRuntimeIsAccepted) {
  const NvccProgram program("shared", "-cudart shared");
  const ProgramFacts facts = program.Facts();
  EXPECT_EQ(facts.cudart, "libcudart.so.13");
  EXPECT_TRUE(facts.has_device_code);
  EXPECT_TRUE(facts.has_ptx);
  EXPECT_TRUE(program.Inspect().ok()) << program.Inspect();
  constexpr std::string_view kOther[] = {"libcudart.so.14"};
  EXPECT_THAT(InspectProgram(program.path(), facts, true, kOther), Refused("libcudart.so.14"));
}

TEST(ProgramInspector, RuntimesOfCuda12And13AreAcceptedAndNoOthers) {
  ProgramFacts facts;
  facts.is_elf = true;
  for (const char* const runtime : {"libcudart.so.12", "libcudart.so.13"}) {
    facts.cudart = runtime;
    EXPECT_TRUE(InspectProgram("program", facts, true).ok()) << runtime;
  }
  facts.cudart = "libcudart.so.11.0";
  EXPECT_THAT(InspectProgram("program", facts, true), Refused("libcudart.so.12 and libcudart.so.13"));
}

TEST(ProgramInspector, LibrariesOfMachineCodeAreNamedUnlessTheDeviceTakesIt) {
  ProgramFacts facts;
  facts.is_elf = true;
  facts.needed = {"libc.so.6", "libcublas.so.13", "libcusolver.so.12", "libnvJitLink.so.13"};
  EXPECT_TRUE(InspectProgram("program", facts, true).ok());
  for (const char* const library : {"libnppif.so.13", "libnvjpeg.so.13", "libnccl.so.2"}) {
    facts.needed.back() = library;
    EXPECT_THAT(InspectProgram("program", facts, true), Refused(library));
    EXPECT_TRUE(InspectProgram("program", facts, false).ok()) << library;
  }
}

// nvcc links its runtime in unless it is told otherwise.
TEST(ProgramInspector, ARuntimeThatIsLinkedInIsAcceptedAndPtxWantedAllTheSame) {
  for (const char* flags : {"", "-Xlinker -s"}) {
    const NvccProgram program("static", flags);
    EXPECT_TRUE(program.Inspect().ok()) << flags << program.Inspect();
    EXPECT_EQ(program.Facts().cudart, "") << flags;
    EXPECT_TRUE(program.Facts().has_ptx) << flags;
    const NvccProgram none("static", flags, "no_kernels.cc");
    EXPECT_TRUE(none.Inspect().ok()) << flags << none.Inspect();
    EXPECT_FALSE(none.Facts().has_device_code) << flags;
    const NvccProgram no_ptx("static", std::string(flags) + " -gencode arch=compute_75,code=sm_75");
    EXPECT_THAT(no_ptx.Inspect(), Refused("compute_75")) << flags;
  }
}

TEST(ProgramInspector, KernelsWithoutPtxAreRefusedUnlessTheDeviceTakesThem) {
  const NvccProgram program("no_ptx", "-cudart shared -gencode arch=compute_75,code=sm_75");
  EXPECT_TRUE(program.Facts().has_device_code);
  EXPECT_FALSE(program.Facts().has_ptx);
  EXPECT_THAT(program.Inspect(), Refused("compute_75"));
  EXPECT_TRUE(InspectProgram(program.path(), program.Facts(), false).ok());
}

TEST(ProgramInspector, FindsThePtxOfRelocatableDeviceCode) {
  const NvccProgram program("relocatable", "-cudart shared -rdc=true");
  EXPECT_TRUE(program.Inspect().ok()) << program.Inspect();
  EXPECT_TRUE(program.Facts().has_ptx);
  EXPECT_THAT(NvccProgram("no_ptx", "-cudart shared -rdc=true -gencode arch=compute_75,code=sm_75").Inspect(),
              Refused("compute_75"));
}

// nvcc gives each of these a .nv_fatbin section without PTX, in which there is nothing.
TEST(ProgramInspector, ProgramsWithoutKernelsNeedNoPtx) {
  for (const std::string& flags : {std::string("-cudart shared"), std::string("-cudart shared -Xlinker -s"),
                                   std::string("-cudart shared") + kDriver}) {
    const NvccProgram program("no_kernels", flags, "no_kernels.cc");
    EXPECT_FALSE(program.Facts().has_device_code) << flags;
    EXPECT_TRUE(program.Inspect().ok()) << flags << program.Inspect();
  }
  const NvccProgram as_cuda("no_kernels", "-x cu -cudart shared -gencode arch=compute_75,code=sm_75", "no_kernels.cc");
  EXPECT_TRUE(as_cuda.Inspect().ok()) << as_cuda.Inspect();
}
#endif

}  // namespace
}  // namespace wharf::offload
