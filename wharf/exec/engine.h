// Engine: runs a graph, any part of it, or only some rows, on tensors in a layout of its own. The one there is uses
// LibTorch (torch_engine.h); its headers stay out of this one.
//
//   WHARF_ASSIGN_OR_RETURN(const auto program, engine->Prepare(std::move(graph)));
//   WHARF_ASSIGN_OR_RETURN(const TensorPtr image, engine->MakeTensor(type, bytes));
//   WHARF_ASSIGN_OR_RETURN(const auto results, RunWhole(*program, {image}));
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"
#include "wharf/graph/row_rules.h"

namespace wharf::exec {

// Shared and never changed.
class Tensor {
 public:
  virtual ~Tensor() = default;
  virtual graph::TensorType Type() const = 0;
  // Row-major, little-endian. REQUIRES: into.size() == Type().Bytes().
  virtual void Read(std::span<std::byte> into) const = 0;
};
using TensorPtr = std::shared_ptr<const Tensor>;

// Rows of a value, along its axis (graph::RowRules); {0, 1} of a value that cannot be cut.
using Rows = graph::ValueRows;
// The tensor holds exactly those rows.
struct Part {
  Rows rows;
  TensorPtr tensor;
};

// Thread-safe: one may run many at once.
class Program {
 public:
  virtual ~Program() = default;
  virtual const graph::Graph& Graph() const = 0;
  virtual const graph::RowRules& RowRules() const = 0;
  // Makes the wanted rows from the given ones, computing of every value between them exactly the rows needed, each
  // operator's in one go. Nothing before a given value is computed. kInvalidArgument: rows are missing, are not those
  // of the value, or a tensor does not have its type. kInternal: LibTorch refused, with the node. kResourceExhausted:
  // memory is used up, the GPU's or the machine's. REQUIRES: the tensors are of the engine that prepared the program.
  virtual absl::StatusOr<std::vector<TensorPtr>> Run(std::span<const Part> given,
                                                     std::span<const Rows> wanted) const = 0;
  // Of given rows, a smaller range; no copy where the layout allows. REQUIRES: range within the part's.
  virtual Part Cut(const Part& part, graph::RowRange range) const = 0;
  // Of parts of one value that follow each other without gap or overlap, the whole range; one part alone is not copied.
  // kInvalidArgument: none, of several values, not adjacent, or of tensors that do not fit together.
  // kResourceExhausted: as of Run.
  virtual absl::StatusOr<Part> Join(std::span<const Part> parts) const = 0;
};

// Every row of a value.
graph::RowRange AllRows(const Program& program, int value);
// Of every input of the graph, in order, to every output, in order.
absl::StatusOr<std::vector<TensorPtr>> RunWhole(const Program& program, std::span<const TensorPtr> inputs);

// Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  // kInvalidArgument: `bytes` are not those of the type. kResourceExhausted, kInternal: no memory for it.
  virtual absl::StatusOr<TensorPtr> MakeTensor(const graph::TensorType& type,
                                               std::span<const std::byte> bytes) const = 0;
  // Takes the weights into the engine's layout; constants whose bytes are the same object as those of a program that is
  // still there are shared with it. On a GPU the program is run once, so that its kernels are loaded. kUnimplemented:
  // an operator it has no kernel for.
  virtual absl::StatusOr<std::unique_ptr<Program>> Prepare(graph::Graph graph) const = 0;
  // What computes, as profiles of machines name it: "LibTorch 1.13.0", "LibTorch 2.11.0 on NVIDIA L4".
  virtual std::string Name() const = 0;
  // What a user should know about this engine's speed on this machine; "" if nothing.
  virtual std::string Caution() const = 0;
};

}  // namespace wharf::exec
