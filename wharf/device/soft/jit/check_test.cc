// Kernels that are checked while they run (device/soft/check).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs `k`, whose threads have %r1 = tid.x and %rd1 = `out` in global memory; shared memory is `s`.
class Checked {
 public:
  explicit Checked(check::Checks checks = check::kRace, const std::string& cache = "")
      : runner_(cache, {.checks = checks}) {
    runner_.services().findings =
        std::make_shared<check::Findings>(checks, [this](const std::string& line) { told_.push_back(line); });
  }

  // What is told.
  std::vector<std::string> Run(const std::string& body, Dim3 block = {64}, uint32_t shared_bytes = 0,
                               CudaError error = CudaError::kSuccess) {
    told_.clear();
    auto* out = runner_.Allocate<uint32_t>(2048);
    const absl::Status status = runner_.Run(Kernel(body), "k", {1}, block, Parameters().Add(out), shared_bytes);
    EXPECT_EQ(CudaErrorOf(status), error) << status;
    return told_;
  }

  static std::string Kernel(const std::string& body) {
    return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
.file 1 "/src/some.cu"
.visible .entry k(.param .u64 out)
{{
  .shared .align 16 .b8 s[1024];
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  .reg .f64 %d<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, s;
  add.u32 %r3, %r3, %r2;
{}
  ret;
}}
)",
                       body);
  }

  KernelRunner& runner() { return runner_; }
  const std::vector<std::string>& told() const { return told_; }

 private:
  std::vector<std::string> told_;
  KernelRunner runner_;
};

constexpr char kNeighbours[] = R"(
  .loc 1 10 3
  st.shared.u32 [%r3], %r1;
  {}
  .loc 1 12 3
  ld.shared.u32 %r4, [%r3+4];
)";

TEST(Check, AMissingBarrierIsTold) {
  Checked checked;
  const std::vector<std::string> told = checked.Run(fmt::format(kNeighbours, ""));
  // Each lane runs on until it has to wait, which is never: its neighbour writes what it has read.
  EXPECT_THAT(told, ElementsAre("wharf: race: k: some.cu:10 writes what some.cu:12 read, and no barrier is between: "
                                "threads (1,0,0) and (0,0,0) of block (0,0,0), 4 bytes of shared memory at 0x4, 63 "
                                "times"));
  EXPECT_EQ(checked.runner().kernel()->mode, ExecutionMode::kSuspendable);
}

TEST(Check, BarriersOfEveryKindOrder) {
  Checked checked;
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "bar.sync 0;")), IsEmpty());
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "barrier.cta.sync 3, 64;")), IsEmpty());
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "setp.eq.u32 %p1, %r1, 0; bar.red.popc.u32 %r5, 0, %p1;")),
              IsEmpty());
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "bar.warp.sync 0xffffffff;"), {32}), IsEmpty());
  // Thread 31 reads what the other warp writes.
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "bar.warp.sync 0xffffffff;"), {64}),
              ElementsAre(AllOf(HasSubstr("at 0x80,"), HasSubstr("once"))));
}

TEST(Check, AShuffleOrdersNoAccesses) {
  Checked checked;
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff;"), {32}),
              ElementsAre(HasSubstr("some.cu:12 reads what some.cu:10 wrote")));
}

// Each lane's four bytes, eight rows in all.
constexpr char kRows[] = R"(
  st.shared.u32 [%r3], %r1;
  {}
  shl.b32 %r5, %r1, 4;
  mov.u32 %r6, s;
  add.u32 %r5, %r5, %r6;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r7}}, [%r5{}];
)";

TEST(Check, TensorCoresAccessMemoryToo) {
  Checked races;
  EXPECT_THAT(races.Run(fmt::format(kRows, "", ""), {32}),
              ElementsAre(AllOf(HasSubstr("`ldmatrix"), HasSubstr("race"))));
  EXPECT_THAT(races.Run(fmt::format(kRows, "bar.warp.sync 0xffffffff;", ""), {32}), IsEmpty());
  EXPECT_THAT(
      races.Run("wmma.store.d.sync.aligned.row.m8n8k4.f64 [s], {%d1, %d2}, 8;\n  ld.shared.u32 %r4, [%r3+4];", {32}),
      ElementsAre(HasSubstr("`wmma.store")));
  Checked memory(check::kMemory);
  EXPECT_THAT(memory.Run(fmt::format(kRows, "", "+4"), {32}, 0, CudaError::kMisalignedAddress),
              ElementsAre(AllOf(HasSubstr("no multiple of 16"), HasSubstr("8 times"))));
  EXPECT_THAT(memory.Run("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r4, %r4, %r4, %r4, %r4, %r4, %r4, %r4}, "
                         "[%rd1+7936], 16;",
                         {32}),
              ElementsAre(AllOf(HasSubstr("`wmma.load"), HasSubstr("behind an allocation of 8192 bytes"))));
  Checked unwritten(check::kInit);
  EXPECT_THAT(unwritten.Run("mov.u32 %r5, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r5];", {32}),
              ElementsAre(HasSubstr("reads 16 bytes")));
  EXPECT_THAT(
      unwritten.Run("wmma.store.d.sync.aligned.row.m8n8k4.f64 [s], {%d1, %d2}, 8;\n  ld.shared.u32 %r4, [%r3];", {32}),
      IsEmpty());
}

TEST(Check, ThreadsThatHaveEndedHoldNobodyUp) {
  Checked checked;
  EXPECT_THAT(checked.Run(R"(
  st.shared.u32 [%r3], %r1;
  setp.ge.u32 %p1, %r1, 40;
  @%p1 ret;
  bar.sync 0;
  ld.shared.u32 %r4, [%r3+4];
)"),
              IsEmpty());
}

TEST(Check, GenericAddressesCountAndOtherMemoryDoesNot) {
  Checked checked;
  EXPECT_THAT(checked.Run(R"(
  mov.u64 %rd2, s;
  cvta.shared.u64 %rd3, %rd2;
  st.u32 [%rd3+8], %r1;
  st.u32 [%rd1], %r1;
)"),
              ElementsAre(AllOf(HasSubstr("`st.u32 [%rd3+8], %r1` writes what PTX line"), HasSubstr("at 0x8,"),
                                HasSubstr("63 times"))));
}

TEST(Check, OneValueWrittenByAllIsNoHazard) {
  Checked checked;
  EXPECT_THAT(checked.Run("mov.u32 %r4, 7; st.shared.v2.u32 [s], {%r4, %r4}; st.shared.u8 [s], 0;"),
              ElementsAre(AllOf(HasSubstr("st.shared.v2.u32"), HasSubstr("[s], 0` wrote"))));
  EXPECT_THAT(checked.Run("mov.f32 %f1, 0f3F800000; st.shared.v4.f32 [s+16], {%f1, %f1, %f1, %f1};"), IsEmpty());
  EXPECT_THAT(checked.Run("st.shared.u32 [s], %r1;"), ElementsAre(HasSubstr("63 times")));
}

TEST(Check, AtomicsAndVolatileAccesses) {
  Checked checked;
  EXPECT_THAT(checked.Run("atom.shared.add.u32 %r4, [s], 1; red.shared.max.u32 [s], %r1;"), IsEmpty());
  EXPECT_THAT(checked.Run("st.volatile.shared.u32 [s], %r1; ld.volatile.shared.u32 %r4, [s];"), IsEmpty());
  EXPECT_THAT(checked.Run("atom.shared.add.u32 %r4, [s], 1; ld.shared.u32 %r4, [s];"),
              ElementsAre(HasSubstr("updates what"), HasSubstr("reads what")));
}

TEST(Check, DynamicSharedMemoryAndAsynchronousCopies) {
  Checked checked;
  EXPECT_THAT(checked.Run("cp.async.ca.shared.global [%r3+1024], [%rd1], 4; ld.shared.u32 %r4, [%r3+1028];", {64}, 512),
              ElementsAre(AllOf(HasSubstr("cp.async"), HasSubstr("at 0x404,"))));
}

TEST(Check, FunctionsThatAreCalledAreCheckedToo) {
  Checked checked;
  std::string text = Checked::Kernel("  call f;");
  text.insert(text.find(".visible"), R"(
.shared .align 4 .b8 common[4];
.func f() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; st.shared.u32 [common], %r1; ret; }
)");
  ASSERT_EQ(checked.runner().Run(text, "k", {1}, {32}, Parameters().Add(uint64_t{0})), absl::OkStatus());
  EXPECT_THAT(checked.told(), ElementsAre(AllOf(HasSubstr("st.shared.u32 [common]"), HasSubstr("31 times"))));
}

TEST(Check, AccessesOutsideOfMemoryAreTold) {
  Checked checked(check::kMemory);
  // Of an allocation of two pages.
  EXPECT_THAT(checked.Run("st.global.u32 [%rd1+8188], %r1; ld.global.v2.u32 {%r4, %r5}, [%rd1+8184];"), IsEmpty());
  EXPECT_THAT(checked.Run("mul.wide.u32 %rd2, %r1, 4096; add.u64 %rd2, %rd1, %rd2; setp.lt.u32 %p1, %r1, 3; "
                          "@%p1 red.global.add.u32 [%rd2], 1;",
                          {64}, 0, CudaError::kIllegalAddress),
              ElementsAre(AllOf(HasSubstr("`@%p1 red.global.add.u32 [%rd2], 1` updates 4 bytes at"),
                                HasSubstr("(0 bytes behind an allocation of 8192 bytes): thread (2,0,0)"))));
  EXPECT_THAT(
      checked.Run("st.shared.u32 [s+1022], %r1; st.shared.u32 [s+1020], %r1;", {64}, 0, CudaError::kMisalignedAddress),
      ElementsAre(HasSubstr("at 0x3fe, which is beyond the 1024 bytes of shared memory"),
                  HasSubstr("at 0x3fe, which is no multiple of 4 (shared memory)")));
  EXPECT_THAT(checked.Run("ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1+8];", {64}, 0, CudaError::kMisalignedAddress),
              ElementsAre(HasSubstr("which is no multiple of 16: ")));
  EXPECT_THAT(checked.Run(fmt::format(kNeighbours, "")), IsEmpty()) << "races are not asked for";
}

TEST(Check, ReadsOfWhatNobodyHasWrittenAreTold) {
  Checked checked(check::kInit);
  EXPECT_THAT(checked.Run("st.shared.u16 [%r3], %rs1; bar.sync 0; ld.shared.u32 %r4, [%r3];"),
              ElementsAre(AllOf(HasSubstr("wharf: init: k: PTX line"),
                                HasSubstr("`ld.shared.u32 %r4, [%r3]` reads 4 "
                                          "bytes at 0xfe, which nobody has written (shared memory): thread (63,0,0)"),
                                HasSubstr("64 times"))));
  EXPECT_THAT(checked.Run("st.shared.u32 [%r3], %r1; ld.shared.u32 %r4, [%r3]; red.shared.add.u32 [%r3], 1;"),
              IsEmpty());
  EXPECT_THAT(checked.Run("atom.shared.add.u32 %r4, [s+512], 1;"), ElementsAre(HasSubstr(", once")))
      << "it is written then";
  EXPECT_THAT(checked.Run("ld.global.u32 %r4, [%rd1];"), IsEmpty()) << "the device's own";
}

TEST(Check, WallsStandInCodeThatIsChecked) {
  Checked checked(check::kAllChecks);
  uint64_t not_the_kernels = 42;
  for (const char* access : {"st.global.u64 [%rd1], %rd1;", "st.u64 [%rd1], %rd1;", "red.global.add.u64 [%rd1], 1;",
                             "st.global.v2.u32 [%rd1], {%r1, %r1};", "cp.async.ca.shared.global [s], [%rd1], 8;"}) {
    const auto address = reinterpret_cast<uint64_t>(&not_the_kernels);
    const absl::Status status = checked.runner().Run(Checked::Kernel(access), "k", {1}, {1}, Parameters().Add(address));
    EXPECT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << access;
    EXPECT_THAT(checked.told().back(), HasSubstr("which is outside of memory (")) << access;
  }
  EXPECT_EQ(not_the_kernels, 42u);
}

TEST(Check, ParametersAndLocalMemoryAreLeftAlone) {
  Checked checked(check::kMemory | check::kRace);
  EXPECT_THAT(checked.Run(R"(
  .local .align 8 .b8 own[64];
  mov.u64 %rd2, own;
  cvta.local.u64 %rd3, %rd2;
  and.b32 %r4, %r1, 15;
  mul.wide.u32 %rd4, %r4, 4;
  add.u64 %rd3, %rd3, %rd4;
  st.u32 [%rd3], %r1;
  bar.sync 0;
  ld.u32 %r5, [%rd3];
  st.global.u32 [%rd1], %r5;
)"),
              IsEmpty());
}

std::map<std::string, std::string> FilesIn(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::stringstream content;
    content << std::ifstream(entry.path()).rdbuf();
    files[entry.path().filename()] = content.str();
  }
  return files;
}

TEST(Check, CodeThatIsNotCheckedIsWhatItWas) {
  const std::string folder = ::testing::TempDir() + fmt::format("check_test_{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string kernel = Checked::Kernel(fmt::format(kNeighbours, ""));
  KernelRunner plain(folder);
  ASSERT_TRUE(plain.Compile(kernel, "k").ok());
  EXPECT_EQ((*plain.Compile(kernel, "k"))->sites, nullptr);
  const auto before = FilesIn(folder);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_THAT(before.begin()->second, ::testing::Not(HasSubstr("wharf_check")));
  Checked checked(check::kRace, folder);
  ASSERT_TRUE(checked.runner().Compile(kernel, "k").ok());
  const auto after = FilesIn(folder);
  EXPECT_EQ(after.size(), 2u) << "of another name";
  EXPECT_EQ(after.at(before.begin()->first), before.begin()->second);
  for (const auto& [name, object] : after) {
    EXPECT_EQ(object.find("wharf_check_access") != std::string::npos, name != before.begin()->first);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wharf::device::soft::testing
