// Random PTX programs whose threads meet: barriers, reductions, warp operations, exchanges through shared memory,
// divergent branches and loops. For tests that run a kernel in two ways and compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/device/device.h"

namespace wharf::device::soft::testing {

// A kernel `k(in, out)` for `kBlocks` blocks of this shape: each thread loads words from `in`, stores as many to `out`;
// those of one thread lie side by side.
struct RegionProgram {
  static constexpr uint32_t kBlocks = 2;
  static constexpr uint32_t kRegisters = 6;  // words of a thread in a large program

  Dim3 block;
  std::string text;
  std::vector<uint32_t> input;
};

// A small one, of a statement or a few, takes a third of the time to compile.
enum class RegionProgramSize { kSmall, kLarge };

// The program for warps that go in lockstep: without the barriers of warps of which some have one between what a lane
// stores in shared memory and what others load.
std::string InStep(const std::string& text);

RegionProgram MakeRegionProgram(uint64_t seed, RegionProgramSize size = RegionProgramSize::kLarge);

}  // namespace wharf::device::soft::testing
