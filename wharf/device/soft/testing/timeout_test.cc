// Kernels that run longer than they may (Executor): in every form that code takes, wherever they are when the time is
// up.
#include <gtest/gtest.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

// k(in, out) with in[0] = 0: `before` has been done, then threads go round and round `loop`.
std::string Endless(const std::string& before, const std::string& loop) {
  return ElementKernel(before + R"(
AGAIN:
)" + loop + R"(
  bra AGAIN;
)",
                       0, 4);
}

// k(in, out) that runs for so long.
std::string Lasting(uint64_t nanoseconds) {
  return ElementKernel(fmt::format(R"(
  mov.u64 %rd5, %globaltimer;
AGAIN:
  mov.u64 %rd6, %globaltimer;
  sub.u64 %rd6, %rd6, %rd5;
  setp.lt.u64 %p1, %rd6, {};
  @%p1 bra AGAIN;
)",
                                   nanoseconds),
                       0, 4);
}

class TimeoutTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef WHARF_TSAN
    // It keeps a signal from its handler until the thread enters a function that it watches.
    GTEST_SKIP() << "ThreadSanitizer interrupts no compiled kernels";
#endif
  }

  TimeoutTest() : in_(runner_.Upload(std::vector<uint32_t>(1))), out_(runner_.Allocate<uint32_t>(4096)) {}

  void FailsInTime(const std::string& ptx, Dim3 grid, Dim3 block, bool by_shape = false) {
    const Parameters parameters = Parameters().Add(in_).Add(out_);
    const absl::Status status = by_shape ? runner_.RunByShape(ptx, "k", grid, block, parameters)
                                         : runner_.Run(ptx, "k", grid, block, parameters);
    EXPECT_EQ(CudaErrorOf(status), CudaError::kLaunchTimeout);
    EXPECT_EQ(Message(status), "kernel k was still running after 0.25 s, its time limit");
    // Whatever it was left in, the next one runs as ever.
    EXPECT_EQ(MapElements<uint32_t>(runner_, "  ld.global.u32 %r5, [%rd1];\n  st.global.u32 [%rd2], %r5;",
                                    std::vector<uint32_t>{7, 8, 9}),
              (std::vector<uint32_t>{7, 8, 9}));
  }

  KernelRunner runner_{"", {}, std::chrono::milliseconds(250)};
  uint32_t *in_, *out_;
};

TEST_F(TimeoutTest, LoopsThatDoNothing) { FailsInTime(Endless("", ""), {1}, {1}); }

TEST_F(TimeoutTest, LoopsThatRead) { FailsInTime(Endless("", "  ld.volatile.global.u32 %r5, [%rd1];"), {64}, {128}); }

TEST_F(TimeoutTest, LoopsThatComputeInLanes) {
  FailsInTime(Endless("", "  add.u32 %r4, %r4, %r3;\n  st.global.u32 [%rd2], %r4;"), {8}, {256});
}

TEST_F(TimeoutTest, ThreadsOnStacksOfTheirOwn) {
  FailsInTime(Endless("  bar.sync 0;", "  ld.volatile.global.u32 %r5, [%rd1];"), {4}, {96});
}

TEST_F(TimeoutTest, Regions) {
  FailsInTime(Endless("  bar.sync 0;", "  add.u32 %r4, %r4, 1;\n  st.volatile.global.u32 [%rd2], %r4;"), {4}, {64},
              /*by_shape=*/true);
}

TEST_F(TimeoutTest, BarriersWithoutEnd) { FailsInTime(Endless("", "  bar.sync 0;"), {4}, {64}); }

TEST_F(TimeoutTest, WarpOperationsWithoutEnd) {
  FailsInTime(Endless("", "  vote.sync.any.pred %p1, %p2, 0xffffffff;"), {2}, {64});
}

TEST_F(TimeoutTest, OneBlockOfMany) {
  const std::string ptx = ElementKernel(R"(
  st.global.u32 [%rd2], %r4;
  setp.ne.u32 %p1, %r1, 3;
  @%p1 bra DONE;
AGAIN:
  ld.volatile.global.u32 %r5, [%rd1];
  bra AGAIN;
DONE:
)",
                                        0, 4);
  FailsInTime(ptx, {16}, {64});
}

// The time is of a kernel, not of the session.
TEST_F(TimeoutTest, ManyShortKernelsMayTakeLonger) {
  ASSERT_TRUE(runner_.Run(Lasting(1'000'000), "k", {1}, {1}, Parameters().Add(in_).Add(out_)).ok());
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(runner_.RunAgain("k", {1}, {1}, Parameters().Add(in_).Add(out_)).ok()) << i;
  }
}

TEST(NoTimeout, KernelsMayTakeTheirTime) {
  KernelRunner runner;
  auto* out = runner.Allocate<uint32_t>(64);
  EXPECT_TRUE(runner.Run(Lasting(300'000'000), "k", {1}, {1}, Parameters().Add(out).Add(out)).ok());
}

}  // namespace
}  // namespace wharf::device::soft::testing
