// Random numbers that are the same on every machine: the standard library's distributions are not, and neither are its
// transcendental functions to the last bit.
#pragma once

#include <cstdint>

namespace wharf::scene {

// SplitMix64's output function (Steele, Lea and Flood 2014): a good hash of 64 bits.
inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
inline uint64_t Mix(uint64_t a, uint64_t b) { return Mix(a ^ Mix(b)); }

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // A generator of its own for one purpose, so that what one part of a world draws does not shift the others.
  Random(uint64_t seed, uint64_t purpose) : state_(Mix(seed, purpose)) {}

  uint64_t Next() {
    const uint64_t result = Mix(state_);
    state_ += 0x9e3779b97f4a7c15u;
    return result;
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // in [0, 1)
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  int Below(int bound) { return static_cast<int>(((Next() >> 32) * static_cast<uint64_t>(bound)) >> 32); }
  bool Chance(double probability) { return Uniform() < probability; }
  double Sign() { return Chance(0.5) ? 1 : -1; }
  // Mean 0, variance 1: the sum of twelve uniform numbers, so within 6 of 0.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

struct SineCosine {
  double sine, cosine;
};
// Of an angle in radians below a million, to 1e-10; the same bits wherever double is IEEE 754's.
SineCosine SinCos(double angle);

}  // namespace wharf::scene
