// Kernels that begin with a check of bounds: exactly the threads that pass it run, wherever the index wraps.
#include <gtest/gtest.h>

#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

constexpr uint32_t kExtents[] = {4, 15, 16, 17, 32, 100, 256, 1024};
constexpr uint32_t kUntouched = 0xabcdef;

enum class Width { kPlain, kSigned64, kUnsigned64 };  // how the index is extended before it is compared

// The check of one kernel: `index OP bound` with index = base + stride * tid.x.
struct Check {
  std::string op;  // "lt", "le", "gt", "ge"
  bool is_signed = false;
  int stride = 1;
  Width width = Width::kPlain;
  bool pass = true;  // the threads for which it is true go on, or those for which it is false

  std::string Name() const {
    return fmt::format("{}.{}32 stride {} width {} pass {}", op, is_signed ? 's' : 'u', stride, static_cast<int>(width),
                       pass);
  }

  bool Holds(uint32_t index, uint32_t bound) const {
    if (is_signed) return Compare(static_cast<int64_t>(static_cast<int32_t>(index)), static_cast<int32_t>(bound));
    return Compare(static_cast<int64_t>(index), static_cast<int64_t>(bound));
  }

  std::string Ptx() const {
    const char sign = is_signed ? 's' : 'u';
    std::string compare = fmt::format("  setp.{}.{}32 %p1, %r6, %r2;\n", op, sign);
    if (width != Width::kPlain) {
      // Index and bound alike: a comparison that an extension may not be moved out of.
      compare = fmt::format("  cvt.{0}64.{0}32 %rd2, %r6;\n  cvt.{0}64.{0}32 %rd3, %r2;\n", sign) +
                fmt::format("  setp.{}.{}64 %p1, %rd2, %rd3;\n", op, width == Width::kSigned64 ? 's' : 'u');
    }
    return fmt::format(R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 base, .param .u32 bound)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [base];
  ld.param.u32 %r2, [bound];
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r6, %r3, {}, %r1;
{}  @{}%p1 bra DONE;
  mul.wide.u32 %rd4, %r3, 4;
  add.u64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r6;
DONE:
  ret;
}}
)",
                       stride, compare, pass ? "!" : "");
  }

 private:
  bool Compare(int64_t a, int64_t b) const {
    if (width == Width::kUnsigned64) return Ordered(static_cast<uint64_t>(a), static_cast<uint64_t>(b));
    return Ordered(a, b);
  }
  template <typename T>
  bool Ordered(T a, T b) const {
    if (op == "lt") return a < b;
    if (op == "le") return a <= b;
    return op == "gt" ? a > b : a >= b;
  }
};

// Bases and bounds where something happens: around zero, both ends of signed and of unsigned numbers, and between.
std::vector<uint32_t> Corners() {
  std::vector<uint32_t> corners;
  for (uint32_t centre : {0U, 0x80000000U, 1000U}) {
    for (int distance : {-1100, -33, -16, -1, 0, 1, 15, 16, 40, 700}) {
      corners.push_back(centre + static_cast<uint32_t>(distance));
    }
  }
  return corners;
}

class InteriorTest : public ::testing::TestWithParam<std::tuple<const char*, bool, bool>> {
 protected:
  void ExpectRight(const Check& check, uint32_t extent, uint32_t base, uint32_t bound) {
    std::fill(out_, out_ + extent, kUntouched);
    ASSERT_EQ(runner_.Run(ptx_, "k", {1}, {extent}, Parameters().Add(out_).Add(base).Add(bound)), absl::OkStatus());
    for (uint32_t i = 0; i < extent; ++i) {
      const uint32_t index = base + static_cast<uint32_t>(check.stride) * i;
      const uint32_t expected = check.Holds(index, bound) == check.pass ? index : kUntouched;
      ASSERT_EQ(out_[i], expected) << check.Name() << ": " << extent << " threads from " << base << ", bound " << bound;
    }
  }
  void ExpectRight(const Check& check) {
    ptx_ = check.Ptx();
    const std::vector<uint32_t> corners = Corners();
    for (size_t i = 0; i < corners.size() * corners.size(); ++i) {
      ExpectRight(check, kExtents[i % std::size(kExtents)], corners[i / corners.size()], corners[i % corners.size()]);
    }
  }

  KernelRunner runner_;
  uint32_t* const out_ = runner_.Allocate<uint32_t>(1024);
  std::string ptx_;
};

TEST_P(InteriorTest, ThreadsThatPassRunAndNoOthers) {
  const auto [op, is_signed, pass] = GetParam();
  for (int stride : {1, 3, -1}) {
    ExpectRight({op, is_signed, stride, Width::kPlain, pass});
  }
  ExpectRight({op, is_signed, 1, Width::kSigned64, pass});
  ExpectRight({op, is_signed, 1, Width::kUnsigned64, pass});
}

// 1023 strides are a little more than 2^32, or less: from the first thread to the last the index goes once around, and
// ends near where it began.
TEST_P(InteriorTest, IndicesThatGoAroundWithinARow) {
  const auto [op, is_signed, pass] = GetParam();
  for (const int stride : {4'198'405, 4'198'404, -4'198'405, 8'396'809}) {
    const Check check{op, is_signed, stride, Width::kPlain, pass};
    ptx_ = check.Ptx();
    for (const uint32_t base : {0U, 5000U, 0x80000000U, 0xfffff000U}) {
      for (const int distance : {-1, 0, 1, 2000, -2000})
        ExpectRight(check, 1024, base, base + static_cast<uint32_t>(distance));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checks, InteriorTest,
                         ::testing::Combine(::testing::Values("lt", "le", "gt", "ge"), ::testing::Bool(),
                                            ::testing::Bool()));

// Conditions that are the same in a group of lanes, or grow in it, but not in a row: its first and its last thread
// pass, and others between them do not.
TEST(Interior, ChecksThatGroupsBetweenFail) {
  struct Case {
    const char* ptx;  // sets %p3 where a thread does nothing
    uint32_t extent;
    bool (*passes)(uint32_t x, uint32_t bound);
  };
  const Case cases[] = {
      {"and.b32 %r4, %r3, 16; setp.ne.u32 %p1, %r4, 0; setp.ge.u32 %p2, %r3, %r2; or.pred %p3, %p1, %p2;", 48,
       [](uint32_t x, uint32_t bound) { return (x & 16) == 0 && x < bound; }},
      {"shr.u32 %r4, %r3, 5; and.b32 %r4, %r4, 1; setp.eq.u32 %p1, %r4, 1; setp.ge.u32 %p2, %r3, %r2; "
       "or.pred %p3, %p1, %p2;",
       160, [](uint32_t x, uint32_t bound) { return (x >> 5 & 1) == 0 && x < bound; }},
      {"and.b32 %r4, %r3, 47; setp.ge.u32 %p3, %r4, %r2;", 80,
       [](uint32_t x, uint32_t bound) { return (x & 47) < bound; }}};
  KernelRunner runner;
  auto* const out = runner.Allocate<uint32_t>(160);
  for (const Case& check : cases) {
    const std::string ptx = fmt::format(R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 bound)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r2, [bound];
  mov.u32 %r3, %tid.x;
  {}
  @%p3 bra DONE;
  mul.wide.u32 %rd4, %r3, 4;
  add.u64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r3;
DONE:
  ret;
}}
)",
                                        check.ptx);
    for (const uint32_t bound : {20U, 1000U}) {
      std::fill(out, out + check.extent, kUntouched);
      ASSERT_EQ(runner.Run(ptx, "k", {1}, {check.extent}, Parameters().Add(out).Add(bound)), absl::OkStatus());
      for (uint32_t x = 0; x < check.extent; ++x) {
        ASSERT_EQ(out[x], check.passes(x, bound) ? x : kUntouched) << check.ptx << " at " << x << ", bound " << bound;
      }
    }
  }
}

// if (x >= width || y >= height) return, over a grid that is larger than the image.
TEST(Interior, ImageInTwoDimensions) {
  const char* ptx = R"(.version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 width, .param .u32 height)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [width];
  ld.param.u32 %r2, [height];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  mov.u32 %r3, %ctaid.y;
  mov.u32 %r4, %ntid.y;
  mov.u32 %r5, %tid.y;
  mad.lo.s32 %r7, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r6, %r1;
  setp.ge.s32 %p2, %r7, %r2;
  or.pred %p3, %p1, %p2;
  @%p3 bra DONE;
  mad.lo.s32 %r8, %r7, %r1, %r6;
  mul.wide.s32 %rd2, %r8, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r9, [%rd3];
  add.u32 %r9, %r9, %r8;
  st.global.u32 [%rd3], %r9;
DONE:
  ret;
}
)";
  KernelRunner runner;
  for (uint32_t width : {1U, 16U, 31U, 32U, 33U, 100U}) {
    for (uint32_t height : {1U, 5U, 8U}) {
      auto* out = runner.Upload(std::vector<uint32_t>(width * height + 64, 1));
      const Dim3 grid{(width + 31) / 32, (height + 3) / 4};
      const Parameters parameters = Parameters().Add(out).Add(width).Add(height);
      ASSERT_EQ(runner.Run(ptx, "k", grid, {32, 4}, parameters), absl::OkStatus());
      for (uint32_t i = 0; i < width * height + 64; ++i) {
        ASSERT_EQ(out[i], i < width * height ? 1 + i : 1) << width << " × " << height << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::testing
