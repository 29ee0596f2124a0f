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

}  // namespace wharf::offload
