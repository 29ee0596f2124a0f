// The walk over an ONNX model's nodes that makes a graph of it.
#pragma once

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"
#include "wharf/graph/onnx/import.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace wharf::graph {

// Without folding, only the types of old models are found out, as far as they follow from types and weights.
enum class Folding { kYes, kNo };

// What a walk found, and how it ended: after an error, what there was until then.
struct Imported {
  Graph graph;
  absl::Status walked;
};
// Gives every value of the model its type, in the order of the nodes, and folds what follows from constants alone.
// kInvalidArgument, kUnimplemented: as ImportOnnx. kResourceExhausted: folding would make constants beyond all measure.
// REQUIRES: CheckFeatures and CheckNames say OK.
Imported WalkNodes(const onnx::ModelProto& model, const ImportOptions& options, Folding folding);

}  // namespace wharf::graph
