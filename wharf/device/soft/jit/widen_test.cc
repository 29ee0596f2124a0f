// Kernels whose threads take different ways, in the lanes of vectors: each against the same computation in C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

std::vector<uint32_t> Random(size_t count, uint32_t below) {
  std::mt19937 generator(7);
  std::vector<uint32_t> values(count);
  for (uint32_t& v : values) v = generator() % below;
  return values;
}

template <typename Reference>
void ExpectSame(const std::string& body, const std::vector<uint32_t>& in, const Reference& reference) {
  KernelRunner runner;
  auto out =
      MapElements<uint32_t>(runner, "  ld.global.u32 %r5, [%rd1];\n" + body + "  st.global.u32 [%rd2], %r9;\n", in);
  ASSERT_EQ(runner.kernel()->mode, ExecutionMode::kLoop);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], reference(in[i])) << "x = " << in[i] << " at " << i;
}

TEST(Widen, LoopsOfDifferentLength) {
  const char* body = R"(
  mov.u32 %r9, 0;
  max.u32 %r6, %r5, 1;
L: setp.eq.u32 %p1, %r6, 1;
  @%p1 bra DONE;
  and.b32 %r7, %r6, 1;
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra EVEN;
  mad.lo.u32 %r6, %r6, 3, 1;
  bra NEXT;
EVEN:
  shr.u32 %r6, %r6, 1;
NEXT:
  add.u32 %r9, %r9, 1;
  bra L;
DONE:
)";
  ExpectSame(body, Random(1000, 5000), [](uint32_t x) {
    uint32_t steps = 0;
    for (x = std::max(x, 1U); x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    return steps;
  });
}

// LLVM 16 asks wrongly on AArch64 whether there is any thread left for which it holds.
TEST(Widen, ConditionsOfOneThreadAndOfAllMeet) {
  const char* body = R"(
  mov.u32 %r6, %nctaid.y;
  setp.eq.u32 %p1, %r6, 1;
  setp.gt.u32 %p2, %r5, 3;
  xor.pred %p3, %p1, %p2;
  mov.u32 %r9, 0;
  @!%p3 bra DONE;
  mov.u32 %r7, 0;
L: mad.lo.u32 %r9, %r9, 3, %r5;
  add.u32 %r7, %r7, 1;
  setp.le.u32 %p2, %r7, %r5;
  @%p2 bra L;
DONE:
)";
  ExpectSame(body, Random(1000, 8), [](uint32_t x) {
    uint32_t sum = 0;
    for (uint32_t i = 0; x <= 3 && i <= x; ++i) sum = sum * 3 + x;
    return sum;
  });
}

TEST(Widen, NestedLoopsWithTwoExits) {
  const char* body = R"(
  mov.u32 %r9, 0;
  mov.u32 %r6, 0;
OUTER:
  mov.u32 %r7, 0;
INNER:
  mad.lo.u32 %r8, %r6, %r7, %r5;
  and.b32 %r8, %r8, 31;
  setp.eq.u32 %p1, %r8, 13;
  @%p1 bra FOUND;
  add.u32 %r9, %r9, %r8;
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p2, %r7, %r6;
  @%p2 bra INNER;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, 20;
  @%p3 bra OUTER;
  bra END;
FOUND:
  mad.lo.u32 %r9, %r6, 1000, %r7;
  or.b32 %r9, %r9, 0x80000000;
END:
)";
  ExpectSame(body, Random(500, 1 << 20), [](uint32_t x) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 20; ++i) {
      uint32_t j = 0;
      do {
        const uint32_t v = (i * j + x) & 31;
        if (v == 13) return (i * 1000 + j) | 0x80000000;
        sum += v;
      } while (++j < i);
    }
    return sum;
  });
}

TEST(Widen, ValuesOfLoopsAfterThem) {
  const char* body = R"(
  mov.u32 %r6, 1;
  mov.u32 %r9, 0;
  and.b32 %r8, %r5, 15;
L: add.u32 %r9, %r9, %r6;
  mul.lo.u32 %r6, %r6, 5;
  sub.u32 %r8, %r8, 1;
  setp.ge.s32 %p1, %r8, 0;
  @%p1 bra L;
  xor.b32 %r9, %r9, %r6;
)";
  ExpectSame(body, Random(300, 1000), [](uint32_t x) {
    uint32_t factor = 1, sum = 0;
    for (auto left = static_cast<int32_t>(x & 15); left >= 0; --left) sum += factor, factor *= 5;
    return sum ^ factor;
  });
}

// Threads that are not in a branch must not divide by their zeros.
TEST(Widen, DivisionInBranch) {
  const char* body = R"(
  and.b32 %r6, %r5, 7;
  mov.u32 %r9, 77;
  setp.eq.u32 %p1, %r6, 0;
  @%p1 bra SKIP;
  div.u32 %r9, %r5, %r6;
  rem.s32 %r7, %r5, %r6;
  add.u32 %r9, %r9, %r7;
SKIP:
)";
  ExpectSame(body, Random(300, 1000), [](uint32_t x) {
    const uint32_t d = x & 7;
    return d == 0 ? 77 : x / d + x % d;
  });
}

TEST(Widen, ThreadsThatReturnEarly) {
  const char* body = R"(
  setp.gt.u32 %p1, %r5, 500;
  @%p1 ret;
  add.u32 %r9, %r5, 1;
)";
  ExpectSame(body, Random(300, 1000), [](uint32_t x) { return x > 500 ? 0 : x + 1; });
}

// in[i - 1] with unsigned 32-bit indices: the first thread's index wraps, but that thread does not read.
TEST(Widen, IndexThatWrapsBetweenLanes) {
  KernelRunner runner;
  const std::string body = R"(
  ld.param.u64 %rd4, [in];
  mov.u32 %r9, 5;
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra FIRST;
  sub.u32 %r6, %r4, 1;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd6, %rd4, %rd5;
  ld.global.u32 %r9, [%rd6];
FIRST:
  st.global.u32 [%rd2], %r9;
)";
  const auto in = Random(200, 1000);
  auto out = MapElements<uint32_t>(runner, body, in);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], i == 0 ? 5 : in[i - 1]);
}

// Every block extent, also those that leave lanes empty, and two dimensions.
TEST(Widen, BlocksOfAnyExtent) {
  const char* ptx = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 width)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [width];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ntid.x;
  mad.lo.u32 %r6, %r4, %r5, %r2;
  mad.lo.u32 %r7, %r3, %r1, %r6;
  mov.u32 %r8, 0;
  mov.u32 %r9, 0;
L: add.u32 %r8, %r8, %r9;
  add.u32 %r9, %r9, 1;
  setp.le.u32 %p1, %r9, %r6;
  @%p1 bra L;
  mul.wide.u32 %rd2, %r7, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r8;
  ret;
}
)";
  for (uint32_t extent : {1U, 2U, 3U, 4U, 5U, 15U, 16U, 17U, 31U, 33U, 48U, 100U}) {
    KernelRunner runner;
    const uint32_t width = extent * 3;
    auto* out = runner.Allocate<uint32_t>(width * 4 + 1);
    out[width * 4] = 99;
    // Code for any blocks, and for such as these.
    for (const Dim3& block : {Dim3{0, 0, 0}, Dim3{extent, 4, 1}}) {
      std::fill_n(out, width * 4, 0);
      const Parameters parameters = Parameters().Add(out).Add(width);
      ASSERT_EQ(block.x == 0 ? runner.Run(ptx, "k", {3}, {extent, 4}, parameters)
                             : runner.RunByShape(ptx, "k", {3}, block, parameters),
                absl::OkStatus());
      EXPECT_EQ(runner.kernel()->wide, block.x == 0 || extent >= kLeastWideExtent) << extent;
      for (uint32_t i = 0; i < width * 4; ++i) {
        const uint32_t x = i % width;
        ASSERT_EQ(out[i], x * (x + 1) / 2) << extent << " " << i;
      }
      ASSERT_EQ(out[width * 4], 99U);
    }
  }
}

TEST(Widen, StridedAndReversedAccess) {
  KernelRunner runner;
  const std::string body = R"(
  ld.param.u64 %rd4, [in];
  not.b32 %r6, %r4;
  add.u32 %r6, %r6, 64;        // 63 - i
  mul.wide.s32 %rd5, %r6, 4;
  add.u64 %rd6, %rd4, %rd5;
  ld.global.u32 %r7, [%rd6];
  and.b32 %r8, %r4, 31;
  shl.b32 %r8, %r8, 1;
  mul.wide.s32 %rd5, %r8, 4;
  add.u64 %rd6, %rd4, %rd5;
  ld.global.v2.u32 {%r10, %r11}, [%rd6];
  mad.lo.u32 %r9, %r7, 3, %r10;
  mad.lo.u32 %r9, %r11, 7, %r9;
  st.global.u32 [%rd2], %r9;
)";
  const auto in = Random(64, 1000);
  auto out = MapElements<uint32_t>(runner, body, in);
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(out[i], in[63 - i] * 3 + in[(i & 31) * 2] + in[(i & 31) * 2 + 1] * 7);
  }
}

// What neighbouring threads load as vectors is one piece, if all of them do.
TEST(Widen, VectorsOfEachThread) {
  const std::string text = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 odd)
{
  .reg .b32 %r<20>; .reg .b64 %rd<16>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [odd];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 32; add.u64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd3, %r2, 8; add.u64 %rd2, %rd2, %rd3;
  and.b32 %r3, %r2, %r1; setp.ne.u32 %p1, %r3, 0;
  @%p1 bra END;
  ld.global.v4.u64 {%rd4, %rd5, %rd6, %rd7}, [%rd1];
  // One element is written before it is read again.
  ld.global.v2.u32 {%r5, %r6}, [%rd2];
  st.global.u32 [%rd2+4], %r2;
  ld.global.u32 %r7, [%rd2+4];
  mad.lo.u64 %rd8, %rd5, 3, %rd4; mad.lo.u64 %rd8, %rd6, 5, %rd8; mad.lo.u64 %rd8, %rd7, 7, %rd8;
  cvt.u32.u64 %r8, %rd8; xor.b32 %r8, %r8, %r6;
  st.global.v2.u32 [%rd2], {%r8, %r7};
END:
  MEET
  ret;
}
)";
  for (const std::string meet : {"", "bar.sync 0;"}) {
    std::string ptx = text;
    ptx.replace(ptx.find("MEET"), 4, meet);
    for (const uint32_t extent : {5U, 16U, 17U, 32U, 64U, 100U}) {
      for (const uint32_t odd : {0U, 1U}) {
        KernelRunner runner;
        std::vector<uint64_t> in(extent * size_t{4});
        for (size_t i = 0; i < in.size(); ++i) in[i] = i * i + 1;
        std::vector<uint32_t> out(extent * size_t{2});
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint32_t>(1000 + i);
        auto* result = runner.Upload(out);
        const Parameters parameters = Parameters().Add(runner.Upload(in)).Add(result).Add(odd);
        ASSERT_EQ(runner.RunByShape(ptx, "k", {1}, {extent}, parameters), absl::OkStatus());
        ASSERT_EQ(runner.kernel()->mode, ExecutionMode::kLoop);
        for (uint32_t i = 0; i < extent; ++i) {
          const bool left_out = (i & odd) != 0;
          const uint64_t* v = &in[size_t{4} * i];
          const auto sum = static_cast<uint32_t>(v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3]);
          ASSERT_EQ(result[2 * i], left_out ? out[2 * i] : sum ^ out[2 * i + 1]) << extent << " " << odd << " " << i;
          ASSERT_EQ(result[2 * i + 1], left_out ? out[2 * i + 1] : i) << extent << " " << odd << " " << i;
        }
      }
    }
  }
}

// Every thread of a block may write the same value to the same place.
TEST(Widen, StoresToOnePlace) {
  KernelRunner runner;
  const std::string body = R"(
  ld.global.u32 %r5, [%rd1];
  setp.ne.u32 %p1, %r5, 42;
  @%p1 bra SKIP;
  st.global.u32 [found], %r4;
SKIP:
  st.global.u32 [seen], 1;
)";
  std::vector<uint32_t> in(100, 0);
  in[57] = 42;
  MapElements<uint32_t>(runner, body, in, ".global .u32 found; .global .u32 seen;");
  EXPECT_EQ(*static_cast<uint32_t*>(runner.Variable("found")), 57U);
  EXPECT_EQ(*static_cast<uint32_t*>(runner.Variable("seen")), 1U);
}

// Lane t takes from lane t ^ 31 what that one has just put down, with no barrier between.
TEST(Widen, LanesOfAWarpGoInStep) {
  const std::string text = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<3>;
  .shared .align 4 .b8 words[4096];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
  mov.u32 %r4, words; shl.b32 %r5, %r1, 2; add.u32 %r5, %r5, %r4;
  xor.b32 %r6, %r1, 31; shl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r4;
  st.volatile.shared.u32 [%r5], 5;
  MEET
  mul.lo.u32 %r8, %r1, 3;
  st.volatile.shared.u32 [%r5], %r8;
  ld.volatile.shared.u32 %r9, [%r7];
  st.volatile.shared.u32 [%r5], 7;
  ld.volatile.shared.u32 %r10, [%r7];
  mad.lo.u32 %r9, %r10, 4096, %r9;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r9;
  ret;
}
)";
  for (const std::string meet : {"", "bar.sync 0;"}) {
    std::string ptx = text;
    ptx.replace(ptx.find("MEET"), 4, meet);
    for (const Dim3& block : {Dim3{32, 1, 1}, Dim3{96, 1, 1}, Dim3{17, 1, 1}, Dim3{50, 1, 1}, Dim3{32, 3, 1},
                              Dim3{16, 16, 1}, Dim3{8, 5, 1}}) {
      if (meet.empty() && block.y > 1 && block.x % 32 != 0) continue;  // is compiled for blocks of any shape
      KernelRunner runner;
      const auto count = static_cast<uint32_t>(block.Count());
      auto* out = runner.Allocate<uint32_t>(count);
      ASSERT_EQ(runner.RunByShape(ptx, "k", {2}, block, Parameters().Add(out)), absl::OkStatus());
      ASSERT_EQ(runner.kernel()->mode, ExecutionMode::kLoop);
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t other = i ^ 31;
        // Where there is no such thread, nobody has put anything down.
        ASSERT_EQ(out[i], other < count ? 7 * 4096 + 3 * other : 0) << meet << block.x << " " << block.y << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::testing
