// How kernels are executed, and why not faster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<KernelForm> Explained(const std::string& body, const Dim3& block = {256, 1, 1}) {
  const auto module = ptx::Parse(ElementKernel(body, 4, 4));
  return Explain(**module, "k", block);
}

void ExpectForm(const absl::StatusOr<KernelForm>& form, KernelForm::Way way, const char* reason) {
  ASSERT_TRUE(form.ok()) << form.status();
  EXPECT_EQ(form->way, way);
  EXPECT_THAT(form->reason, HasSubstr(reason));
  EXPECT_EQ(form->reason.empty(), std::string(reason).empty());
}

TEST(Explain, FastForms) {
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;"), KernelForm::kLanes, "");
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; bar.sync 0; st.global.u32 [%rd2], %r5;"), KernelForm::kRegions, "");
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; shfl.sync.bfly.b32 %r6, %r5, 1, 31, 0xffffffff;"
                       "st.global.u32 [%rd2], %r6;"),
             KernelForm::kRegions, "");
}

// Threads part inside a loop, and meet before its barrier or the one behind it, which a number decides that is the same
// in all of them.
TEST(Explain, ThreadsMayPartWhereTheyMeetAgain) {
  ExpectForm(Explained(R"(
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r7, %nctaid.x;
LOOP:
  bar.sync 0;
  and.b32 %r8, %r5, 1; setp.eq.u32 %p1, %r8, 0;
  @%p1 bra MEET;
  st.global.u32 [%rd2], %r5;
MEET:
  add.u32 %r5, %r5, 3; sub.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0;
  @%p2 bra LOOP;
  bar.sync 0;
  st.global.u32 [%rd2], %r5;
)"),
             KernelForm::kRegions, "");
}

// How many rounds are left after a loop in which threads part, and meet, is the same in all of them.
TEST(Explain, ThreadsLeaveLoopsTogetherInWhichTheyMeetAgain) {
  constexpr std::string_view kUnrolled = R"(
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r7, %nctaid.x;
  setp.lt.u32 %p2, %r7, 4;
  @%p2 bra REST;
LOOP:
  bar.sync 0;
  setp.eq.u32 %p1, {0}, 0;
  @%p1 bra MEET;
  st.global.u32 [%rd2], %r5;
MEET:
  sub.u32 %r7, %r7, 4; setp.ge.u32 %p2, %r7, 4;
  {1}
  @%p2 bra LOOP;
REST:
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra END;
  bar.sync 0;
  sub.u32 %r7, %r7, 1;
  bra REST;
END:
  st.global.u32 [%rd2], %r5;
)";
  ExpectForm(Explained(fmt::format(kUnrolled, "%r5", "")), KernelForm::kRegions, "");
  ExpectForm(Explained(fmt::format(kUnrolled, "%r5", "@%p1 bra REST;")), KernelForm::kSuspendable,
             "threads may part at a branch");
}

// Each barrier of a loop that was unrolled may be the next behind each: that is compiled as regions only if it is
// short.
TEST(Explain, UnrolledLoopsWhoseRoundsMayHaveNoBarrierAreRegionsIfShort) {
  const auto unrolled = [](int rounds) {
    std::string body = "mov.u32 %r7, %nctaid.x; ld.global.u32 %r5, [%rd1];";
    for (int i = 0; i < rounds; ++i) {
      body += fmt::format(
          "setp.eq.u32 %p1, %r7, {0}; @%p1 bra NEXT{0}; mul.lo.u32 %r5, %r5, %r7; add.u32 %r5, %r5, {0};"
          "st.global.u32 [%rd2], %r5; bar.sync 0; NEXT{0}:",
          i);
    }
    return body + "st.global.u32 [%rd2], %r5;";
  };
  ExpectForm(Explained(unrolled(8)), KernelForm::kRegions, "");
  ExpectForm(Explained(unrolled(80)), KernelForm::kSuspendable, "most of them several times");
}

TEST(Explain, NarrowBlocksHaveNoLanes) {
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;", {3, 64, 1}), KernelForm::kOneByOne,
             "less than 4 threads wide");
}

TEST(Explain, SuspendableThreadsHaveAReason) {
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; bar.sync 1, 64;"), KernelForm::kSuspendable,
             "a barrier is for 64 of 256 threads");
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; bar.sync %r5;"), KernelForm::kSuspendable, "is not constant");
  ExpectForm(Explained("bar.arrive 1, 64;"), KernelForm::kSuspendable, "arrive at a barrier without waiting");
  ExpectForm(Explained("ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra A; bar.sync 0; bra B; A: bar.sync "
                       "0; B: st.global.u32 [%rd2], %r5;"),
             KernelForm::kSuspendable, "threads may part at a branch");
  ExpectForm(Explained("W: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W;"),
             KernelForm::kSuspendable, "wait for each other in a loop");
}

TEST(Explain, FailsAsCompileDoes) {
  const auto module = ptx::Parse(ElementKernel("", 4, 4));
  EXPECT_EQ(Explain(**module, "other", {256, 1, 1}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CudaErrorOf(Explained("bar.sync 0; wmma.something.sync %r1;").status()), CudaError::kUnsupportedPtx);
}

}  // namespace
}  // namespace wharf::device::soft::testing
