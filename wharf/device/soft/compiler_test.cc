// The compiler as a whole: modes, calls, memory, caching, errors. Single instructions: codegen_*_test.cc.
#include "wharf/device/soft/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "wharf/device/soft/compiler_test_util.h"

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

}  // namespace
}  // namespace wharf::device::soft::testing
