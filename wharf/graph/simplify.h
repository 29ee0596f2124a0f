// Rewrites that leave a model's results as they are (up to rounding) and its graph smaller.
#pragma once

#include "wharf/graph/graph.h"

namespace wharf::graph {

// Readers of an Identity's or a Dropout's output read its input; a graph output that is such a copy keeps its node.
void RemoveCopies(Graph& graph);

// y = BatchNorm(Conv(x)) becomes one Conv, where nobody else reads the convolution and all parameters are float
// constants; the same for ConvTranspose of one group. The new weights are computed in double precision.
void FoldBatchNorms(Graph& graph);

}  // namespace wharf::graph
