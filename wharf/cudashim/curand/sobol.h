// Direction vectors of Sobol's sequence: those of Joe and Kuo, "Constructing Sobol sequences with better
// two-dimensional projections" (2008), whose first numbers joe_kuo.bin has (tools/make_sobol_table.py).
#pragma once

#include <cstdint>
#include <vector>

namespace wharf::rng {

inline constexpr uint32_t kMostDimensions = 20000;

// Of so many dimensions, one behind the other, as many for each as `Word` has bits.
template <typename Word>
std::vector<Word> SobolVectors(uint32_t dimensions);
extern template std::vector<uint32_t> SobolVectors(uint32_t);
extern template std::vector<uint64_t> SobolVectors(uint32_t);

}  // namespace wharf::rng
