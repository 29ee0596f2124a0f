// ONNX in: bytes of a model file to a Graph whose shapes are all known and in which nothing is left that can be
// computed without an input.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"

namespace wharf::graph {

struct ImportOptions {
  // Values of dimensions that the model names instead of giving a size; others that it leaves open are 1.
  std::map<std::string, int64_t> dimensions = {{"batch", 1}};
  // Inputs whose value is known already: they become constants.
  std::map<std::string, Constant> known_inputs;
  bool simplify = true;  // drop nodes that do nothing and rows that nobody reads, fold batch norms, fuse operators
};

// What it does, in this order: checks operators against operators.h and everything against libonnx's checker; converts
// operator sets below kNativeOperatorSet; walks the nodes in order, giving every value its type by libonnx's shape
// inference and folding what it can (fold.h); drops nodes that do nothing at inference, folds batch norms into
// convolutions (simplify.h), puts operators together (fuse.h), leaves out rows that nobody reads (unread_rows.h) and
// splits attention (split_attention.h) if the model says so (WithSplitAttention).
// kInvalidArgument: not an ONNX model, or one that contradicts itself. kUnimplemented: an operator, element type,
// operator set or feature that is not supported. Both name the node. Hostile bytes are refused; memory taken is bounded
// by a small multiple of the bytes given, constants made by folding by kMaxFoldedElements, and those that a node of a
// newer operator set is said by in older terms by 2^24 numbers each.
absl::StatusOr<Graph> ImportOnnx(std::span<const std::byte> bytes, const ImportOptions& options);
// kNotFound and others by errno; then as above, naming the file.
absl::StatusOr<Graph> LoadOnnx(const std::string& path, const ImportOptions& options);

// The model with a property, in addition to what it says of itself, by which ImportOnnx splits attention at `key_row`:
// another model, with a name (hash), profiles and plans of its own. REQUIRES: key_row > 0.
std::vector<std::byte> WithSplitAttention(std::span<const std::byte> bytes, int key_row);

// The same model with an input of this shape, as text: "NAME=1,3,480,640", or without the name where there is one
// input;
// "": as it is. Another model, with a hash, profiles and plans of its own, for whoever reads it. kInvalidArgument: no
// such text or input, or sizes that the model has fixed.
absl::StatusOr<std::vector<std::byte>> WithInputShape(std::span<const std::byte> bytes, std::string_view shape);

// The names of the operators that a model's nodes have, sorted, each once, supported or not.
absl::StatusOr<std::vector<std::string>> OperatorsOf(std::span<const std::byte> bytes);
// The names of a model's inputs, without those that have a value in the model.
absl::StatusOr<std::vector<std::string>> InputNames(std::span<const std::byte> bytes);

// A serialised TensorProto, such as the files of ONNX's backend tests. Fails as above.
absl::StatusOr<Constant> ParseTensor(std::span<const std::byte> bytes);

}  // namespace wharf::graph
