// Nodes of CUDA graphs that are neither kernels nor copies; and nodes of any kind, by one call (cudaGraphAddNode).
#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cudart/graph_params.h"

namespace wharf::cudashim {
namespace {

CudaError CheckPool(const cudaMemPoolProps& pool) {
  const bool ours = pool.allocType == cudaMemAllocationTypePinned && pool.handleTypes == cudaMemHandleTypeNone &&
                    pool.location.type == cudaMemLocationTypeDevice && pool.location.id == 0;
  return ours ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// cudaMemAllocNodeParams, of both versions.
template <typename Given>
CudaError AddAllocation(const NewNode& to, Given* given) {
  cudagraph::Params params;
  uint64_t address = 0;
  if (given == nullptr) return CudaError::kInvalidValue;
  CudaError error = CheckPool(given->poolProps);
  if (error == CudaError::kSuccess) error = client::MakeAllocation(given->bytesize, &params, &address);
  if (error == CudaError::kSuccess) error = Add(to, &params);
  if (error == CudaError::kSuccess) given->dptr = reinterpret_cast<void*>(address);
  return error;
}

// Of cudaGraphNodeParams all but allocations, whose address it returns. Its parts have the fields of the structs of the
// calls for one kind.
CudaError ParamsOfAny(const cudaGraphNodeParams& given, cudagraph::Params* params) {
  switch (given.type) {
    case cudaGraphNodeTypeKernel: {
      const auto& part = given.kernel;
      const cudaKernelNodeParams kernel{part.func,           part.gridDim,      part.blockDim,
                                        part.sharedMemBytes, part.kernelParams, part.extra};
      return ParamsOf(&kernel, params);
    }
    case cudaGraphNodeTypeMemcpy:
      return ParamsOf(&given.memcpy.copyParams, params);
    case cudaGraphNodeTypeMemset:
      return FillOf(given.memset, params);
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host{given.host.fn, given.host.userData};
      return ParamsOf(&host, params);
    }
    case cudaGraphNodeTypeGraph: {
      const ChildOf child{given.graph.graph};
      if (given.graph.ownership == cudaGraphChildGraphOwnershipClone) return ParamsOf(&child, params);
      client::ReportUnsupported("cudaGraphAddNode (a child graph that moves into its parent)");
      return CudaError::kNotSupported;
    }
    case cudaGraphNodeTypeEmpty:
      *params = cudagraph::EmptyParams{};
      return CudaError::kSuccess;
    case cudaGraphNodeTypeWaitEvent:
      *params = cudagraph::WaitParams{Event(given.eventWait.event)};
      return CudaError::kSuccess;
    case cudaGraphNodeTypeEventRecord:
      *params = cudagraph::RecordParams{Event(given.eventRecord.event)};
      return CudaError::kSuccess;
    case cudaGraphNodeTypeMemFree:
      *params = cudagraph::FreeParams{Address(given.free.dptr)};
      return CudaError::kSuccess;
    case cudaGraphNodeTypeConditional:  // it is made with its bodies, and never changed
      return CudaError::kNotSupported;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      client::ReportUnsupported("cudaGraphAddNode (an external semaphore)");
      return CudaError::kNotSupported;
    default:
      return CudaError::kInvalidValue;
  }
}

CudaError AddAny(const NewNode& to, cudaGraphNodeParams* given) {
  cudagraph::Params params;
  if (given == nullptr) return CudaError::kInvalidValue;
  if (given->type == cudaGraphNodeTypeMemAlloc) return AddAllocation(to, &given->alloc);
  if (given->type == cudaGraphNodeTypeConditional) {
    return AddConditional(&given->conditional, to.node, [&](const cudagraph::Params& made) { return Add(to, &made); });
  }
  const CudaError error = ParamsOfAny(*given, &params);
  return error != CudaError::kSuccess ? error : Add(to, &params);
}

}  // namespace

CudaError ParamsOf(const cudaMemsetParams* given, cudagraph::Params* params) {
  return given == nullptr ? CudaError::kInvalidValue : FillOf(*given, params);
}

CudaError ParamsOf(const cudaHostNodeParams* given, cudagraph::Params* params) {
  if (given == nullptr) return CudaError::kInvalidValue;
  *params = cudagraph::HostParams{given->fn, given->userData};
  return CudaError::kSuccess;
}

CudaError ParamsOf(const ChildOf* given, cudagraph::Params* params) {
  return client::MakeChild(Graph(given->graph), params);
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* given) {
  return Runtime(Call::k_cudaGraphAddMemsetNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* given) {
  return Runtime(Call::k_cudaGraphMemsetNodeGetParams, [&] {
    const cudagraph::FillParams* fill = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &fill);
    if (error == CudaError::kSuccess) StoreFill(*fill, given);
    return error;
  });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* given) {
  return Runtime(Call::k_cudaGraphMemsetNodeSetParams, [&] { return Set(node, given); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* given) {
  return Runtime(Call::k_cudaGraphExecMemsetNodeSetParams, [&] { return Set(exec, node, given); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 size_t count, const cudaHostNodeParams* given) {
  return Runtime(Call::k_cudaGraphAddHostNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* given) {
  return Runtime(Call::k_cudaGraphHostNodeGetParams, [&] {
    const cudagraph::HostParams* host = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &host);
    if (error == CudaError::kSuccess) *given = {host->function, host->user};
    return error;
  });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* given) {
  return Runtime(Call::k_cudaGraphHostNodeSetParams, [&] { return Set(node, given); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* given) {
  return Runtime(Call::k_cudaGraphExecHostNodeSetParams, [&] { return Set(exec, node, given); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  return Runtime(Call::k_cudaGraphAddChildGraphNode, [&] {
    const ChildOf given{child};
    return Add({node, graph, dependencies, count}, &given);
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return Runtime(Call::k_cudaGraphChildGraphNodeGetGraph, [&] {
    const cudagraph::ChildParams* child = nullptr;
    const CudaError error = graph == nullptr ? CudaError::kInvalidValue : ReadParams(node, &child);
    if (error == CudaError::kSuccess) *graph = reinterpret_cast<cudaGraph_t>(child->graph.get());
    return error;
  });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  return Runtime(Call::k_cudaGraphExecChildGraphNodeSetParams, [&] {
    const ChildOf given{child};
    return Set(exec, node, &given);
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  size_t count) {
  return Runtime(Call::k_cudaGraphAddEmptyNode, [&] {
    const cudagraph::Params nothing = cudagraph::EmptyParams{};
    return Add({node, graph, dependencies, count}, &nothing);
  });
}

// Nodes that record an event, or wait for one.
#define WHARF_EVENT_NODES(Kind, Type)                                                                                 \
  cudaError_t cudaGraphAddEvent##Kind##Node(cudaGraphNode_t* node, cudaGraph_t graph,                                 \
                                            const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {   \
    return Runtime(Call::k_cudaGraphAddEvent##Kind##Node, [&] {                                                       \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                                 \
      return Add({node, graph, dependencies, count}, &params);                                                        \
    });                                                                                                               \
  }                                                                                                                   \
  cudaError_t cudaGraphEvent##Kind##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {                          \
    return Runtime(Call::k_cudaGraphEvent##Kind##NodeGetEvent, [&] {                                                  \
      const cudagraph::Type* params = nullptr;                                                                        \
      const CudaError error = event == nullptr ? CudaError::kInvalidValue : ReadParams(node, &params);                \
      if (error == CudaError::kSuccess) *event = reinterpret_cast<cudaEvent_t>(params->event);                        \
      return error;                                                                                                   \
    });                                                                                                               \
  }                                                                                                                   \
  cudaError_t cudaGraphEvent##Kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {                           \
    return Runtime(Call::k_cudaGraphEvent##Kind##NodeSetEvent, [&] {                                                  \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                                 \
      return Set(node, &params);                                                                                      \
    });                                                                                                               \
  }                                                                                                                   \
  cudaError_t cudaGraphExecEvent##Kind##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) { \
    return Runtime(Call::k_cudaGraphExecEvent##Kind##NodeSetEvent, [&] {                                              \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                                 \
      return Set(exec, node, &params);                                                                                \
    });                                                                                                               \
  }
WHARF_EVENT_NODES(Record, RecordParams)
WHARF_EVENT_NODES(Wait, WaitParams)
#undef WHARF_EVENT_NODES

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, cudaMemAllocNodeParams* given) {
  return Runtime(Call::k_cudaGraphAddMemAllocNode, [&] {
    return AddAllocation({node, graph, dependencies, count}, given);
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* given) {
  return Runtime(Call::k_cudaGraphMemAllocNodeGetParams, [&] {
    const cudagraph::AllocationParams* allocation = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &allocation);
    if (error != CudaError::kSuccess) return error;
    *given = {};
    given->poolProps.allocType = cudaMemAllocationTypePinned;
    given->poolProps.location = {cudaMemLocationTypeDevice, 0};
    given->bytesize = allocation->memory->size;
    given->dptr = reinterpret_cast<void*>(allocation->memory->address);
    return CudaError::kSuccess;
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    size_t count, void* pointer) {
  return Runtime(Call::k_cudaGraphAddMemFreeNode, [&] {
    const cudagraph::Params params = cudagraph::FreeParams{Address(pointer)};
    return Add({node, graph, dependencies, count}, &params);
  });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return Runtime(Call::k_cudaGraphMemFreeNodeGetParams, [&] {
    const cudagraph::FreeParams* freed = nullptr;
    const CudaError error = pointer == nullptr ? CudaError::kInvalidValue : ReadParams(node, &freed);
    if (error == CudaError::kSuccess) *static_cast<void**>(pointer) = reinterpret_cast<void*>(freed->address);
    return error;
  });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* given) {
  return Runtime(Call::k_cudaGraphAddNode, [&] { return AddAny({node, graph, dependencies, count, data}, given); });
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* given) {
  return Runtime(Call::k_cudaGraphNodeSetParams, [&] {
    cudagraph::Params params;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ParamsOfAny(*given, &params);
    return error != CudaError::kSuccess ? error : Set(node, &params);
  });
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* given) {
  return Runtime(Call::k_cudaGraphExecNodeSetParams, [&] {
    cudagraph::Params params;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ParamsOfAny(*given, &params);
    return error != CudaError::kSuccess ? error : Set(exec, node, &params);
  });
}

}  // extern "C"
