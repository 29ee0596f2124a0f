// One lane of a sequence finder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

class LaneSearch {
 public:
  virtual ~LaneSearch() = default;
  virtual SearchEvent Add(const OperatorRecord& record) = 0;
  virtual const std::optional<FoundSequence>& Current() const = 0;
};

// `next_id` is shared by the lanes of a finder and outlives them.
std::unique_ptr<LaneSearch> MakeIncrementalSearch(const SearchOptions& options, uint64_t* next_id);
std::unique_ptr<LaneSearch> MakePublishedSearch(const SearchOptions& options, uint64_t* next_id);
std::unique_ptr<LaneSearch> MakeDataDependencySearch(const SearchOptions& options, uint64_t* next_id);

}  // namespace wharf::offload
