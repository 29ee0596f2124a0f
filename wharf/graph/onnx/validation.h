// What of an ONNX model can be refused at sight: before it is walked, and what libonnx should not even see.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace wharf::graph {

// Of the standard operators; 0 if the model names none.
int OperatorSet(const onnx::ModelProto& model);
// "Conv node "conv1"", for messages.
std::string Label(const onnx::NodeProto& node);

// kUnimplemented: an operator that operators.h does not have, or not in this operator set.
absl::Status CheckOperators(const onnx::ModelProto& model, int operator_set);
// Everything that libonnx should not even see. kInvalidArgument: no model. kUnimplemented: its operator set, functions,
// sparse or external weights, attributes that are graphs; names the node.
absl::Status CheckFeatures(const onnx::ModelProto& model);
// Every name is made once, before it is read: the converter trusts that. kInvalidArgument.
absl::Status CheckNames(const onnx::GraphProto& graph);

}  // namespace wharf::graph
