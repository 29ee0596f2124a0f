#include "wharf/cudashim/curand/seeding.h"

#include <curand_mtgp32_host.h>
// Parameter sets that MTGP32's authors found, as every program has them that uses the generator in its kernels.
#include <curand_mtgp32dc_p_11213.h>

#include <algorithm>

#include "wharf/cudashim/curand/jump.h"
#include "wharf/cudashim/curand/sobol.h"

namespace wharf::rng {
namespace {

// The distances of neighbouring streams.
constexpr int kXorwowDistance = 67, kMrg32k3aDistance = 76;  // powers of two

// For every digit of a stream's number the jumps of each of its values.
template <class Jump>
std::vector<uint32_t> JumpTable(Jump digit, uint32_t streams) {
  std::vector<uint32_t> table;
  for (uint32_t rest = streams - 1; rest != 0; rest >>= kDigitBits) {
    Jump jump = Jump::None();
    for (uint32_t i = 0; i < kDigit; ++i) {
      table.insert(table.end(), jump.words().begin(), jump.words().end());
      jump = jump * digit;
    }
    digit = jump;
  }
  return table;
}

template <class Engine, class Jump>
Beginning BeginByJumps(Engine engine, int distance, uint64_t rows, uint32_t streams) {
  engine.Jump(Jump::By(rows).words().data());
  Beginning beginning;
  engine.Save(beginning.state.data(), 1, 0);
  beginning.table = JumpTable(Jump::ByPowerOf2(distance), streams);
  return beginning;
}

}  // namespace

Beginning BeginXorwow(uint64_t seed, uint64_t start, uint32_t streams) {
  const uint64_t rows = start / streams;
  Xorwow engine;
  engine.Seed(seed);
  engine.weyl += static_cast<uint32_t>(rows) * Xorwow::kWeyl;  // 2^67 steps leave it as it is
  return BeginByJumps<Xorwow, XorwowJump>(engine, kXorwowDistance, rows, streams);
}

Beginning BeginMrg32k3a(uint64_t seed, uint64_t start, uint32_t streams) {
  Mrg32k3a engine;
  engine.Seed(seed);
  return BeginByJumps<Mrg32k3a, Mrg32k3aJump>(engine, kMrg32k3aDistance, start / streams, streams);
}

Beginning BeginPhilox(uint64_t seed) { return {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, {}}; }

Beginning BeginMtgp32(uint64_t seed, uint32_t streams) {
  Beginning beginning;
  beginning.state[0] = static_cast<uint32_t>(seed ^ seed >> 32);
  beginning.table.resize(size_t{Mtgp32::kWords - Mtgp32::kState} * streams);
  for (uint32_t stream = 0; stream < streams; ++stream) {
    const mtgp32_params_fast_t& set = mtgp32dc_params_fast_11213[stream];
    const auto put = [&](int word, uint32_t value) {
      beginning.table[size_t(word - Mtgp32::kState) * streams + stream] = value;
    };
    put(Mtgp32::kPlace, 0), put(Mtgp32::kPos, set.pos), put(Mtgp32::kShift1, set.sh1), put(Mtgp32::kShift2, set.sh2);
    put(Mtgp32::kMask, set.mask);
    for (int i = 0; i < Mtgp32::kTable; ++i) {
      put(Mtgp32::kRecursion + i, set.tbl[i]);
      put(Mtgp32::kTempering + i, set.tmp_tbl[i]);
    }
  }
  return beginning;
}

Beginning BeginSobol32(uint32_t dimensions) { return {{}, SobolVectors<uint32_t>(dimensions)}; }

Beginning BeginSobol64(uint32_t dimensions) {
  Beginning beginning;
  for (const uint64_t vector : SobolVectors<uint64_t>(dimensions)) {
    beginning.table.push_back(static_cast<uint32_t>(vector));
    beginning.table.push_back(static_cast<uint32_t>(vector >> 32));
  }
  return beginning;
}

}  // namespace wharf::rng
