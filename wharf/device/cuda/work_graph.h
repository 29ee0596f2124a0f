// WorkGraph: a chain of kernels, copies, fills and what libraries do as one CUDA graph, so that a launch of all costs
// the host one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "wharf/device/cuda/captured_graph.h"
#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

struct KernelNode {
  FunctionHandle function = nullptr;
  LaunchConfig config;
  std::span<const std::byte> parameters;  // read while the node is made or changed
};
using GraphNode = std::variant<KernelNode, Copy3D, MemsetNodeParameters, CapturedGraph>;

// Not thread-safe. Methods need the context to be current.
class WorkGraph {
 public:
  // Each node waits for the one before it. Milliseconds for some hundred nodes. REQUIRES: at least one node.
  static absl::StatusOr<std::unique_ptr<WorkGraph>> Build(Gpu* gpu, std::span<const GraphNode> nodes);
  // A launch under way goes on.
  ~WorkGraph();
  WorkGraph(const WorkGraph&) = delete;
  WorkGraph& operator=(const WorkGraph&) = delete;

  // Changes what a node does in launches to come. Fails, and changes nothing, if the driver cannot change it in place:
  // another kind of node, boxes of more than one row, a fill of another size, other kernels of a library's. Then the
  // graph has to be built anew.
  absl::Status Set(size_t index, const GraphNode& node);
  absl::Status Launch(StreamHandle stream);

 private:
  explicit WorkGraph(Gpu* gpu) : gpu_(gpu) {}
  absl::Status Add(const GraphNode& node);

  Gpu* gpu_;
  GraphHandle graph_ = nullptr;
  GraphExecHandle exec_ = nullptr;
  struct Slot {
    GraphNodeHandle handle;
    size_t kind;  // of GraphNode
  };
  std::vector<Slot> nodes_;
};

}  // namespace wharf::device::cuda
