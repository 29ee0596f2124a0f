// What a server's model made of a frame.
#pragma once

#include <vector>

#include "wharf/graph/tensor.h"
#include "wharf/multitask/task.h"

namespace wharf::ar {

struct ModelAnswer final : multitask::Answer {
  std::vector<graph::Constant> outputs;  // in the model's order; of any type and shape
};

}  // namespace wharf::ar
