// What of an instantiated graph can be changed, and changing all of it by a graph of the same shape
// (cudaGraphExecUpdate).
#pragma once

#include "wharf/cudashim/graph/graph.h"

namespace wharf::cudagraph {

// The numbers of both APIs.
enum class UpdateResult : uint8_t {
  kSuccess = 0,
  kError = 1,
  kTopologyChanged = 2,
  kNodeTypeChanged = 3,
  kParametersChanged = 5,
};

struct UpdateOutcome {
  UpdateResult result = UpdateResult::kSuccess;
  Node* node = nullptr;  // of `wanted`: where it differs; nullptr if nowhere in particular
  Node* from = nullptr;  // the dependency of `node` that differs, if it is one
};

// Whether an instance's node that does `now` may come to do `wanted`. Copies keep the kind of memory of either side and
// fills their shape, where they have more than one row. A kernel may become any other, as CUDA's may: a captured call
// of cuBLAS and a kernel of the program's, too. Single: that of cudaGraphExecMemcpyNodeSetParams, where copies must
// have one row.
enum class Change { kOfGraph, kSingle };
UpdateResult CheckChange(const Params& now, const Params& wanted, Change change);

// Gives the nodes of `instance` the parameters of `wanted`'s, all or none. The last nodes of both are paired in the
// order in which they were added, then what they depend on, in the order of the edges.
UpdateOutcome Update(Graph& instance, const Graph& wanted);

}  // namespace wharf::cudagraph
