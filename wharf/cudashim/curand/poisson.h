// Tables of Poisson's distribution, as NVIDIA's library takes its numbers from them.
#pragma once

#include <cstdint>
#include <vector>

namespace wharf::rng {

struct PoissonForm {
  enum class Kind { kAlias, kCumulative, kNormal };
  Kind kind = Kind::kNormal;
  std::vector<double> limits;
  std::vector<uint32_t> others;  // of kAlias
  uint32_t first = 0;
};

// The alias method: a uniform number chooses one of as many bins as there are numbers that a double gives a chance, and
// stands for the bin's own number below the bin's limit, above it for another that is more likely.
PoissonForm MakeAlias(double mean);
// How likely it is to be at most `first`, `first` + 1 and so on.
PoissonForm MakeCumulative(double mean);

}  // namespace wharf::rng
