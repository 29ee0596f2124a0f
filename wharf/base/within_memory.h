// WithinMemory: work that may find no memory, in a process that is to outlive it.
#pragma once

#include <new>

#include "wharf/base/status.h"

namespace wharf {

// What `work` returns, a status or one with a value; kResourceExhausted if it finds no memory.
template <typename F>
auto WithinMemory(F work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("there is no memory left for it");
  }
}

}  // namespace wharf
