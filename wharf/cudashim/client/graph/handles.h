// The handles of both APIs, which share their types, as ours; and what their structs of the same fields hold.
#pragma once

#include <algorithm>

#include "wharf/cudashim/client/graph/capture.h"
#include "wharf/cudashim/client/graph/execs.h"

struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;

namespace wharf::cudashim {

inline client::GraphHandle Graph(CUgraph_st* graph) { return reinterpret_cast<client::GraphHandle>(graph); }
inline client::GraphHandle* Graph(CUgraph_st** graph) { return reinterpret_cast<client::GraphHandle*>(graph); }
inline client::ExecHandle Exec(CUgraphExec_st* exec) { return reinterpret_cast<client::ExecHandle>(exec); }
inline client::ExecHandle* Exec(CUgraphExec_st** exec) { return reinterpret_cast<client::ExecHandle*>(exec); }
inline client::NodeHandle Node(CUgraphNode_st* node) { return reinterpret_cast<client::NodeHandle>(node); }
inline client::NodeHandle* Nodes(CUgraphNode_st** nodes) { return reinterpret_cast<client::NodeHandle*>(nodes); }
inline const client::NodeHandle* Nodes(CUgraphNode_st* const* nodes) {
  return reinterpret_cast<const client::NodeHandle*>(nodes);
}

template <typename Theirs>
const cudagraph::EdgeData* Data(const Theirs* data) {
  static_assert(sizeof(Theirs) == sizeof(cudagraph::EdgeData));
  return reinterpret_cast<const cudagraph::EdgeData*>(data);
}
template <typename Theirs>
cudagraph::EdgeData* Data(Theirs* data) {
  static_assert(sizeof(Theirs) == sizeof(cudagraph::EdgeData));
  return reinterpret_cast<cudagraph::EdgeData*>(data);
}

// The node's parameters if they are of that type; else kInvalidValue.
template <typename T>
device::CudaError ReadParams(CUgraphNode_st* node, const T** params) {
  const cudagraph::Params* all = nullptr;
  const device::CudaError error = client::ReadNode(Node(node), &all);
  if (error != device::CudaError::kSuccess) return error;
  *params = std::get_if<T>(all);
  return *params == nullptr ? device::CudaError::kInvalidValue : device::CudaError::kSuccess;
}

// CUgraphConditionalHandle and its kin.
template <typename Handle>
device::CudaError CreateCondition(CUgraph_st* graph, unsigned initial, unsigned flags, Handle* handle) {
  uint64_t made = 0;
  const device::CudaError error =
      client::CreateCondition(Graph(graph), initial, flags, handle == nullptr ? nullptr : &made);
  if (error == device::CudaError::kSuccess) *handle = made;
  return error;
}

// CUDA_CONDITIONAL_NODE_PARAMS and its kin: a node that `add` makes, in `*node`, and its bodies.
template <typename Given, typename Add>
device::CudaError AddConditional(Given* given, CUgraphNode_st** node, Add&& add) {
  cudagraph::Params params;
  const cudagraph::ConditionalParams* made = nullptr;
  device::CudaError error = client::MakeConditional(given->handle, given->type, given->size, &params);
  if (error == device::CudaError::kSuccess) error = add(params);
  if (error == device::CudaError::kSuccess) error = ReadParams(*node, &made);
  if (error != device::CudaError::kSuccess) return error;
  // Programs are not to change it, though they may.
  given->phGraph_out = reinterpret_cast<CUgraph_st**>(const_cast<client::GraphHandle*>(made->handles.data()));
  return error;
}

// cudaMemsetParams and its kin: a width in elements.
template <typename Theirs>
device::CudaError FillOf(const Theirs& given, cudagraph::Params* params) {
  const bool known = given.elementSize == 1 || given.elementSize == 2 || given.elementSize == 4;
  if (!known || given.width > SIZE_MAX / given.elementSize || given.width == 0 || given.height == 0) {
    return device::CudaError::kInvalidValue;
  }
  cudagraph::FillParams fill;
  fill.to.address = uint64_t(given.dst);  // NOLINT: a pointer in the one API, a number in the other
  fill.to.row_pitch = given.height == 1 ? 0 : given.pitch;
  fill.extent = {given.width * given.elementSize, given.height, 1};
  fill.value = given.elementSize == 4 ? given.value : given.value & ((1u << 8 * given.elementSize) - 1);
  fill.element_bytes = given.elementSize;
  *params = fill;
  return device::CudaError::kSuccess;
}

template <typename Theirs>
void StoreFill(const cudagraph::FillParams& fill, Theirs* given) {
  given->dst = decltype(given->dst)(fill.to.address);  // NOLINT
  given->pitch = fill.to.row_pitch;
  given->value = fill.value;
  given->elementSize = fill.element_bytes;
  given->width = fill.extent.width / fill.element_bytes;
  given->height = fill.extent.height;
}

template <typename Theirs>
void StoreOutcome(const cudagraph::UpdateOutcome& outcome, Theirs* info) {
  info->result = static_cast<decltype(info->result)>(outcome.result);
  info->errorNode = reinterpret_cast<CUgraphNode_st*>(outcome.node);
  info->errorFromNode = reinterpret_cast<CUgraphNode_st*>(outcome.from);
}

// What is asked for about a capture; pointers to what is not are null.
template <typename Status, typename Id, typename EdgeData>
device::CudaError StoreCapture(const cudagraph::CaptureInfo& info, Status* status, Id* id, CUgraph_st** graph,
                               CUgraphNode_st* const** nodes, const EdgeData** data, size_t* count) {
  *status = static_cast<Status>(info.status);
  if (info.status != cudagraph::CaptureStatus::kActive) return device::CudaError::kSuccess;
  const bool plain = std::all_of(info.data->begin(), info.data->end(),
                                 [](const cudagraph::EdgeData& one) { return one == cudagraph::EdgeData{}; });
  if (nodes != nullptr && data == nullptr && !plain) return cudagraph::kLossyQuery;
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph_st*>(info.graph);
  if (nodes != nullptr) *nodes = reinterpret_cast<CUgraphNode_st* const*>(info.nodes->data());
  if (data != nullptr) *data = reinterpret_cast<const EdgeData*>(info.data->data());
  if (count != nullptr) *count = info.nodes->size();
  return device::CudaError::kSuccess;
}

}  // namespace wharf::cudashim
