// Which kernels of a program have PTX, of their own or in packs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/pack/match.h"

namespace wharf::cli {

struct ModuleCoverage {
  enum class State : uint8_t {
    kOwnPtx,   // the program carries it
    kPacked,   // a pack has it
    kRefused,  // packs have something that does not fit
    kMissing   // nobody has it
  };
  State state = State::kMissing;
  std::vector<std::string> kernels;  // by their names in the program
  std::string detail;                // which pack has it; why it does not fit
};

const char* WordFor(ModuleCoverage::State state);

// Of each module with kernels in a program, a library, a fat binary or a cubin. `on_module` is told how many of how
// many are done. kNotFound: it has no device code; else errors of reading.
absl::StatusOr<std::vector<ModuleCoverage>> CoverageOf(const std::string& path, const device::pack::PackSet& packs,
                                                       const std::function<void(size_t done, size_t all)>& on_module);

}  // namespace wharf::cli
