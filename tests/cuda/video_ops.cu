// The scalar video instructions, which no intrinsic makes: programs have them as assembly.
#include <algorithm>

#include "tests/cuda/harness.h"

using u32 = uint32_t;
using s32 = int32_t;
using s64 = int64_t;

#define WITH_THREE(name, instruction)                           \
  __device__ u32 name(u32 a, u32 b) {                           \
    u32 d;                                                      \
    asm(instruction " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); \
    return d;                                                   \
  }
#define WITH_FOUR(name, instruction)                                        \
  __device__ u32 name(u32 a, u32 b, u32 c) {                                \
    u32 d;                                                                  \
    asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
    return d;                                                               \
  }
WITH_THREE(AddMixed, "vadd.s32.u32.s32.sat")
WITH_THREE(SubUnsigned, "vsub.u32.u32.u32.sat")
WITH_THREE(SubCut, "vsub.s32.s32.s32")
WITH_FOUR(DifferenceAdded, "vabsdiff.u32.s32.s32.add")
WITH_FOUR(LeastMost, "vmin.s32.s32.s32.max")
WITH_FOUR(MostLeast, "vmax.u32.u32.u32.min")
WITH_FOUR(ShiftAdd, "vshr.u32.u32.u32.clamp.add")
WITH_THREE(ShiftSigned, "vshr.s32.s32.u32.wrap")
WITH_THREE(ShiftLeft, "vshl.u32.u32.u32.clamp")
WITH_FOUR(ShiftLeftAdd, "vshl.u32.u32.u32.wrap.add")

static u32 Saturated(s64 value, s64 low, s64 high) { return u32(std::clamp(value, low, high)); }
static constexpr s64 kLow = INT32_MIN, kHigh = INT32_MAX, kMost = UINT32_MAX;

ELEMENTWISE(vadd_of_mixed_signs, u32, u32, AddMixed(a, b), Saturated(s64(a) + s32(b), kLow, kHigh))
ELEMENTWISE(vsub_unsigned, u32, u32, SubUnsigned(a, b), Saturated(s64(a) - s64(b), 0, kMost))
ELEMENTWISE(vsub_cut, u32, u32, SubCut(a, b), a - b)
ELEMENTWISE(vabsdiff_add, u32, u32, DifferenceAdded(a, b, c), u32(std::llabs(s64(s32(a)) - s32(b))) + c)
ELEMENTWISE(vmin_max, u32, u32, LeastMost(a, b, c), u32(std::max(std::min(s32(a), s32(b)), s32(c))))
ELEMENTWISE(vmax_min, u32, u32, MostLeast(a, b, c), std::min(std::max(a, b), c))
ELEMENTWISE(vshr_clamp_add, u32, u32, ShiftAdd(a, b % 40, c), (b % 40 > 31 ? 0 : a >> b % 40) + c)
ELEMENTWISE(vshr_wrap, u32, u32, ShiftSigned(a, b), u32(s32(a) >> (b & 31)))
ELEMENTWISE(vshl_clamp, u32, u32, ShiftLeft(a, b % 40), b % 40 > 31 ? 0 : a << b % 40)
ELEMENTWISE(vshl_wrap_add, u32, u32, ShiftLeftAdd(a, b, c), (a << (b & 31)) + c)
