// The mathematical functions of libdevice and the fast intrinsics, against the host's library. The allowed errors are
// those of the CUDA C++ Programming Guide, rounded up, plus one unit for the host's own.
#include "tests/cuda/harness.h"

template <class T, int kLow, int kHigh>
static std::vector<T> Range(size_t n, uint64_t seed) {
  harness::Random random(seed);
  std::vector<T> out(n);
  for (T& v : out) v = T(kLow + (double(kHigh) - kLow) * random.Uniform());
  return out;
}
template <class T>
static std::vector<T> Positive(size_t n, uint64_t seed) {
  harness::Random random(seed);
  std::vector<T> out(n);
  for (T& v : out) {
    const int exponent = random.Below(40) - 20;  // first, whatever the compiler's order of arguments
    v = T(std::ldexp(1 + random.Uniform(), exponent));
  }
  return out;
}
#define F(name, make, device, host, ulps) ELEMENTWISE_OF(name##_f32, float, float, make, device, host, ulps)
#define D(name, make, device, host, ulps) ELEMENTWISE_OF(name##_f64, double, double, make, device, host, ulps)
#define RF(low, high) (Range<float, low, high>)
#define RD(low, high) (Range<double, low, high>)

F(sin, RF(-100, 100), sinf(a), std::sin(double(a)), 3)
F(sin_large, RF(-1000000000, 1000000000), sinf(a), std::sin(double(a)), 3)
F(cos, RF(-100, 100), cosf(a), std::cos(double(a)), 3)
F(tan, RF(-100, 100), tanf(a), std::tan(double(a)), 5)
F(sinpi, RF(-100, 100), sinpif(a), std::sin(M_PI* std::remainder(double(a), 2)), 4)
F(asin, RF(-1, 1), asinf(a), std::asin(double(a)), 4)
F(acos, RF(-1, 1), acosf(a), std::acos(double(a)), 4)
F(atan, RF(-100, 100), atanf(a), std::atan(double(a)), 4)
F(atan2, RF(-10, 10), atan2f(a, b), std::atan2(double(a), double(b)), 5)
F(sinh, RF(-20, 20), sinhf(a), std::sinh(double(a)), 5)
F(cosh, RF(-20, 20), coshf(a), std::cosh(double(a)), 4)
F(tanh, RF(-10, 10), tanhf(a), std::tanh(double(a)), 4)
F(asinh, RF(-100, 100), asinhf(a), std::asinh(double(a)), 5)
F(atanh, RF(-1, 1), atanhf(a), std::atanh(double(a)), 5)
F(exp, RF(-80, 80), expf(a), std::exp(double(a)), 4)
F(exp2, RF(-100, 100), exp2f(a), std::exp2(double(a)), 4)
F(exp10, RF(-30, 30), exp10f(a), std::pow(10.0, double(a)), 4)
F(expm1, RF(-10, 10), expm1f(a), std::expm1(double(a)), 3)
F(log, Positive<float>, logf(a), std::log(double(a)), 3)
F(log2, Positive<float>, log2f(a), std::log2(double(a)), 3)
F(log10, Positive<float>, log10f(a), std::log10(double(a)), 4)
F(log1p, Positive<float>, log1pf(a), std::log1p(double(a)), 3)
F(pow, Positive<float>, powf(a, fminf(fmaxf(b, 0.1f), 3.0f)),
  std::pow(double(a), double(std::min(std::max(b, 0.1f), 3.0f))), 6)
F(sqrt_cbrt, Positive<float>, sqrtf(a) + cbrtf(b) * 0, std::sqrt(a), 1)
F(cbrt, RF(-1000, 1000), cbrtf(a), std::cbrt(double(a)), 3)
F(rsqrt, Positive<float>, rsqrtf(a), 1 / std::sqrt(double(a)), 4)
F(hypot, RF(-100, 100), hypotf(a, b), std::hypot(double(a), double(b)), 4)
F(erf, RF(-4, 4), erff(a), std::erf(double(a)), 4)
F(erfc, RF(-4, 8), erfcf(a), std::erfc(double(a)), 7)
F(tgamma, RF(1, 30), tgammaf(a), std::tgamma(double(a)), 8)
F(lgamma, RF(4, 1000), lgammaf(a), std::lgamma(double(a)), 8)
F(j0_near, RF(0, 2), j0f(a), ::j0(double(a)), 16)
F(normcdf, RF(-4, 4), normcdff(a), std::erfc(-double(a) * M_SQRT1_2) / 2, 8)
F(fdim_rhypot, RF(-10, 10), fdimf(a, b), std::fdim(a, b), 1)

D(sin, RD(-100, 100), sin(a), std::sin(a), 3)
D(sin_large, RD(-2000000000, 2000000000), sin(a * 1e3), std::sin(a * 1e3), 3)
D(cos, RD(-100, 100), cos(a), std::cos(a), 3)
D(tan, RD(-100, 100), tan(a), std::tan(a), 4)
D(asin, RD(-1, 1), asin(a), std::asin(a), 4)
D(acos, RD(-1, 1), acos(a), std::acos(a), 4)
D(atan2, RD(-10, 10), atan2(a, b), std::atan2(a, b), 4)
D(sinh, RD(-20, 20), sinh(a), std::sinh(a), 4)
D(tanh, RD(-10, 10), tanh(a), std::tanh(a), 4)
D(exp, RD(-600, 600), exp(a), std::exp(a), 3)
D(exp2, RD(-900, 900), exp2(a), std::exp2(a), 3)
D(expm1, RD(-10, 10), expm1(a), std::expm1(a), 3)
D(log, Positive<double>, log(a), std::log(a), 3)
D(log2, Positive<double>, log2(a), std::log2(a), 3)
D(log10, Positive<double>, log10(a), std::log10(a), 3)
D(log1p, Positive<double>, log1p(a), std::log1p(a), 3)
D(pow, Positive<double>, pow(a, fmin(b, 20.0)), std::pow(a, std::fmin(b, 20.0)), 4)
D(cbrt, RD(-1000, 1000), cbrt(a), std::cbrt(a), 3)
D(rsqrt, Positive<double>, rsqrt(a), 1 / std::sqrt(a), 3)
D(hypot, RD(-100, 100), hypot(a, b), std::hypot(a, b), 4)
D(erf, RD(-4, 4), erf(a), std::erf(a), 4)
D(erfc, RD(-4, 8), erfc(a), std::erfc(a), 7)
D(tgamma, RD(1, 30), tgamma(a), std::tgamma(a), 12)
D(lgamma, RD(4, 1000), lgamma(a), std::lgamma(a), 8)

// Special values come out as the C standard says.
#define SPECIAL(name, T, device, host) ELEMENTWISE_OF(name, T, T, Corners<T>, device, host, 0)
template <class T>
static std::vector<T> Corners(size_t n, uint64_t seed) {
  const T corners[] = {T(0), -T(0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = corners[i * seed % 5];
  return out;
}
SPECIAL(special_exp, float, expf(a), std::exp(a))
SPECIAL(special_log, double, log(a), std::log(a))
SPECIAL(special_sin, float, sinf(a), std::sin(a))
SPECIAL(special_tanh, float, tanhf(a), std::tanh(a))
SPECIAL(special_atan2, float,
        isinf(a) || isinf(b) ? 0.0f
        : a == 0 && b == 0   ? (signbit(b) ? 0.0f : atan2f(a, b))
                             : atan2f(a, b),
        std::isinf(a) || std::isinf(b) ? 0.0f
        : a == 0 && b == 0             ? (std::signbit(b) ? 0.0f : std::atan2(a, b))
                                       : std::atan2(a, b))
SPECIAL(special_pow, double, pow(a, b), std::pow(a, b))
SPECIAL(special_sqrt, double, sqrt(a), std::sqrt(a))

// The fast versions: absolute or relative errors of the guide.
static std::vector<float> Pi(size_t n, uint64_t seed) { return Range<float, -3, 3>(n, seed); }
ELEMENTWISE_OF(fast_sin_cos, int, float, Pi, fabsf(__sinf(a) - sinf(a)) < 2e-6f && fabsf(__cosf(b) - cosf(b)) < 2e-6f,
               1, 0)
ELEMENTWISE_OF(fast_exp, int, float, Pi,
               fabsf(__expf(a) - expf(a)) < 1e-6f * expf(a) && fabsf(__exp10f(b) - exp10f(b)) < 4e-6f * exp10f(b), 1, 0)
ELEMENTWISE_OF(fast_log, int, float, Positive<float>,
               fabsf(__logf(a) - logf(a)) <= 2e-6f * fmaxf(1.0f, fabsf(logf(a))) &&
                   fabsf(__log2f(a) - log2f(a)) <= 2e-6f * fmaxf(1.0f, fabsf(log2f(a))),
               1, 0)
ELEMENTWISE_OF(fast_pow_div, int, float, Positive<float>,
               fabsf(__powf(a, 1.5f) - powf(a, 1.5f)) <= 1e-4f * powf(a, 1.5f) &&
                   fabsf(__fdividef(a, b) - a / b) <= 4e-7f * (a / b),
               1, 0)
__global__ void SinCos(const float* in, float* out, double* out2) {
  const int t = int(threadIdx.x);
  float s, c;
  sincosf(in[t], &s, &c);
  double ds, dc;
  sincos(double(in[t]), &ds, &dc);
  double whole;
  const double fraction = modf(double(in[t]), &whole);
  out[t] = s * s + c * c, out2[t] = ds * ds + dc * dc + (fraction + whole - double(in[t]));
}
CASE(sincos_and_modf) {
  const std::vector<float> in = Range<float, -50, 50>(64, 1);
  Buffer<float> device(in), out(64);
  Buffer<double> out2(64);
  SinCos<<<1, 64>>>(device, out, out2);
  EXPECT_NEAR_ULP(out.Get(), std::vector<float>(64, 1), 4);
  EXPECT_NEAR_ULP(out2.Get(), std::vector<double>(64, 1), 4);
}
__global__ void ComplexMandelbrot(int* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const double cr = __dadd_rn(__dmul_rn(3.0, double(x) / width), -2.0),
               ci = __dadd_rn(__dmul_rn(2.0, double(y) / height), -1.0);
  double r = 0, i = 0;
  int n = 0;
  while (n < 100 && __dadd_rn(__dmul_rn(r, r), __dmul_rn(i, i)) <= 4) {
    const double next = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
    i = __dadd_rn(__dmul_rn(__dmul_rn(2.0, r), i), ci), r = next;
    ++n;
  }
  out[y * width + x] = n;
}
CASE(mandelbrot) {
  constexpr int kWidth = 60, kHeight = 40;
  Buffer<int> out(kWidth * kHeight);
  ComplexMandelbrot<<<dim3(8, 5), dim3(8, 8)>>>(out, kWidth, kHeight);
  std::vector<int> want;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const double cr = 3.0 * (double(x) / kWidth) - 2, ci = 2.0 * (double(y) / kHeight) - 1;
      double r = 0, i = 0;
      int n = 0;
      for (; n < 100 && r * r + i * i <= 4; ++n) {
        const double next = r * r - i * i + cr;
        i = 2 * r * i + ci, r = next;
      }
      want.push_back(n);
    }
  EXPECT_SAME(out.Get(), want);
}
