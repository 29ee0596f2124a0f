// The operators Wharf runs: the one list. The importer refuses others, `exec` has a kernel for each, the conformance
// tests run every ONNX backend test of each, and `wharf doctor --operators` prints it.
#pragma once

#include <span>
#include <string_view>

namespace wharf::graph {

// What an operator is in the common case; a node's attributes and shapes decide (row_rules.h).
enum class OperatorKind {
  kElementWise,  // reads the element it makes, after broadcasting
  kBlockWise,    // reads a window around it
  kRowWise,      // reads the row it makes, and what all rows share
  kGlobal,       // reads everything
  kConstant,     // its value is known at import: nothing runs
};

struct OperatorFacts {
  std::string_view name;  // ONNX's
  OperatorKind kind;
  int first;              // operator set that it is supported from
  std::string_view note;  // what is not supported, or must be known at import; "" if nothing
};

// Models of these operator sets are taken; those below kNativeOperatorSet are converted to it by libonnx, whose last
// set is kSchemaOperatorSet; nodes of newer ones are said in its terms (onnx/newer_sets.h).
inline constexpr int kFirstOperatorSet = 1, kNativeOperatorSet = 13, kSchemaOperatorSet = 17, kLastOperatorSet = 28;

// Sorted by name.
std::span<const OperatorFacts> Operators();
// Null if there is none of that name.
const OperatorFacts* FindOperator(std::string_view name);

// Those that only operator sets above kSchemaOperatorSet have: at import they become some of Operators(). Sorted by
// name.
std::span<const OperatorFacts> NewerOperators();
// Of a model's file, of either kind; null if there is none of that name.
const OperatorFacts* FindInFiles(std::string_view name);

// Those that no model's file may have: fuse.h and split_attention.h make them of ONNX's and say what they compute.
// Sorted by name.
std::span<const OperatorFacts> FusedOperators();
// Of either kind; null if there is none of that name.
const OperatorFacts* FactsOf(std::string_view name);

std::string_view Name(OperatorKind kind);

}  // namespace wharf::graph
