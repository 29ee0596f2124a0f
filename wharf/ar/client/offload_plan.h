// OffloadPlan: which frames a client offloads by what the server last told it (serving::ClientPlan).
#pragma once

#include <cstddef>
#include <cstdint>

#include "wharf/serving/types.h"

namespace wharf::ar {

// Not thread-safe.
class OffloadPlan {
 public:
  // In place of the one before.
  void Set(serving::ClientPlan plan);
  // Whether `frame` is to be offloaded; it then counts as such. REQUIRES: frames in ascending order, each once.
  bool Takes(int64_t frame);

 private:
  serving::ClientPlan plan_;  // frames ascending
  size_t next_ = 0;           // of its frames
  int64_t last_ = -1;         // frame that was offloaded, or that the plan named
};

}  // namespace wharf::ar
