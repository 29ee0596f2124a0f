// Logs of made-up programs whose inferences are known, for tests and benchmarks of the search.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

struct GeneratedLog {
  struct Operator {
    OperatorClass operator_class;
    uint64_t tag, identity;
    std::vector<uint64_t> reads, writes;
    OperatorRecord Record(uint32_t lane = 0) const { return {operator_class, tag, identity, reads, writes, lane}; }
  };
  // Operators [begin, end) of the log are one inference of `model` (or, of `turns`, one turn of a loop inside one).
  struct Range {
    uint64_t begin, end;
    size_t model;
  };
  std::vector<Operator> operators;  // the different ones
  std::vector<uint32_t> order;      // the log: indices into operators
  std::vector<Range> inferences;
  // Turns of the loop with copies of its own in the first inference that has it. Until that inference has ended, the
  // log equals one of a program whose inference is the turn, so no algorithm can be asked to tell.
  std::vector<Range> first_turns;
  // Of each model: whether data crosses every cut alike, so that only convention says where its inference begins.
  std::vector<bool> ambiguous_cut;
};

// What the program may do. Everything else is drawn.
struct LogFeatures {
  bool load = true;                // weights, checks with output copies, kernels that prepare weights
  bool different_first = true;     // the first inference of each model has other operators in places
  bool several_exchanges = false;  // input, output, input, output in one inference
  bool inner_outputs = false;      // outputs in the middle of an exchange
  bool kernel_loops = false;       // layers repeated with the same arguments
  bool copy_loops = false;         // loops whose turns have input, output and synchronisation of their own
  bool state = false;              // an inference uses what the one before left
  bool unknown_roles = false;      // buffers of kernels stand in reads and writes
  bool lead_in = false;            // operators between the output and the next input
  bool deviations = false;         // now and then an inference goes another way, or something else happens
  int models = 1;                  // of which each has a steady phase
  bool alternate = false;          // and then they take turns, regularly and irregularly
  bool reuse_buffers = false;      // a model works in the memory of the one before
  int kernels = 6;                 // about, an exchange
  int inferences = 8;              // about, a phase
};

GeneratedLog GenerateLog(const LogFeatures& features, uint64_t seed);

}  // namespace wharf::offload
