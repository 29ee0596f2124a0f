// Where each operator of an inference runs: the assignment to the two sides under which the inference takes least time,
// exactly, for operators that run one after the other.
//
// The model is that of validity.h in the steady state, when the same inference follows itself: an operator needs some
// buffers where it runs; what it writes is valid there only; what is needed on the other side is sent there once. The
// cost of all that is the cost of a cut in a graph (MCOP, as rrto-robotic-iot has it, brought from layers down to
// operators; weights are on both sides, so here the graph may have cycles).
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/offload/partition/side.h"

namespace wharf::offload {

struct CutOperator {
  double local_s = 0, remote_s = 0;  // running it; infinite: it cannot run there
  // Numbers of buffers: whose contents it needs (those that it only changes in part are among them), and which it
  // writes.
  std::vector<uint32_t> needs, writes;
};

struct CutProblem {
  std::vector<CutOperator> operators;  // in the order of the program
  std::vector<uint64_t> buffer_bytes;
  // Sending a buffer takes the one plus the other per byte. Up: from here to there.
  double up_latency_s = 0, up_s_per_byte = 0;
  double down_latency_s = 0, down_s_per_byte = 0;
};

struct CutPlan {
  std::vector<Side> sides;  // one for each operator
  double seconds = 0;       // of one inference
};

// The fastest plan; of several, one with the fewest operators here. REQUIRES: every operator can run somewhere.
CutPlan SolveCut(const CutProblem& problem);

// What an inference takes that way, after the first one. O(operands).
double CutSeconds(const CutProblem& problem, const std::vector<Side>& sides);

}  // namespace wharf::offload
