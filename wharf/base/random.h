// Random numbers that are the same in every build and, but for Exponential and BoxMuller, which ask libm, on every
// machine to the last bit. The standard library's distributions are not, so none is used.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace wharf {

// 2^64 divided by the golden ratio: multiples of it are spread evenly over 64 bits.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;

// SplitMix64's output function (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
// a good hash of 64 bits.
constexpr uint64_t MixBits(uint64_t x) {
  x += kGoldenRatio;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
constexpr uint64_t MixBits(uint64_t a, uint64_t b) { return MixBits(a ^ MixBits(b)); }

// An engine of 64 bits.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    const uint64_t result = MixBits(state_);
    state_ += kGoldenRatio;
    return result;
  }

 private:
  uint64_t state_;
};

// Draws from what an engine of 64 bits gives. Every draw but the one of Normal takes one number of the engine's, and
// BoxMuller two: streams, and with them published figures, depend on that. Not thread-safe.
template <typename Engine>
class BasicRandom {
 public:
  explicit BasicRandom(uint64_t seed) : engine_(seed) {}
  // A generator of its own for one purpose, so that what is drawn for one does not shift the others.
  BasicRandom(uint64_t seed, uint64_t purpose) : engine_(MixBits(seed, purpose)) {}

  uint64_t Next() { return engine_(); }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // in [0, 1)
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Whole numbers below `limit`, which is above 0: the remainder of 64 bits.
  int Below(int limit) { return static_cast<int>(Next() % static_cast<uint64_t>(limit)); }
  int Between(int low, int high) { return low + Below(high - low + 1); }  // `high` too
  // The same in distribution, from the upper 32 bits, scaled.
  int ScaledBelow(int limit) { return static_cast<int>(((Next() >> 32) * static_cast<uint64_t>(limit)) >> 32); }
  bool Chance(double probability) { return Uniform() < probability; }
  double Sign() { return Chance(0.5) ? 1 : -1; }
  // Mean 0, variance 1: the sum of twelve uniform numbers, so within 6 of 0.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }
  // Mean 0, variance 1, with tails (Box and Muller 1958).
  double BoxMuller() {
    const double radius = std::sqrt(-2 * std::log1p(-Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  double Exponential(double mean) { return -mean * std::log1p(-Uniform()); }

 private:
  Engine engine_;
};

using Random = BasicRandom<SplitMix64>;

}  // namespace wharf
