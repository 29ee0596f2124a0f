// The compiler as a whole: modes, calls, memory, caching, errors. Single instructions: codegen_*_test.cc.
#include "wharf/device/soft/jit/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSaxpy[] = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
  .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u32 %r2, [n];
  ld.param.f32 %f1, [a];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd3, %rd2;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.f32 %f2, [%rd6];
  add.s64 %rd7, %rd3, %rd5;
  ld.global.f32 %f3, [%rd7];
  fma.rn.f32 %f4, %f2, %f1, %f3;
  st.global.f32 [%rd7], %f4;
$L__BB0_2:
  ret;
}
)";

// A client that loads and unloads for ever takes no more memory for it.
TEST(Compiler, CodeBeyondTheLimitIsOutOfMemory) {
  KernelRunner runner("", {.code_bytes = 2 * kLinkedKernelBytes});
  std::string other = kSaxpy;
  other.replace(other.find("saxpy"), 5, "other");
  EXPECT_EQ(runner.Compile(kSaxpy, "saxpy").status(), absl::OkStatus());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(CudaErrorOf(runner.Compile(other, "other").status()), CudaError::kOutOfMemory);
  }
  EXPECT_EQ(runner.Compile(kSaxpy, "saxpy").status(), absl::OkStatus()) << "what is there stays";
}

size_t MappingsWithCode() {
  std::ifstream mappings("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(mappings, line);)
    count += line.find(" r-xp 00000000 00:00 0") != line.npos ? 1 : 0;
  return count;
}

TEST(Compiler, GivesItsCodeBackAtItsEnd) {
  const size_t before = MappingsWithCode();
  {
    KernelRunner runner;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(runner.Compile(ElementKernel(fmt::format("  mov.u32 %r5, {};", i), 4, 4), "k").status(),
                absl::OkStatus());
    }
    EXPECT_GT(MappingsWithCode(), before);
  }
  EXPECT_EQ(MappingsWithCode(), before);
}

TEST(Compiler, RunsBarrierFreeKernelInLoops) {
  KernelRunner runner;
  std::vector<float> x(1000), y(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = 1;
  float* device_x = runner.Upload(x);
  float* device_y = runner.Upload(y);
  ASSERT_EQ(runner.Run(kSaxpy, "saxpy", {4}, {256}, Parameters().Add(990).Add(2.0F).Add(device_x).Add(device_y)),
            absl::OkStatus());
  EXPECT_EQ(runner.kernel()->mode, ExecutionMode::kLoop);
  EXPECT_EQ(runner.kernel()->parameter_bytes, 24U);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(device_y[i], i < 990 ? 2 * x[i] + 1 : 1) << i;
}

// out[i] = sum of a shared array that all threads of a block wrote.
constexpr char kBlockSum[] = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry sum(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
  .shared .align 4 .b8 cells[256];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, cells;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
LOOP:
  shl.b32 %r7, %r6, 2;
  add.s32 %r8, %r2, %r7;
  ld.shared.u32 %r9, [%r8];
  add.s32 %r5, %r5, %r9;
  add.s32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 64;
  @%p1 bra LOOP;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
  ret;
}
)";

TEST(Compiler, RunsKernelWithBarrierOnSuspendableThreads) {
  KernelRunner runner;
  auto* out = runner.Allocate<uint32_t>(64);
  ASSERT_EQ(runner.Run(kBlockSum, "sum", {1}, {64}, Parameters().Add(out)), absl::OkStatus());
  EXPECT_EQ(runner.kernel()->mode, ExecutionMode::kSuspendable);
  EXPECT_EQ(runner.kernel()->static_shared_bytes, 256U);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], 2016U);
}

TEST(Compiler, NamesWhatItDoesNotSupport) {
  KernelRunner runner;
  const std::string ptx = ElementKernel("  sured.b.add.1d.u32.trap [%rd1, {%r1}], %r2;", 4, 4);
  absl::Status status = runner.Compile(ptx, "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CudaErrorOf(status), CudaError::kUnsupportedPtx);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("kernel k: line "));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("sured.b.add.1d.u32.trap"));
}

TEST(Compiler, RefusesUnknownModifier) {
  KernelRunner runner;
  absl::Status status = runner.Compile(ElementKernel("  add.rn.frobnicate.f32 %f1, %f2, %f3;", 4, 4), "k").status();
  EXPECT_EQ(CudaErrorOf(status), CudaError::kUnsupportedPtx);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("modifier .frobnicate"));
}

TEST(Compiler, RefusesRegisterOfWrongWidth) {
  KernelRunner runner;
  absl::Status status = runner.Compile(ElementKernel("  add.s64 %rd4, %rd1, %r1;", 4, 4), "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaErrorOf(status), CudaError::kInvalidPtx);
}

TEST(Compiler, DoesNotFindKernelThatIsNotThere) {
  KernelRunner runner;
  EXPECT_EQ(runner.Compile(kSaxpy, "sgemm").status().code(), absl::StatusCode::kNotFound);
}

TEST(Compiler, RefusesCallOfUndefinedFunction) {
  KernelRunner runner;
  absl::Status status = runner.Compile(ElementKernel("  call missing;", 4, 4, ".extern .func missing;"), "k").status();
  EXPECT_EQ(CudaErrorOf(status), CudaError::kInvalidPtx);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("missing"));
}

TEST(Compiler, NamesWhatItHasNotOfDynamicParallelism) {
  KernelRunner runner;
  for (const char* function : {"__cudaCDP2Memcpy2DAsync", "__cudaCDP2DeviceSynchronize", "cudaLaunchDevice"}) {
    const std::string ptx =
        ElementKernel(fmt::format("  call {};", function), 4, 4, fmt::format(".extern .func {};", function));
    absl::Status status = runner.Compile(ptx, "k").status();
    EXPECT_EQ(CudaErrorOf(status), CudaError::kUnsupportedPtx);
    EXPECT_THAT(std::string(Message(status)),
                HasSubstr(fmt::format("calls {}, a part of dynamic parallelism that is not supported", function)));
  }
}

TEST(Compiler, LaunchesWithoutArgumentsAreMalformed) {
  KernelRunner runner;
  for (const char* function : {"GetParameterBufferV2", "LaunchDeviceV2", "StreamCreateWithFlags", "Malloc", "Free",
                               "MemcpyAsync", "MemsetAsync"}) {
    const std::string ptx = ElementKernel(fmt::format("  call __cudaCDP2{};", function), 4, 4,
                                          fmt::format(".extern .func __cudaCDP2{};", function));
    EXPECT_EQ(CudaErrorOf(runner.Compile(ptx, "k").status()), CudaError::kInvalidPtx) << function;
  }
  const std::string narrow = R"(
  {
  .param .b64 kernel; .param .b8 grid[8]; .param .b8 block[12]; .param .b32 shared; .param .b64 got;
  call (got), __cudaCDP2GetParameterBufferV2, (kernel, grid, block, shared);
  }
)";
  const std::string declared =
      ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 a, .param .b8 b[12], .param .b8 c[12], "
      ".param .b32 d);\n";
  EXPECT_EQ(CudaErrorOf(runner.Compile(ElementKernel(narrow, 4, 4, declared), "k").status()), CudaError::kInvalidPtx);
}

TEST(Compiler, LaunchesByBothNames) {
  KernelRunner runner;
  for (const char* prefix : {"__cudaCDP2", "cuda"}) {
    const std::string body = fmt::format(R"(
  {{
  .param .b64 kernel; .param .align 4 .b8 grid[12]; .param .align 4 .b8 block[12]; .param .b32 shared; .param .b64 got;
  .param .b64 stream; .param .b32 status;
  .reg .b64 %buffer;
  call (got), {0}GetParameterBufferV2, (kernel, grid, block, shared);
  ld.param.b64 %buffer, [got];
  st.param.b64 [kernel], %buffer;
  call (status), {0}LaunchDeviceV2, (kernel, stream);
  }}
)",
                                         prefix);
    const std::string declared = fmt::format(
        ".extern .func (.param .b64 r) {0}GetParameterBufferV2(.param .b64 a, .param .align 4 .b8 b[12], "
        ".param .align 4 .b8 c[12], .param .b32 d);\n"
        ".extern .func (.param .b32 r) {0}LaunchDeviceV2(.param .b64 a, .param .b64 b);\n",
        prefix);
    EXPECT_EQ(runner.Compile(ElementKernel(body, 4, 4, declared), "k").status(), absl::OkStatus());
  }
}

TEST(Compiler, KeepsCompiledKernelInMemory) {
  KernelRunner runner;
  auto first = runner.Compile(kSaxpy, "saxpy");
  auto second = runner.Compile(kSaxpy, "saxpy");
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_EQ(*first, *second);
}

class DiskCache : public ::testing::Test {
 protected:
  DiskCache() : directory_(std::filesystem::path(::testing::TempDir()) / ("kernels" + std::to_string(getpid()))) {
    std::filesystem::remove_all(directory_);
  }
  ~DiskCache() override { std::filesystem::remove_all(directory_); }

  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) files.push_back(entry.path());
    return files;
  }
  // Another one for a file that was written anew.
  static ino_t Inode(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  }
  // 2 * 3 + 1 if the kernel works.
  float RunSaxpy() {
    KernelRunner runner(directory_.string());
    float* x = runner.Upload(std::vector<float>{3});
    float* y = runner.Upload(std::vector<float>{1});
    absl::Status status = runner.Run(kSaxpy, "saxpy", {1}, {1}, Parameters().Add(1).Add(2.0F).Add(x).Add(y));
    return status.ok() ? *y : -1;
  }

  std::filesystem::path directory_;
};

TEST_F(DiskCache, StoresObjectsAndUsesThem) {
  EXPECT_EQ(RunSaxpy(), 7);
  ASSERT_EQ(Files().size(), 1U);
  const auto written = Inode(Files()[0]);
  EXPECT_EQ(RunSaxpy(), 7);
  ASSERT_EQ(Files().size(), 1U);
  EXPECT_EQ(Inode(Files()[0]), written);
}

TEST_F(DiskCache, IgnoresDamagedObjects) {
  EXPECT_EQ(RunSaxpy(), 7);
  const auto size = std::filesystem::file_size(Files()[0]);
  for (uintmax_t keep : {uintmax_t{0}, uintmax_t{10}, size / 2, size - 1}) {
    std::filesystem::resize_file(Files()[0], keep);
    EXPECT_EQ(RunSaxpy(), 7) << keep;
    EXPECT_EQ(std::filesystem::file_size(Files()[0]), size);
  }
  {
    std::fstream file(Files()[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file.put('!');
  }
  EXPECT_EQ(RunSaxpy(), 7);
}

TEST_F(DiskCache, UnwritableDirectoryIsNoError) {
  std::ofstream(directory_) << "a file";
  EXPECT_EQ(RunSaxpy(), 7);
}

TEST(Compiler, CallsFunctionsByNameAndThroughPointers) {
  KernelRunner runner;
  const std::string scope = R"(
.func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [x];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
.func (.reg .b32 result) square(.reg .b32 x)
{
  mul.lo.u32 result, x, x;
  ret;
}
.func (.param .b32 result) increment(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [x];
  add.u32 %r2, %r1, 1;
  st.param.b32 [result], %r2;
  ret;
}
.func (.param .b32 result) factorial(.param .b32 x)
{
  .reg .pred %p; .reg .b32 %r<5>;
  ld.param.u32 %r1, [x];
  setp.gt.u32 %p, %r1, 1;
  @%p bra MORE;
  st.param.b32 [result], 1;
  ret;
MORE:
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), factorial, (a);
    ld.param.b32 %r3, [b];
  }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
}
.global .align 8 .u64 table[2] = {twice, increment};
)";
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  call (%r6), square, (%r5);
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r5;
    call.uni (b), factorial, (a);
    ld.param.b32 %r7, [b];
  }
  and.b32 %r8, %r5, 1;
  mul.wide.u32 %rd4, %r8, 8;
  mov.u64 %rd5, table;
  add.u64 %rd5, %rd5, %rd4;
  ld.global.u64 %rd6, [%rd5];
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r5;
    shape : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %rd6, (a), shape;
    ld.param.b32 %r9, [b];
  }
  st.global.v4.u32 [%rd2], {%r6, %r7, %r9, %r5};
)";
  struct Out {
    uint32_t square, factorial, through_pointer, x;
  };
  auto out = MapElements<Out>(runner, body, std::vector<uint32_t>{0, 1, 2, 3, 4, 5}, scope);
  const uint32_t factorials[] = {1, 1, 2, 6, 24, 120};
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(out[i].square, i * i);
    EXPECT_EQ(out[i].factorial, factorials[i]);
    EXPECT_EQ(out[i].through_pointer, i % 2 == 0 ? 2 * i : i + 1);
    EXPECT_EQ(out[i].x, i);
  }
}

TEST(Compiler, TrapsOnCallOfNoFunction) {
  KernelRunner runner;
  const std::string body = R"(
  ld.global.u64 %rd6, [%rd1];
  shape : .callprototype _ ();
  call %rd6, shape;
)";
  absl::Status status;
  try {
    MapElements<uint64_t>(runner, body, std::vector<uint64_t>{12345});
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(static_cast<int>(CudaError::kIllegalInstruction))));
  }
}

TEST(Compiler, ExitInsideFunctionEndsThread) {
  KernelRunner runner;
  const std::string scope = R"(
.func stop_if_odd(.reg .b32 x)
{
  .reg .pred %p; .reg .b32 %r;
  and.b32 %r, x, 1;
  setp.ne.u32 %p, %r, 0;
  @%p exit;
  ret;
}
)";
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  call stop_if_odd, (%r5);
  st.global.u32 [%rd2], 7;
)";
  EXPECT_THAT(MapElements<uint32_t>(runner, body, std::vector<uint32_t>{0, 1, 2, 3}, scope), ElementsAre(7, 0, 7, 0));
}

TEST(Compiler, BranchesThroughTable) {
  KernelRunner runner;
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  ts : .branchtargets A, B, C;
  brx.idx %r5, ts;
A:
  mov.u32 %r6, 10;
  bra DONE;
B:
  mov.u32 %r6, 20;
  bra DONE;
C:
  mov.u32 %r6, 30;
DONE:
  st.global.u32 [%rd2], %r6;
)";
  EXPECT_THAT(MapElements<uint32_t>(runner, body, std::vector<uint32_t>{2, 0, 1, 2}), ElementsAre(30, 10, 20, 30));
}

TEST(Compiler, LocalArraysAreTheThreadsOwn) {
  KernelRunner runner;
  const std::string body = R"(
  .local .align 4 .b8 depot[64];
  mov.u64 %rd5, depot;
  cvta.local.u64 %rd6, %rd5;
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r6, 0;
FILL:
  mul.wide.u32 %rd7, %r6, 4;
  add.u64 %rd8, %rd5, %rd7;
  mad.lo.u32 %r7, %r6, %r5, 7;
  st.local.u32 [%rd8], %r7;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 16;
  @%p1 bra FILL;
  and.b32 %r8, %r5, 15;
  mul.wide.u32 %rd7, %r8, 4;
  add.u64 %rd8, %rd6, %rd7;
  ld.u32 %r9, [%rd8];
  st.global.u32 [%rd2], %r9;
)";
  std::vector<uint32_t> in;
  for (uint32_t i = 0; i < 100; ++i) in.push_back(i);
  auto out = MapElements<uint32_t>(runner, body, in);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], (i & 15) * i + 7);
  EXPECT_GE(runner.kernel()->local_bytes, 64U);
}

TEST(Compiler, GlobalVariablesAndDynamicSharedMemory) {
  KernelRunner runner;
  const std::string ptx = R"(.version 8.8
.target sm_75
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .f32 factors[2] = {0f40000000, 0f40400000};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;
  .shared .align 8 .b8 fixed[24];
  ld.param.u64 %rd1, [out];
  atom.global.add.u32 %r1, [counter], 3;
  mov.u32 %r2, dynamic;
  st.shared.u32 [dynamic+4], %r1;
  ld.shared.u32 %r3, [%r2+4];
  cvta.shared.u32 %r4, %r2;
  ld.const.f32 %f1, [factors+4];
  st.global.u32 [%rd1], %r3;
  st.global.u32 [%rd1+4], %r2;
  st.global.f32 [%rd1+8], %f1;
  mov.u32 %r5, %dynamic_smem_size;
  st.global.u32 [%rd1+12], %r5;
  ret;
}
)";
  std::string text = ptx;
  text.erase(text.find("  cvta.shared.u32"), text.find("  ld.const") - text.find("  cvta.shared.u32"));
  auto* out = runner.Allocate<uint32_t>(4);
  ASSERT_EQ(runner.Run(text, "k", {1}, {1}, Parameters().Add(out), 64), absl::OkStatus());
  EXPECT_EQ(out[0], 5U);
  EXPECT_EQ(out[1], 32U);  // after 24 bytes, rounded up to 16
  EXPECT_EQ(std::bit_cast<float>(out[2]), 3.0F);
  EXPECT_EQ(out[3], 64U);
  EXPECT_EQ(*static_cast<uint32_t*>(runner.Variable("counter")), 8U);
}

// A lock that all threads of a block take in turn: only works if waiting threads let the others run.
TEST(Compiler, SpinLoopsYield) {
  KernelRunner runner;
  const std::string body = R"(
LOCK:
  atom.global.cas.b32 %r5, [lock], 0, 1;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra LOCK;
  membar.gl;
  ld.volatile.global.u32 %r6, [count];
  add.u32 %r6, %r6, 1;
  st.volatile.global.u32 [count], %r6;
  membar.gl;
  atom.global.exch.b32 %r7, [lock], 0;
  st.global.u32 [%rd2], %r6;
)";
  MapElements<uint32_t>(runner, body, std::vector<uint32_t>(128), ".global .u32 lock; .global .u32 count;");
  EXPECT_EQ(runner.kernel()->mode, ExecutionMode::kSuspendable);
  EXPECT_EQ(*static_cast<uint32_t*>(runner.Variable("count")), 128U);
}

// An update that is retried when another thread was faster needs no suspending.
TEST(Compiler, LockFreeUpdatesStayInLoops) {
  KernelRunner runner;
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  ld.global.u32 %r6, [most];
AGAIN:
  max.u32 %r7, %r6, %r5;
  atom.global.cas.b32 %r8, [most], %r6, %r7;
  setp.ne.u32 %p1, %r8, %r6;
  mov.u32 %r6, %r8;
  @%p1 bra AGAIN;
  st.global.u32 [%rd2], %r6;
)";
  MapElements<uint32_t>(runner, body, std::vector<uint32_t>{3, 9, 2, 7}, ".global .u32 most;");
  EXPECT_EQ(runner.kernel()->mode, ExecutionMode::kLoop);
  EXPECT_EQ(*static_cast<uint32_t*>(runner.Variable("most")), 9U);
}

TEST(Compiler, VideoInstructions) {
  KernelRunner runner;
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r6, 0x10ff7f80;
  mov.u32 %r7, 100;
  vabsdiff4.u32.u32.u32 %r8, %r5, %r6, %r7;
  vabsdiff4.u32.u32.u32.add %r9, %r5, %r6, %r7;
  vadd4.s32.s32.s32.sat %r10, %r5, %r6, %r7;
  vavrg2.u32.u32.u32 %r11, %r5, %r6, %r7;
  st.global.v4.u32 [%rd2], {%r8, %r9, %r10, %r11};
)";
  struct Out {
    uint32_t difference, sum, saturated, average;
  };
  const Out out = MapElements<Out>(runner, body, std::vector<uint32_t>{0x20017f81})[0];
  EXPECT_EQ(out.difference, 0x10fe0001U);
  EXPECT_EQ(out.sum, 100U + 0x10 + 0xfe + 0 + 1);
  EXPECT_EQ(out.saturated, 0x30007f80U);
  EXPECT_EQ(out.average, 0x18807f81U);
}

TEST(Compiler, PrintsThroughVprintf) {
  KernelRunner runner;
  const std::string scope = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[] = {37, 100, 10, 0};
)";
  const std::string body = R"(
  .local .align 8 .b8 depot[8];
  ld.global.u32 %r5, [%rd1];
  mov.u64 %rd5, depot;
  cvta.local.u64 %rd6, %rd5;
  st.local.u32 [%rd5], %r5;
  mov.u64 %rd7, text;
  cvta.global.u64 %rd8, %rd7;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra SKIP;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 result;
    st.param.b64 [p0], %rd8;
    st.param.b64 [p1], %rd6;
    call.uni (result), vprintf, (p0, p1);
    ld.param.b32 %r6, [result];
  }
  st.global.u32 [%rd2], %r6;
SKIP:
)";
  EXPECT_THAT(MapElements<uint32_t>(runner, body, std::vector<uint32_t>{42, 0, 7}, scope), ElementsAre(1, 0, 1));
  EXPECT_EQ(runner.printed(), "42\n7\n");
}

}  // namespace
}  // namespace wharf::device::soft::testing
