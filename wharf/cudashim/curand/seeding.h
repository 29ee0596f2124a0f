// Where a generator's streams begin: the state of the first, and the table that leads to the others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wharf/cudashim/curand/engines.h"

namespace wharf::rng {

struct Beginning {
  std::array<uint32_t, 8> state{};
  std::vector<uint32_t> table;
};

// `start`: how many units were taken before. MTGP32 begins at 0.
Beginning BeginXorwow(uint64_t seed, uint64_t start, uint32_t streams);
Beginning BeginMrg32k3a(uint64_t seed, uint64_t start, uint32_t streams);
Beginning BeginPhilox(uint64_t seed);
Beginning BeginMtgp32(uint64_t seed, uint32_t streams);
Beginning BeginSobol32(uint32_t dimensions);
Beginning BeginSobol64(uint32_t dimensions);

}  // namespace wharf::rng
