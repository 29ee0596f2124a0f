// Floating-point arithmetic in every rounding mode. The host's reference for a directed rounding is the host's own unit
// in that mode (fesetround); where the operation has no host counterpart its definition is computed in wider
// arithmetic.
#include <cfenv>

#include "tests/cuda/harness.h"

// Runs `operation` in a rounding mode; volatile keeps the compiler from folding or moving it.
template <class T, class F>
static T Rounded(int mode, T a, T b, T c, F operation) {
  volatile T x = a, y = b, z = c;
  std::fesetround(mode);
  volatile T r = operation(x, y, z);
  std::fesetround(FE_TONEAREST);
  return r;
}
#define ROUNDED(mode, T, expression)                                                                              \
  Rounded<T>(mode, a, b, c,                                                                                       \
             []([[maybe_unused]] volatile T& a, [[maybe_unused]] volatile T& b, [[maybe_unused]] volatile T& c) { \
               return T(expression);                                                                              \
             })
#define FOUR_MODES(name, T, prefix, suffix, arguments, expression)                          \
  ELEMENTWISE(name##_rn, T, T, prefix##rn arguments, ROUNDED(FE_TONEAREST, T, expression))  \
  ELEMENTWISE(name##_rz, T, T, prefix##rz arguments, ROUNDED(FE_TOWARDZERO, T, expression)) \
  ELEMENTWISE(name##_ru, T, T, prefix##ru arguments, ROUNDED(FE_UPWARD, T, expression))     \
  ELEMENTWISE(name##_rd, T, T, prefix##rd arguments, ROUNDED(FE_DOWNWARD, T, expression))

FOUR_MODES(fadd, float, __fadd_, , (a, b), a + b)
FOUR_MODES(fsub, float, __fsub_, , (a, b), a - b)
FOUR_MODES(fmul, float, __fmul_, , (a, b), a* b)
FOUR_MODES(fdiv, float, __fdiv_, , (a, b), a / b)
FOUR_MODES(fsqrt, float, __fsqrt_, , (a), std::sqrt(float(a)))
FOUR_MODES(frcp, float, __frcp_, , (a), 1 / a)
FOUR_MODES(ffma, float, __fmaf_, , (a, b, c), std::fma(float(a), float(b), float(c)))
FOUR_MODES(dadd, double, __dadd_, , (a, b), a + b)
FOUR_MODES(dsub, double, __dsub_, , (a, b), a - b)
FOUR_MODES(dmul, double, __dmul_, , (a, b), a* b)
FOUR_MODES(ddiv, double, __ddiv_, , (a, b), a / b)
FOUR_MODES(dsqrt, double, __dsqrt_, , (a), std::sqrt(double(a)))
FOUR_MODES(dfma, double, __fma_, , (a, b, c), std::fma(double(a), double(b), double(c)))

static float Flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
#define PTX2(name, instruction)                                 \
  __device__ float name(float a, float b) {                     \
    float d;                                                    \
    asm(instruction " %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b)); \
    return d;                                                   \
  }
#define PTX1(name, instruction)                     \
  __device__ float name(float a) {                  \
    float d;                                        \
    asm(instruction " %0, %1;" : "=f"(d) : "f"(a)); \
    return d;                                       \
  }
static std::vector<float> Tiny(size_t n, uint64_t seed) {
  std::vector<float> out = harness::Inputs<float>(n, seed);
  for (size_t i = 30; i < n; ++i) out[i] = std::ldexp(out[i], -128);
  return out;
}
PTX2(AddFtz, "add.ftz.f32")
PTX2(MulFtz, "mul.ftz.f32")
PTX2(AddSatF, "add.sat.f32")
PTX2(MulFtzSat, "mul.ftz.sat.f32")
PTX2(MinF, "min.f32")
PTX2(MaxF, "max.f32")
PTX2(MaxFtz, "max.ftz.f32")
PTX2(Copysign, "copysign.f32")
PTX2(DivApprox, "div.approx.f32")
PTX2(DivFull, "div.full.f32")
PTX1(RcpApprox, "rcp.approx.f32")
PTX1(RsqrtApprox, "rsqrt.approx.f32")
PTX1(SqrtApprox, "sqrt.approx.f32")
PTX1(Sin, "sin.approx.f32")
PTX1(Cos, "cos.approx.f32")
PTX1(Lg2, "lg2.approx.f32")
PTX1(Ex2, "ex2.approx.f32")
PTX1(Tanh, "tanh.approx.f32")
PTX1(AbsFtz, "abs.ftz.f32")
ELEMENTWISE_OF(add_ftz, float, float, Tiny, AddFtz(a, b), Flush(Flush(a) + Flush(b)), 0)
ELEMENTWISE_OF(mul_ftz, float, float, harness::Inputs<float>, MulFtz(a, b), Flush(Flush(a) * Flush(b)), 0)
ELEMENTWISE_OF(abs_ftz, float, float, Tiny, AbsFtz(a), Flush(std::fabs(a)), 0)
// sat: NaN becomes +0.
static float Sat(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }
ELEMENTWISE(add_sat, float, float, AddSatF(a, b), Sat(a + b))
ELEMENTWISE(mul_ftz_sat, float, float, MulFtzSat(a, b), Sat(Flush(a) * Flush(b)))
// min and max take the number where one argument is NaN, and order -0 before +0.
static float Least(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
static float Greatest(float a, float b) { return -Least(-a, -b); }
ELEMENTWISE(min_nan, float, float, MinF(a, b), Least(a, b))
ELEMENTWISE(max_nan, float, float, MaxF(a, b), Greatest(a, b))
ELEMENTWISE_OF(max_ftz, float, float, Tiny, MaxFtz(a, b), Greatest(Flush(a), Flush(b)), 0)
ELEMENTWISE(fmin_fmax_double, double, double, fmax(fmin(a, 3.5), -2.25),
            std::isnan(a) ? 3.5 : std::max(std::min(a, 3.5), -2.25))
// copysign.f32 d, a, b: the sign of a, the magnitude of b.
ELEMENTWISE(copysign_f32, float, float, Copysign(a, b), std::copysign(b, a))
ELEMENTWISE(copysign_f64, double, double, copysign(a, b), std::copysign(a, b))
ELEMENTWISE(neg_abs, float, float, -fabsf(a), -std::fabs(a))

static std::vector<float> Moderate(size_t n, uint64_t seed) {
  harness::Random random(seed);
  std::vector<float> out(n);
  for (float& v : out) v = float((random.Uniform() * 2 - 1) * std::pow(2.0, random.Below(12) - 6));
  return out;
}
static std::vector<float> Positive(size_t n, uint64_t seed) {
  std::vector<float> out = Moderate(n, seed);
  for (float& v : out) v = std::fabs(v) + 1e-6f;
  return out;
}
ELEMENTWISE_OF(div_approx, float, float, Moderate, DivApprox(a, b), a / b, 2)
ELEMENTWISE_OF(div_full, float, float, Moderate, DivFull(a, b), a / b, 2)
ELEMENTWISE_OF(rcp_approx, float, float, Moderate, RcpApprox(a), 1 / double(a), 2)
ELEMENTWISE_OF(rsqrt_approx, float, float, Positive, RsqrtApprox(a), 1 / std::sqrt(double(a)), 4)
ELEMENTWISE_OF(sqrt_approx, float, float, Positive, SqrtApprox(a), std::sqrt(a), 4)
// The approximations of transcendental functions promise an absolute error.
ELEMENTWISE_OF(sin_approx, int, float, Moderate, fabsf(Sin(a / 32) - sinf(a / 32)) < 4e-6f, 1, 0)
ELEMENTWISE_OF(cos_approx, int, float, Moderate, fabsf(Cos(a / 32) - cosf(a / 32)) < 4e-6f, 1, 0)
ELEMENTWISE_OF(lg2_approx, int, float, Positive, fabsf(Lg2(a) - log2f(a)) < 4e-6f * fmaxf(1.0f, fabsf(log2f(a))), 1, 0)
ELEMENTWISE_OF(ex2_approx, int, float, Moderate, fabsf(Ex2(a) - exp2f(a)) <= 5e-7f * exp2f(a), 1, 0)
ELEMENTWISE_OF(tanh_approx, int, float, Moderate, fabsf(Tanh(a) - tanhf(a)) < 1e-3f, 1, 0)
ELEMENTWISE(ex2_limits, float, float,
            Ex2(a > 0   ? 1000.0f
                : a < 0 ? -1000.0f
                        : a),
            a > 0           ? INFINITY
            : a < 0         ? 0.0f
            : std::isnan(a) ? a
                            : 1.0f)
ELEMENTWISE(lg2_limits, float, float,
            Lg2(a > 0   ? INFINITY
                : a < 0 ? -1.0f
                        : a),
            a > 0           ? INFINITY
            : a < 0         ? NAN
            : std::isnan(a) ? a
                            : -INFINITY)

__device__ int Testp(float a) {
  int d;
  asm("{\n\t.reg .pred p, q, r, s, t, u;\n\t.reg .s32 x, y;\n\t"
      "testp.finite.f32 p, %1;\n\ttestp.infinite.f32 q, %1;\n\ttestp.number.f32 r, %1;\n\t"
      "testp.notanumber.f32 s, %1;\n\ttestp.normal.f32 t, %1;\n\ttestp.subnormal.f32 u, %1;\n\t"
      "selp.s32 x, 1, 0, p;\n\tselp.s32 y, 2, 0, q;\n\tadd.s32 x, x, y;\n\tselp.s32 y, 4, 0, r;\n\tadd.s32 x, x, y;\n\t"
      "selp.s32 y, 8, 0, s;\n\tadd.s32 x, x, y;\n\tselp.s32 y, 16, 0, t;\n\tadd.s32 x, x, y;\n\t"
      "selp.s32 y, 32, 0, u;\n\tadd.s32 %0, x, y;\n\t}"
      : "=r"(d)
      : "f"(a));
  return d;
}
// Zeros count as normal.
static int Classes(float a) {
  return (std::isfinite(a) ? 1 : 0) + (std::isinf(a) ? 2 : 0) + (!std::isnan(a) ? 4 : 0) + (std::isnan(a) ? 8 : 0) +
         (std::fpclassify(a) == FP_NORMAL || a == 0 ? 16 : 0) + (std::fpclassify(a) == FP_SUBNORMAL ? 32 : 0);
}
ELEMENTWISE(testp_all, int, float, Testp(a), Classes(a))

#define SETP(name, comparison)                                                                   \
  __device__ int name(float a, float b) {                                                        \
    int d;                                                                                       \
    asm("{\n\t.reg .pred p;\n\tsetp." comparison ".f32 p, %1, %2;\n\tselp.s32 %0, 1, 0, p;\n\t}" \
        : "=r"(d)                                                                                \
        : "f"(a), "f"(b));                                                                       \
    return d;                                                                                    \
  }
SETP(SetpEqu, "equ")
SETP(SetpNeu, "neu")
SETP(SetpLtu, "ltu")
SETP(SetpLeu, "leu")
SETP(SetpGtu, "gtu")
SETP(SetpGeu, "geu")
SETP(SetpNum, "num")
SETP(SetpNan, "nan")
SETP(SetpNe, "ne")
static bool Unordered(float a, float b) { return std::isnan(a) || std::isnan(b); }
ELEMENTWISE(setp_unordered, int, float,
            SetpEqu(a, b) | SetpNeu(a, b) << 1 | SetpLtu(a, b) << 2 | SetpLeu(a, b) << 3 | SetpGtu(a, b) << 4 |
                SetpGeu(a, b) << 5,
            (a == b || Unordered(a, b)) | int(a != b) << 1 | int(!(a >= b)) << 2 | int(!(a > b)) << 3 |
                int(!(a <= b)) << 4 | int(!(a < b)) << 5)
ELEMENTWISE(setp_num_nan_ne, int, float, SetpNum(a, b) | SetpNan(a, b) << 1 | SetpNe(a, b) << 2,
            int(!Unordered(a, b)) | int(Unordered(a, b)) << 1 | int(!Unordered(a, b) && a != b) << 2)
ELEMENTWISE(compare_ordered, int, double,
            int(a < b) | int(a <= c) << 1 | int(a == b) << 2 | int(b > c) << 3 | int(a != c) << 4,
            int(a < b) | int(a <= c) << 1 | int(a == b) << 2 | int(b > c) << 3 | int(a != c) << 4)
__device__ int SetF32(float a, float b) {
  float d;
  int e;
  asm("set.lt.f32.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  asm("set.ge.u32.f32 %0, %1, %2;" : "=r"(e) : "f"(a), "f"(b));
  return int(d) + (e ? 2 : 0);
}
ELEMENTWISE(set_results, int, float, SetF32(a, b), int(a < b) + 2 * int(a >= b))
__device__ float Slct(float a, float b, int c) {
  float d;
  asm("slct.f32.s32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "r"(c));
  return d;
}
ELEMENTWISE(slct, float, float, Slct(a, b, c < 0 ? -1 : 1), c < 0 ? b : a)

ELEMENTWISE(fused_by_compiler, float, float, fmaf(a, b, c), std::fma(a, b, c))
ELEMENTWISE(fmod_f32, float, float, fmodf(a, b), std::fmod(a, b))
ELEMENTWISE(remainder_f64, double, double, remainder(a, b), std::remainder(a, b))
ELEMENTWISE(floor_ceil_trunc, float, float, floorf(a) + ceilf(b) - truncf(c),
            std::floor(a) + std::ceil(b) - std::trunc(c))
ELEMENTWISE(rint_round, double, double, rint(a) - round(b), std::rint(a) - std::round(b))
ELEMENTWISE(frexp_ldexp, float, float, (isfinite(a) ? [&] { int e; const float m = frexpf(a, &e); return ldexpf(m, e - 3); }() : 0.0f),
            std::isfinite(a) ? std::ldexp(a, -3) : 0.0f)
ELEMENTWISE(nextafter_f32, float, float, nextafterf(a, b), std::nextafter(a, b))
ELEMENTWISE(logb_ilogb, int, double, a == 0 || !isfinite(a) ? 0 : ilogb(a),
            a == 0 || !std::isfinite(a) ? 0 : std::ilogb(a))
