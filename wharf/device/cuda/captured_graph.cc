#include "wharf/device/cuda/captured_graph.h"

#include <vector>

namespace wharf::device::cuda {

absl::StatusOr<CapturedGraph> CapturedGraph::Capture(Gpu* gpu, StreamHandle stream,
                                                     const std::function<absl::Status()>& queue) {
  // Relaxed: libraries load kernels and take memory at first use, which is no part of the graph.
  WHARF_RETURN_IF_ERROR(
      gpu->Check((*gpu)->StreamBeginCapture(stream, StreamCaptureMode::kRelaxed), "cuStreamBeginCapture"));
  absl::Status queued = queue();
  GraphHandle handle = nullptr;
  const absl::Status ended = gpu->Check((*gpu)->StreamEndCapture(stream, &handle), "cuStreamEndCapture");
  CapturedGraph graph(gpu, handle);
  WHARF_RETURN_IF_ERROR(queued);
  WHARF_RETURN_IF_ERROR(ended);
  WHARF_RETURN_IF_ERROR(graph.CheckNodes());
  return graph;
}

CapturedGraph::~CapturedGraph() {
  if (handle_ != nullptr) (*gpu_)->GraphDestroy(handle_);
}

absl::Status CapturedGraph::CheckNodes() const {
  size_t count = 0;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->GraphGetNodes(handle_, nullptr, &count), "cuGraphGetNodes"));
  if (count == 0) return CudaStatus(CudaError::kNotSupported, "a graph without nodes");
  std::vector<GraphNodeHandle> nodes(count);
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->GraphGetNodes(handle_, nodes.data(), &count), "cuGraphGetNodes"));
  for (GraphNodeHandle node : nodes) WHARF_RETURN_IF_ERROR(CheckNode(node));
  return absl::OkStatus();
}

absl::Status CapturedGraph::CheckNode(GraphNodeHandle node) const {
  GraphNodeType type{};
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->GraphNodeGetType(node, &type), "cuGraphNodeGetType"));
  if (type == GraphNodeType::kKernel || type == GraphNodeType::kMemset || type == GraphNodeType::kEmpty) {
    return absl::OkStatus();
  }
  if (type == GraphNodeType::kMemcpy) {
    Copy3D copy;
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->GraphMemcpyNodeGetParams(node, &copy), "cuGraphMemcpyNodeGetParams"));
    if (copy.src_type == kMemoryTypeDevice && copy.dst_type == kMemoryTypeDevice) return absl::OkStatus();
  }
  return CudaStatus(CudaError::kNotSupported, "a library's graph with a node of type {}", static_cast<int>(type));
}

}  // namespace wharf::device::cuda
