// Fusing: what exporters write operator by operator because ONNX has no word for it becomes one operator, which runs
// faster and is planned as a whole. It makes three (FusedOperators of operators.h), all of floats:
//
//   Gelu(x)                       x (1 + erf(x / sqrt 2)) / 2
//   Linear(x, W, b)               x W + b; W [k, n] and b [n] are constants
//   Attention(Q, K, V; scale)     softmax(scale Q Kᵀ) V; Q [..., n, d], K [..., m, d], V [..., m, e] make [..., n, e]
#pragma once

#include "wharf/graph/graph.h"

namespace wharf::graph {

// Every place where one of these stands written out; results stay as they are up to rounding. What others read of the
// values between stays too. Factors before, within and behind the product of queries and keys become `scale`; attention
// with a mask is left as it is. REQUIRES: Validate(graph).ok(); so is the result. O(values + nodes).
Graph FuseOperators(Graph graph);

}  // namespace wharf::graph
