// The searches that RRTO publishes, for comparison: no library that a user's program loads has them.
#pragma once

#include <cstdint>
#include <memory>

#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

// Operator Sequence Search (rrto-mec, section III-B2, Algorithms 1 and 2): searches the whole log at every output copy.
std::unique_ptr<LaneSearch> MakePublishedSearch(const SearchOptions& options, uint64_t* next_id);

// Data Dependency Search (rrto-robotic-iot, section IV-C, Algorithm 3): a graph over the whole log, searched at every
// output copy.
std::unique_ptr<LaneSearch> MakeDataDependencySearch(const SearchOptions& options, uint64_t* next_id);

}  // namespace wharf::offload
