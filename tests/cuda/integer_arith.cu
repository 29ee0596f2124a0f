// Integer arithmetic of every width, against the same C++ compiled for the host or its definition in 128 bits.
#include "tests/cuda/harness.h"

using u8 = uint8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;
using s128 = __int128;
using u128 = unsigned __int128;

ELEMENTWISE(add_u32, u32, u32, a + b * 3, a + b * 3)
ELEMENTWISE(sub_s32, s32, s32, s32(u32(a) - u32(b)), s32(u32(a) - u32(b)))
ELEMENTWISE(add_u64, u64, u64, a + b - c, a + b - c)
ELEMENTWISE(mul_u32, u32, u32, a* b, a* b)
ELEMENTWISE(mul_u64, u64, u64, a* b + c, a* b + c)
ELEMENTWISE(add_u8, u8, u8, u8(a + b), u8(a + b))
ELEMENTWISE(mul_s16, s16, s16, s16(a* b), s16(a* b))
ELEMENTWISE(mul_u16_wide, u32, u16, u32(a) * u32(b) + c, u32(a) * u32(b) + c)
ELEMENTWISE(neg_abs_s32, s32, s32, abs(a == INT32_MIN ? 0 : a) - (b == INT32_MIN ? 0 : -b % 1000),
            std::abs(a == INT32_MIN ? 0 : a) - (b == INT32_MIN ? 0 : -b % 1000))
ELEMENTWISE(min_max_s32, s32, s32, max(min(a, b), c), std::max(std::min(a, b), c))
ELEMENTWISE(min_max_u32, u32, u32, max(min(a, b), c), std::max(std::min(a, b), c))
ELEMENTWISE(min_max_s64, s64, s64, max(min(a, b), c), std::max(std::min(a, b), c))
ELEMENTWISE(min_max_u64, u64, u64, max(min(a, b), c), std::max(std::min(a, b), c))
ELEMENTWISE(min_max_s16, s16, s16, s16(max(min(a, b), c)), std::max(std::min(a, b), c))

ELEMENTWISE(div_s32, s32, s32, b == 0 || (a == INT32_MIN && b == -1) ? 0 : a / b,
            b == 0 || (a == INT32_MIN && b == -1) ? 0 : a / b)
ELEMENTWISE(rem_s32, s32, s32, b == 0 || b == -1 ? 0 : a % b, b == 0 || b == -1 ? 0 : a % b)
ELEMENTWISE(div_u32, u32, u32, b ? a / b : ~0u, b ? a / b : ~0u)
ELEMENTWISE(rem_u64, u64, u64, b ? a % b : 7, b ? a % b : 7)
ELEMENTWISE(div_s64, s64, s64, b == 0 || b == -1 ? 0 : a / b, b == 0 || b == -1 ? 0 : a / b)
ELEMENTWISE(div_by_constants, u32, u32, a / 7 + a / 641 + a % 10 + a / 3, a / 7 + a / 641 + a % 10 + a / 3)
ELEMENTWISE(div_s64_by_constant, s64, s64, a / 1000003 + b % 97, a / 1000003 + b % 97)

ELEMENTWISE(mulhi_s32, s32, s32, __mulhi(a, b), s32((s64(a) * b) >> 32))
ELEMENTWISE(mulhi_u32, u32, u32, __umulhi(a, b), u32((u64(a) * b) >> 32))
ELEMENTWISE(mulhi_s64, s64, s64, __mul64hi(a, b), s64((s128(a) * b) >> 64))
ELEMENTWISE(mulhi_u64, u64, u64, __umul64hi(a, b), u64((u128(a) * b) >> 64))
ELEMENTWISE(mul_wide_s32, s64, s32, s64(a) * s64(b) + c, s64(a) * s64(b) + c)

static s32 Low24(s32 x) { return s32(u32(x) << 8) >> 8; }
ELEMENTWISE(mul24_s32, s32, s32, __mul24(a, b), s32(u32(s64(Low24(a)) * Low24(b))))
ELEMENTWISE(mul24_u32, u32, u32, __umul24(a, b), u32(u64(a & 0xFFFFFF) * (b & 0xFFFFFF)))

__device__ s32 Mad24Lo(s32 a, s32 b, s32 c) {
  s32 d;
  asm("mad24.lo.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ u32 Mad24HiU(u32 a, u32 b, u32 c) {
  u32 d;
  asm("mad24.hi.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
ELEMENTWISE(mad24_lo, s32, s32, Mad24Lo(a, b, c), s32(u32(s64(Low24(a)) * Low24(b)) + u32(c)))
ELEMENTWISE(mad24_hi, u32, u32, Mad24HiU(a, b, c), u32((u64(a & 0xFFFFFF) * (b & 0xFFFFFF)) >> 16) + c)

__device__ s32 MadHi(s32 a, s32 b, s32 c) {
  s32 d;
  asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ s32 MadHiSat(s32 a, s32 b, s32 c) {
  s32 d;
  asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ u64 MadWide(u32 a, u32 b, u64 c) {
  u64 d;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(d) : "r"(a), "r"(b), "l"(c));
  return d;
}
__device__ s32 AddSat(s32 a, s32 b) {
  s32 d;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ s32 SubSat(s32 a, s32 b) {
  s32 d;
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
static s32 Saturate(s64 x) { return s32(std::min<s64>(INT32_MAX, std::max<s64>(INT32_MIN, x))); }
ELEMENTWISE(mad_hi, s32, s32, MadHi(a, b, c), s32(u32((s64(a) * b) >> 32) + u32(c)))
ELEMENTWISE(mad_hi_sat, s32, s32, MadHiSat(a, b, c), Saturate(((s64(a) * b) >> 32) + c))
ELEMENTWISE(mad_wide, u64, u32, MadWide(a, b, u64(c) << 20), u64(a) * b + (u64(c) << 20))
ELEMENTWISE(add_sat, s32, s32, AddSat(a, b), Saturate(s64(a) + b))
ELEMENTWISE(sub_sat, s32, s32, SubSat(a, b), Saturate(s64(a) - b))

__device__ u32 Sad(s32 a, s32 b, u32 c) {
  u32 d;
  asm("sad.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
ELEMENTWISE(sad_s32, u32, s32, Sad(a, b, u32(c)), u32(a < b ? s64(b) - a : s64(a) - b) + u32(c))
ELEMENTWISE(usad_u32, u32, u32, __usad(a, b, c), (a < b ? b - a : a - b) + c)
ELEMENTWISE(averages, s32, s32, __hadd(a, b) ^ __rhadd(b, c), s32((s64(a) + b) >> 1) ^ s32((s64(b) + c + 1) >> 1))
ELEMENTWISE(averages_u, u32, u32, __uhadd(a, b) ^ __urhadd(b, c), u32((u64(a) + b) >> 1) ^ u32((u64(b) + c + 1) >> 1))

// 128 bits by hand.
__device__ u32 Add96(u32 a, u32 b, u32 c) {
  u32 lo, mid, hi;
  asm("add.cc.u32 %0, %3, %4;\n\taddc.cc.u32 %1, %4, %5;\n\taddc.u32 %2, %5, %3;"
      : "=r"(lo), "=r"(mid), "=r"(hi)
      : "r"(a), "r"(b), "r"(c));
  return lo ^ (mid << 1) ^ (hi << 2);
}
__device__ u32 Sub96(u32 a, u32 b, u32 c) {
  u32 lo, mid, hi;
  asm("sub.cc.u32 %0, %3, %4;\n\tsubc.cc.u32 %1, %4, %5;\n\tsubc.u32 %2, %5, %3;"
      : "=r"(lo), "=r"(mid), "=r"(hi)
      : "r"(a), "r"(b), "r"(c));
  return lo ^ (mid << 1) ^ (hi << 2);
}
static u32 Fold(u128 x) { return u32(x) ^ (u32(x >> 32) << 1) ^ (u32(x >> 64) << 2); }
ELEMENTWISE(add_with_carry, u32, u32, Add96(a, b, c),
            Fold(((u128(c) << 64) | (u128(b) << 32) | a) + ((u128(a) << 64) | (u128(c) << 32) | b)))
ELEMENTWISE(sub_with_borrow, u32, u32, Sub96(a, b, c),
            Fold(((u128(c) << 64) | (u128(b) << 32) | a) - ((u128(a) << 64) | (u128(c) << 32) | b)))
__device__ u64 Square64(u32 a, u32 b) {
  u32 r0, r1;
  asm("mul.lo.u32 %0, %2, %3;\n\tmad.lo.cc.u32 %0, %2, %2, %0;\n\tmadc.hi.u32 %1, %2, %3, %3;"
      : "=&r"(r0), "=&r"(r1)
      : "r"(a), "r"(b));
  return (u64(r1) << 32) | r0;
}
static u64 Square64Host(u32 a, u32 b) {
  const u64 low = u64(u32(a * a)) + u32(a * b);
  return (u64(u32((u64(a) * b) >> 32) + b + u32(low >> 32)) << 32) | u32(low);
}
ELEMENTWISE(mad_with_carry, u64, u32, Square64(a, b), Square64Host(a, b))
ELEMENTWISE(int128_arithmetic, u64, u64, u64((u128(a) * b + c) >> 37) ^ u64(u128(a) - (u128(b) << 5)),
            u64((u128(a) * b + c) >> 37) ^ u64(u128(a) - (u128(b) << 5)))
ELEMENTWISE(int128_divide, u64, u64, u64(((u128(a) << 31) | b) / ((u128(c) << 7) | 1)),
            u64(((u128(a) << 31) | b) / ((u128(c) << 7) | 1)))

__device__ u64 MadHiCarry(u32 a, u32 b, u32 c) {
  u32 low, high;
  asm("mad.hi.cc.u32 %0, %2, %3, %4;\n\taddc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(a), "r"(b), "r"(c));
  return (u64(high) << 32) | low;
}
ELEMENTWISE(mad_hi_with_carry, u64, u32, MadHiCarry(a, b, c), ((u64(a) * b) >> 32) + c)
// A subtraction leaves the carry of a + ~b + 1: the opposite of a borrow.
__device__ u32 CarryOfSub(u32 a, u32 b) {
  u32 difference, carry;
  asm("sub.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=r"(difference), "=r"(carry) : "r"(a), "r"(b));
  return difference * 2 + carry;
}
ELEMENTWISE(carry_of_sub, u32, u32, CarryOfSub(a, b), (a - b) * 2 + (a >= b))
ELEMENTWISE(int128_remainder, u64, u64, u64((u128(a) << 31 | b) % (u128(c) | 1)),
            u64((u128(a) << 31 | b) % (u128(c) | 1)))

// Shifts by more than the width: PTX clamps.
__device__ u32 ShlPtx(u32 a, u32 n) {
  u32 d;
  asm("shl.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(n));
  return d;
}
__device__ s32 ShrSPtx(s32 a, u32 n) {
  s32 d;
  asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(n));
  return d;
}
__device__ u64 ShrU64Ptx(u64 a, u32 n) {
  u64 d;
  asm("shr.u64 %0, %1, %2;" : "=l"(d) : "l"(a), "r"(n));
  return d;
}
ELEMENTWISE(shl_clamps, u32, u32, ShlPtx(a, b), b > 31 ? 0 : a << b)
ELEMENTWISE(shr_s32_clamps, s32, s32, ShrSPtx(a, u32(b)), a >> (u32(b) > 31 ? 31 : b))
ELEMENTWISE(shr_u64_clamps, u64, u64, ShrU64Ptx(a, u32(b)), u32(b) > 63 ? 0 : a >> u32(b))
ELEMENTWISE(shifts_s64, s64, s64, (a >> (b & 63)) ^ s64(u64(c) << (b & 31)), (a >> (b & 63)) ^ s64(u64(c) << (b & 31)))

static s32 Dot4(u32 a, u32 b, bool a_signed, bool b_signed) {
  s32 sum = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 x = a >> (8 * i) & 255, y = b >> (8 * i) & 255;
    sum += (a_signed ? s32(int8_t(x)) : s32(x)) * (b_signed ? s32(int8_t(y)) : s32(y));
  }
  return sum;
}
__device__ s32 Dp4aMixed(u32 a, s32 b, s32 c) {
  s32 d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
ELEMENTWISE(dp4a_s32, s32, s32, __dp4a(a, b, c), s32(u32(Dot4(u32(a), u32(b), true, true)) + u32(c)))
ELEMENTWISE(dp4a_u32, u32, u32, __dp4a(a, b, c), u32(Dot4(a, b, false, false)) + c)
ELEMENTWISE(dp4a_mixed, s32, s32, Dp4aMixed(u32(a), b, c), s32(u32(Dot4(u32(a), u32(b), false, true)) + u32(c)))
static s32 Dot2(s32 a, s32 b, int first) {
  return s16(a) * int8_t(b >> (8 * first)) + (a >> 16) * int8_t(b >> (8 * first + 8));
}
ELEMENTWISE(dp2a_lo, s32, s32, __dp2a_lo(a, b, c), s32(u32(Dot2(a, b, 0)) + u32(c)))
ELEMENTWISE(dp2a_hi, s32, s32, __dp2a_hi(a, b, c), s32(u32(Dot2(a, b, 2)) + u32(c)))

static u32 Bytes(u32 a, u32 b, int (*f)(int, int)) {
  u32 out = 0;
  for (int i = 0; i < 32; i += 8) out |= u32(f(int(a >> i & 255), int(b >> i & 255)) & 255) << i;
  return out;
}
ELEMENTWISE(simd_add4, u32, u32, __vadd4(a, b), Bytes(a, b, [](int x, int y) { return x + y; }))
ELEMENTWISE(simd_add4_sat, u32, u32, __vaddus4(a, b), Bytes(a, b, [](int x, int y) { return std::min(255, x + y); }))
ELEMENTWISE(simd_compare4, u32, u32, __vcmpgtu4(a, b), Bytes(a, b, [](int x, int y) { return x > y ? 255 : 0; }))
