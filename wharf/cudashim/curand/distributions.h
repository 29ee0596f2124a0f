// Numbers of distributions from words with all bits random: what cuRAND's device API documents in its headers'
// formulas.
#pragma once

#ifdef __CUDACC__
#define WHARF_RNG __host__ __device__ __forceinline__
#define WHARF_ROLLED _Pragma("unroll 1")  // a loop that would be long code, which takes long to compile
#else
#include <cmath>
#define WHARF_RNG inline
#define WHARF_ROLLED
#endif
#include <cstdint>

namespace wharf::rng {

enum class Form { kBits, kUniform, kUniformDouble, kNormal, kNormalDouble, kLogNormal, kLogNormalDouble, kPoisson };
inline constexpr int kForms = 8;

WHARF_RNG constexpr bool IsNormal(Form form) { return form >= Form::kNormal && form <= Form::kLogNormalDouble; }
WHARF_RNG constexpr bool IsLogNormal(Form form) { return form == Form::kLogNormal || form == Form::kLogNormalDouble; }
WHARF_RNG constexpr bool IsDouble(Form form) {
  return form == Form::kUniformDouble || form == Form::kNormalDouble || form == Form::kLogNormalDouble;
}

inline constexpr float kTwoPi = 6.2831855f;
inline constexpr double kTo32 = 2.3283064365386963e-10, kTo53 = 1.1102230246251565e-16;  // 2^-32, 2^-53

// In (0, 1].
WHARF_RNG float Uniform(uint32_t word) { return word * 2.3283064e-10f + 2.3283064e-10f / 2; }
WHARF_RNG double UniformDouble(uint32_t word) { return word * kTo32 + kTo32; }
WHARF_RNG double UniformDouble(uint32_t low, uint32_t high) {
  return (low ^ static_cast<uint64_t>(high) << 21) * kTo53 + kTo53 / 2;
}

template <typename T>
struct Pair {
  T first, second;
};

#ifdef __CUDACC__
// Of angles up to a turn: that of the nearest quarter is taken off, and Taylor's series of what is left are short.
// CUDA's own functions are for all angles, and need memory of each thread for the large ones.
__device__ __forceinline__ Pair<float> SineCosine(float angle) {
  const float quarters = rintf(angle * 0.63661977f);
  float r = fmaf(quarters, -1.5707964f, angle);
  r = fmaf(quarters, 4.3711390e-8f, r);  // what is missing in the quarter of single precision
  const float s = r * r;
  float sine = fmaf(s, 1.0f / 362880, -1.0f / 5040), cosine = fmaf(s, -1.0f / 3628800, 1.0f / 40320);
  sine = fmaf(fmaf(fmaf(sine, s, 1.0f / 120), s, -1.0f / 6) * s, r, r);
  cosine = fmaf(fmaf(fmaf(fmaf(cosine, s, -1.0f / 720), s, 1.0f / 24), s, -0.5f), s, 1.0f);
  const int quadrant = static_cast<int>(quarters);
  const float first = quadrant & 1 ? cosine : sine, second = quadrant & 1 ? sine : cosine;
  return {quadrant & 2 ? -first : first, (quadrant + 1) & 2 ? -second : second};
}
#endif

// Of a uniform number and an angle, in radians in single precision and in half turns in double.
WHARF_RNG Pair<float> BoxMuller(float uniform, float angle) {
  const float radius = sqrtf(-2.0f * logf(uniform));
#ifdef __CUDA_ARCH__
  const Pair<float> at = SineCosine(angle);
  return {at.first * radius, at.second * radius};
#else
  return {sinf(angle) * radius, cosf(angle) * radius};
#endif
}
WHARF_RNG Pair<double> BoxMuller(double uniform, double half_turns) {
  const double radius = sqrt(-2.0 * log(uniform));
#ifdef __CUDA_ARCH__
  double sine, cosine;
  sincospi(half_turns, &sine, &cosine);
  return {sine * radius, cosine * radius};
#else
  constexpr double kPi = 3.1415926535897932;
  return {sin(half_turns * kPi) * radius, cos(half_turns * kPi) * radius};
#endif
}
WHARF_RNG Pair<float> Normals(uint32_t a, uint32_t b) {
  constexpr float kTo32Turns = 2.3283064e-10f * kTwoPi;
  return BoxMuller(Uniform(a), b * kTo32Turns + kTo32Turns / 2);
}
WHARF_RNG Pair<double> NormalsDouble(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint64_t turn = c ^ static_cast<uint64_t>(d) << 21;
  return BoxMuller(UniformDouble(a, b), turn * (kTo53 * 2) + kTo53);
}

template <Form kForm>
WHARF_RNG float Scaled(float normal, double mean, double deviation) {
  const float value = static_cast<float>(mean) + static_cast<float>(deviation) * normal;
  return IsLogNormal(kForm) ? expf(value) : value;
}
template <Form kForm>
WHARF_RNG double Scaled(double normal, double mean, double deviation) {
  const double value = mean + deviation * normal;
  return IsLogNormal(kForm) ? exp(value) : value;
}
template <Form kForm, typename T>
WHARF_RNG void PutPair(const Pair<T>& normals, double mean, double deviation, T* out) {
  out[0] = Scaled<kForm>(normals.first, mean, deviation);
  out[1] = Scaled<kForm>(normals.second, mean, deviation);
}

// The quantile of the standard normal distribution at (word + 1/2) / 2^32.
#ifndef __CUDA_ARCH__
// Newton's steps, of third order, from the estimate of Abramowitz and Stegun, 26.2.23.
inline double InverseErfc(double y) {
  const double t = std::sqrt(-2 * std::log(y / 2));
  double x = 0.70710678118654752 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  for (int i = 0; i < 3; ++i) {
    const double error = y > 0.5 ? (1 - y) - std::erf(x) : std::erfc(x) - y;
    x += error / (1.1283791670955126 * std::exp(-x * x) - x * error);
  }
  return x;
}
#endif
WHARF_RNG double QuantileAt(double lower, bool upper) {  // lower in (0, 1/2]
#ifdef __CUDA_ARCH__
  const double value = 1.4142135623730951 * erfcinv(2 * lower);
#else
  const double value = 1.4142135623730951 * InverseErfc(2 * lower);
#endif
  return upper ? value : -value;
}
WHARF_RNG float Quantile(uint32_t word) {
  const bool upper = word > 0x80000000u;
  if (upper) word = ~word;
#ifdef __CUDA_ARCH__
  const float value = 1.4142135f * erfcinvf(2 * Uniform(word));
#else
  const float value = 1.4142135f * static_cast<float>(InverseErfc(2 * Uniform(word)));
#endif
  return upper ? value : -value;
}
WHARF_RNG double QuantileDouble(uint32_t word) {
  const bool upper = word > 0x80000000u;
  if (upper) word = ~word;
  return QuantileAt(word * kTo32 + kTo32 / 2, upper);
}

// Of 64 bits.
WHARF_RNG float Uniform(uint64_t word) { return Uniform(static_cast<uint32_t>(word >> 32)); }
WHARF_RNG double UniformDouble(uint64_t word) { return (word >> 11) * kTo53 + kTo53 / 2; }
WHARF_RNG float Quantile(uint64_t word) { return Quantile(static_cast<uint32_t>(word >> 32)); }
WHARF_RNG double QuantileDouble(uint64_t word) {
  constexpr uint64_t kLast = (uint64_t{1} << 53) - 1, kHalf = uint64_t{1} << 52;
  word >>= 11;
  const bool upper = word > kHalf;
  if (upper) word = kLast - word;
  return QuantileAt(word * kTo53 + kTo53 / 2, upper);
}

// Poisson's distribution (poisson.h), in memory of whoever computes.
struct PoissonTable {
  const double* limits;    // null: a normal distribution, rounded
  const uint32_t* others;  // of the alias method; null: `limits` are how likely it is to be at most so much
  uint32_t count, first;   // of the limits; what the first stands for
  double mean;
};
WHARF_RNG uint32_t PoissonOf(const PoissonTable& table, double uniform) {  // in (0, 1]
  if (table.others != nullptr) {
    const auto scaled = static_cast<uint32_t>(uniform * table.count);
    const uint32_t bin = scaled < table.count ? scaled : table.count - 1;
    return table.first + (uniform < table.limits[bin] ? bin : table.others[bin]);
  }
  uint32_t low = 0, high = table.count - 1;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (table.limits[middle] < uniform) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return table.first + low;
}
WHARF_RNG uint32_t PoissonOfNormal(const PoissonTable& table, float normal) {
  return static_cast<uint32_t>(sqrt(table.mean) * normal + table.mean + 0.5);
}

}  // namespace wharf::rng
