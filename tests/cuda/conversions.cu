// cvt between all widths, with rounding and saturation.
#include <cfenv>

#include "tests/cuda/harness.h"

using u8 = uint8_t;
using s8 = int8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;

// PTX: float to integer clamps to the type's range; NaN gives 0, or the top bit alone if either side has 64 bits.
template <class To, class From>
static To Clamp(From rounded) {
  using L = std::numeric_limits<To>;
  if (std::isnan(rounded)) return sizeof(To) == 8 || sizeof(From) == 8 ? To(u64(1) << (8 * sizeof(To) - 1)) : To(0);
  if (rounded >= From(L::max())) return L::max();
  if (rounded <= From(L::min())) return L::min();
  return To(rounded);
}
template <class T>
static T Nearest(T x) {
  return std::nearbyint(x);
}

ELEMENTWISE(f32_to_s32_rn, s32, float, __float2int_rn(a), Clamp<s32>(Nearest(a)))
ELEMENTWISE(f32_to_s32_rz, s32, float, __float2int_rz(a), Clamp<s32>(std::trunc(a)))
ELEMENTWISE(f32_to_s32_ru, s32, float, __float2int_ru(a), Clamp<s32>(std::ceil(a)))
ELEMENTWISE(f32_to_s32_rd, s32, float, __float2int_rd(a), Clamp<s32>(std::floor(a)))
ELEMENTWISE(f32_to_u32_rn, u32, float, __float2uint_rn(a), Clamp<u32>(Nearest(a)))
ELEMENTWISE(f32_to_u32_rz, u32, float, __float2uint_rz(a), Clamp<u32>(std::trunc(a)))
ELEMENTWISE(f32_to_s64_rz, s64, float, __float2ll_rz(a), Clamp<s64>(std::trunc(a)))
ELEMENTWISE(f32_to_u64_rd, u64, float, __float2ull_rd(a), Clamp<u64>(std::floor(a)))
ELEMENTWISE(f64_to_s32_rn, s32, double, __double2int_rn(a), Clamp<s32>(Nearest(a)))
ELEMENTWISE(f64_to_u32_ru, u32, double, __double2uint_ru(a), Clamp<u32>(std::ceil(a)))
ELEMENTWISE(f64_to_s64_rn, s64, double, __double2ll_rn(a), Clamp<s64>(Nearest(a)))
ELEMENTWISE(f64_to_u64_rz, u64, double, __double2ull_rz(a), Clamp<u64>(std::trunc(a)))

template <class To, class From>
static To ConvertRounded(int mode, From from) {
  volatile From x = from;
  std::fesetround(mode);
  volatile To r = To(x);
  std::fesetround(FE_TONEAREST);
  return r;
}
ELEMENTWISE(s32_to_f32_rn, float, s32, __int2float_rn(a), ConvertRounded<float>(FE_TONEAREST, a))
ELEMENTWISE(s32_to_f32_rz, float, s32, __int2float_rz(a), ConvertRounded<float>(FE_TOWARDZERO, a))
ELEMENTWISE(s32_to_f32_ru, float, s32, __int2float_ru(a), ConvertRounded<float>(FE_UPWARD, a))
ELEMENTWISE(s32_to_f32_rd, float, s32, __int2float_rd(a), ConvertRounded<float>(FE_DOWNWARD, a))
ELEMENTWISE(u32_to_f32_rn, float, u32, __uint2float_rn(a), float(a))
ELEMENTWISE(u64_to_f32_rn, float, u64, __ull2float_rn(a), float(a))
ELEMENTWISE(s64_to_f32_rz, float, s64, __ll2float_rz(a), ConvertRounded<float>(FE_TOWARDZERO, a))
ELEMENTWISE(s64_to_f64_rn, double, s64, __ll2double_rn(a), double(a))
ELEMENTWISE(u64_to_f64_rn, double, u64, __ull2double_rn(a), double(a))
ELEMENTWISE(s64_to_f64_rd, double, s64, __ll2double_rd(a), ConvertRounded<double>(FE_DOWNWARD, a))
ELEMENTWISE(small_to_float, float, s16, float(a) + float(u8(b)) + float(s8(c)), float(a) + float(u8(b)) + float(s8(c)))

ELEMENTWISE(f64_to_f32_rn, float, double, __double2float_rn(a), ConvertRounded<float>(FE_TONEAREST, a))
ELEMENTWISE(f64_to_f32_rz, float, double, __double2float_rz(a), ConvertRounded<float>(FE_TOWARDZERO, a))
ELEMENTWISE(f64_to_f32_ru, float, double, __double2float_ru(a), ConvertRounded<float>(FE_UPWARD, a))
ELEMENTWISE(f64_to_f32_rd, float, double, __double2float_rd(a), ConvertRounded<float>(FE_DOWNWARD, a))
ELEMENTWISE(f32_to_f64, double, float, double(a) + 1e-9, double(a) + 1e-9)
ELEMENTWISE(bit_casts, u64, double, u64(__double_as_longlong(a)) ^ __float_as_uint(isnan(b) ? 0.0f : float(b)),
            __builtin_bit_cast(u64, a) ^ __builtin_bit_cast(u32, std::isnan(b) ? 0.0f : float(b)))
static double Join(double a, double b) {
  const u64 high = __builtin_bit_cast(u64, a), low = __builtin_bit_cast(u64, b);
  return __builtin_bit_cast(double, (high & 0xFFFFFFFF00000000u) | (low & 0xFFFFFFFFu));
}
ELEMENTWISE(hi_lo_halves, double, double, __hiloint2double(__double2hiint(a), __double2loint(b)), Join(a, b))

#define CVT_INT(name, To, From, instruction, out_constraint, in_constraint, OutReg, InReg, on_host) \
  __device__ To name##_f(From a) {                                                                  \
    OutReg d;                                                                                       \
    asm(instruction " %0, %1;" : out_constraint(d) : in_constraint((InReg)a));                      \
    return To(d);                                                                                   \
  }                                                                                                 \
  ELEMENTWISE(name, To, From, name##_f(a), on_host)
template <class To>
static To SatTo(__int128 x) {
  using L = std::numeric_limits<To>;
  return x > __int128(L::max()) ? L::max() : x < __int128(L::min()) ? L::min() : To(x);
}
CVT_INT(s32_to_u8_sat, u32, s32, "cvt.sat.u8.s32", "=r", "r", u32, s32, u32(SatTo<u8>(a)))
CVT_INT(s32_to_s8_sat, s32, s32, "cvt.sat.s8.s32", "=r", "r", s32, s32, s32(SatTo<s8>(a)))
CVT_INT(u32_to_s16_sat, s16, u32, "cvt.sat.s16.u32", "=h", "r", s16, u32, SatTo<s16>(a))
CVT_INT(s64_to_s32_sat, s32, s64, "cvt.sat.s32.s64", "=r", "l", s32, s64, SatTo<s32>(a))
CVT_INT(s64_to_u32_sat, u32, s64, "cvt.sat.u32.s64", "=r", "l", u32, s64, SatTo<u32>(a))
CVT_INT(s16_to_u64, u64, s16, "cvt.u64.s16", "=l", "h", u64, s16, u64(s64(a)))
CVT_INT(s8_extends, s32, s32, "cvt.s32.s8", "=r", "r", s32, s32, s32(s8(a)))
CVT_INT(f32_to_u8_sat, u32, float, "cvt.rni.sat.u8.f32", "=r", "f", u32, float, u32(Clamp<u8>(Nearest(a))))
CVT_INT(f32_to_s16_rzi, s16, float, "cvt.rzi.s16.f32", "=h", "f", s16, float, Clamp<s16>(std::trunc(a)))
CVT_INT(f32_rni, float, float, "cvt.rni.f32.f32", "=f", "f", float, float, Nearest(a))
CVT_INT(f32_rmi, float, float, "cvt.rmi.f32.f32", "=f", "f", float, float, std::floor(a))
CVT_INT(f32_rpi, float, float, "cvt.rpi.f32.f32", "=f", "f", float, float, std::ceil(a))
CVT_INT(f64_rzi, double, double, "cvt.rzi.f64.f64", "=d", "d", double, double, std::trunc(a))
CVT_INT(f32_sat, float, float, "cvt.sat.f32.f32", "=f", "f", float, float, a > 0 ? std::min(a, 1.0f) : 0.0f)
ELEMENTWISE(narrowing, s32, s64, s32(s8(a)) + s32(u16(b)) + s32(c), s32(u32(s32(s8(a))) + u32(u16(b)) + u32(c)))
ELEMENTWISE(bool_conversions, int, double, int(bool(a)) + 2 * !b + 4 * (c ? 1 : 0),
            int(bool(a)) + 2 * !b + 4 * (c ? 1 : 0))
