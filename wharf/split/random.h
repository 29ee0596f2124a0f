// Random numbers of the searching planners: the same on every machine and in every build.
#pragma once

#include <cstdint>

namespace wharf::split {

// splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }                  // [0, 1)
  int Below(int limit) { return static_cast<int>(Next() % static_cast<uint64_t>(limit)); }  // REQUIRES: limit > 0
  int Between(int low, int high) { return low + Below(high - low + 1); }

 private:
  uint64_t state_;
};

}  // namespace wharf::split
