// Steps: what one side of a plan does, one after the other: receive rows, compute, send rows (Intra-DP, algorithms 1
// and 2; the client's and the server's steps come from the same compiler).
#pragma once

#include <vector>

#include "wharf/base/status.h"
#include "wharf/exec/engine.h"
#include "wharf/split/costs/model_operators.h"
#include "wharf/split/plan.h"

namespace wharf::split {

// A model as the runtime wants it: its graph, and how its values belong to the operators of plans. Below, operators are
// those of the graph laid out as the plan says: bands, where it has some.
struct SplitModel {
  const graph::Graph& graph;
  const graph::RowRules& rules;
  const ModelOperators& operators;
  const RowGraph& rows;  // of those operators, not laid out
};

// Rows of one value that travel as one message.
struct RowsMessage {
  int op = 0;       // of the laid-out graph
  exec::Rows rows;  // of the whole value
  RowCodec codec;   // how they travel: the plan's Encoding says
  friend bool operator==(const RowsMessage& a, const RowsMessage& b) {
    return a.op == b.op && a.rows.value == b.rows.value && a.rows.range == b.rows.range && a.codec == b.codec;
  }
};

struct Step {
  enum class Kind { kReceive, kCompute, kSend };
  Kind kind = Kind::kCompute;
  std::vector<int> ops;               // received or sent: one; computed: those that are computed in one go
  std::vector<exec::Rows> given;      // of kCompute: what it reads; held by then
  std::vector<exec::Rows> wanted;     // of kCompute: what it makes and others read
  std::vector<RowsMessage> messages;  // of kReceive and kSend
  std::vector<int> release;           // values that no later step reads
};

struct SideSteps {
  std::vector<Step> steps;
  std::vector<RowsMessage> incoming;  // of all steps, in the order in which the other side sends them
};

// Operators follow each other in one kCompute as long as they need nothing that has not come yet, nothing of theirs is
// sent, and each reads of the others no more than is computed there (of bands, not across them). Rows are sent before
// anything else is computed, and waited for when somebody needs them. On the device no graph output is released.
// REQUIRES: CheckPlan(model.rows, plan).ok(). kInvalidArgument: operators and graph contradict each other. O(operators
// + steps * (values + nodes)).
absl::StatusOr<SideSteps> CompileSteps(const SplitModel& model, const Plan& plan, Side side);

// What `from` sends in the course of a plan, in order. REQUIRES: as above.
std::vector<RowsMessage> MessagesFrom(const SplitModel& model, const Plan& plan, Side from);

// The type of a tensor that holds exactly these rows.
graph::TensorType TypeOfRows(const graph::Graph& graph, const graph::RowRules& rules, const exec::Rows& rows);

}  // namespace wharf::split
