// What the reader of ONNX shares: tensors and types in and out of ONNX's messages, and how failures are said.
#pragma once

#include <string_view>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"

namespace onnx {
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace wharf::graph {

// kUnimplemented: an element type that graphs do not have; names it. `element`: of onnx::TensorProto::DataType.
absl::StatusOr<ElementType> FromOnnx(int element);

// The tensor's numbers, whichever field they are in; bools are 0 or 1. kUnimplemented: its element type, or data in
// another file. kInvalidArgument: other than the bytes that its shape wants.
absl::StatusOr<Constant> ToConstant(const onnx::TensorProto& tensor);
onnx::TensorProto FromConstant(const Constant& constant);
onnx::TypeProto FromType(const TensorType& type);

// The same failure, with where it happened in front.
absl::Status In(std::string_view where, const absl::Status& status);

}  // namespace wharf::graph
