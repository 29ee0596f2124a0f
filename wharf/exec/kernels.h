// Kernels of the LibTorch engine: one for each operator of graph/operators.h that runs. Heavy header, for this room's
// sources only.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"
#include "wharf/graph/row_rules.h"

namespace wharf::exec {

// One node about to run, on all rows or on some.
struct Call {
  const graph::Graph& graph;
  const graph::Node& node;
  std::vector<at::Tensor> in;            // undefined where the node has none
  std::vector<graph::RowRange> in_rows;  // the rows that each is
  graph::RowRange out_rows;              // to be made
  int out_axis = graph::kNoRows;         // of all outputs

  bool Has(size_t index) const { return index < in.size() && in[index].defined(); }
  // An output's shape, with as many rows as are to be made.
  std::vector<int64_t> OutShape(size_t index = 0) const;
  // Of an input of one element: from the model where it is there, else read, for which a GPU is waited for.
  at::Scalar ScalarInput(size_t index) const;
  const graph::TensorType& OutType(size_t index = 0) const { return graph.Type(node.outputs[index]); }
};

using Outputs = std::vector<at::Tensor>;
// One tensor for each output of the node, of which those nobody wants may be missing. Inputs and outputs lie on one
// device, be it the CPU or a GPU, and so must what a kernel makes in between. May throw c10::Error.
using Kernel = absl::StatusOr<Outputs> (*)(const Call&);

struct NamedKernel {
  std::string_view name;
  Kernel kernel;
};
std::span<const NamedKernel> ElementKernels();
std::span<const NamedKernel> WindowKernels();
std::span<const NamedKernel> LayoutKernels();
std::span<const NamedKernel> MatrixKernels();
std::span<const NamedKernel> AttentionKernels();
absl::StatusOr<Outputs> Resize(const Call& call);  // resize.cc; listed by WindowKernels

at::ScalarType ToTorch(graph::ElementType element);

}  // namespace wharf::exec
