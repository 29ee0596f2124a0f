// Nodes of CUDA graphs in the driver API that are no kernels; and nodes of any kind, by one call (cuGraphAddNode).
#include "wharf/cudashim/cuda/copy_box.h"
#include "wharf/cudashim/cuda/graph_params.h"

namespace wharf::cudashim {
namespace {

CudaError CheckPool(const CUmemPoolProps& pool) {
  const bool ours = pool.allocType == CU_MEM_ALLOCATION_TYPE_PINNED && pool.handleTypes == CU_MEM_HANDLE_TYPE_NONE &&
                    pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE && pool.location.id == 0;
  return ours ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// CUDA_MEM_ALLOC_NODE_PARAMS, of both versions.
template <typename Given>
CudaError AddAllocation(const NewNode& to, Given* given) {
  cudagraph::Params params;
  uint64_t address = 0;
  if (given == nullptr) return CudaError::kInvalidValue;
  CudaError error = CheckPool(given->poolProps);
  if (error == CudaError::kSuccess) error = client::MakeAllocation(given->bytesize, &params, &address);
  if (error == CudaError::kSuccess) error = Add(to, &params);
  if (error == CudaError::kSuccess) given->dptr = address;
  return error;
}

// Of CUgraphNodeParams all but allocations, whose address it returns. Its parts have the fields of the structs of the
// calls for one kind.
CudaError ParamsOfAny(const CUgraphNodeParams& given, cudagraph::Params* params) {
  switch (given.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto& k = given.kernel;
      const CUDA_KERNEL_NODE_PARAMS kernel{k.func,         k.gridDimX,  k.gridDimY,  k.gridDimZ,
                                           k.blockDimX,    k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                                           k.kernelParams, k.extra,     k.kern,      k.ctx};
      return ParamsOf(&kernel, params);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return ParamsOf(&given.memcpy.copyParams, params);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return FillOf(given.memset, params);
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS host{given.host.fn, given.host.userData};
      return ParamsOf(&host, params);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const ChildOf child{given.graph.graph};
      if (given.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) return ParamsOf(&child, params);
      client::ReportUnsupported("cuGraphAddNode (a child graph that moves into its parent)");
      return CudaError::kNotSupported;
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *params = cudagraph::EmptyParams{};
      return CudaError::kSuccess;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      *params = cudagraph::WaitParams{Event(given.eventWait.event)};
      return CudaError::kSuccess;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      *params = cudagraph::RecordParams{Event(given.eventRecord.event)};
      return CudaError::kSuccess;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      *params = cudagraph::FreeParams{given.free.dptr};
      return CudaError::kSuccess;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:  // it is made with its bodies, and never changed
      return CudaError::kNotSupported;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      client::ReportUnsupported("cuGraphAddNode (an external semaphore)");
      return CudaError::kNotSupported;
    default:
      return CudaError::kInvalidValue;
  }
}

CudaError AddAny(const NewNode& to, CUgraphNodeParams* given) {
  cudagraph::Params params;
  if (given == nullptr) return CudaError::kInvalidValue;
  if (given->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) return AddAllocation(to, &given->alloc);
  if (given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    return AddConditional(&given->conditional, to.node, [&](const cudagraph::Params& made) { return Add(to, &made); });
  }
  const CudaError error = ParamsOfAny(*given, &params);
  return error != CudaError::kSuccess ? error : Add(to, &params);
}

CUmemorytype TypeOf(const cudagraph::CopySide& side) {
  if (side.array != nullptr) return CU_MEMORYTYPE_ARRAY;
  return side.on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

void StoreCopy(const cudagraph::CopyParams& copy, CUDA_MEMCPY3D* given) {
  const cudagraph::CopySide &to = copy.to, &from = copy.from;
  *given = {};
  given->dstMemoryType = TypeOf(to);
  given->srcMemoryType = TypeOf(from);
  given->dstArray = static_cast<CUarray>(to.array);
  given->srcArray = static_cast<CUarray>(from.array);
  if (to.on_host) {
    given->dstHost = reinterpret_cast<void*>(to.address);
  } else {
    given->dstDevice = to.address;
  }
  if (from.on_host) {
    given->srcHost = reinterpret_cast<const void*>(from.address);
  } else {
    given->srcDevice = from.address;
  }
  given->dstXInBytes = to.x, given->dstY = to.y, given->dstZ = to.z;
  given->srcXInBytes = from.x, given->srcY = from.y, given->srcZ = from.z;
  given->dstPitch = to.pitch, given->dstHeight = to.height;
  given->srcPitch = from.pitch, given->srcHeight = from.height;
  given->WidthInBytes = copy.extent.width;
  given->Height = copy.extent.height;
  given->Depth = copy.extent.depth;
}

}  // namespace

CudaError ParamsOf(const CUDA_MEMCPY3D* given, cudagraph::Params* params) {
  cudagraph::CopyParams copy;
  if (given == nullptr) return CudaError::kInvalidValue;
  const CudaError error = DescribeCopy(*given, &copy);
  if (error == CudaError::kSuccess) *params = copy;
  return error;
}

CudaError ParamsOf(const CUDA_MEMSET_NODE_PARAMS* given, cudagraph::Params* params) {
  return given == nullptr ? CudaError::kInvalidValue : FillOf(*given, params);
}

CudaError ParamsOf(const CUDA_HOST_NODE_PARAMS* given, cudagraph::Params* params) {
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

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* given, CUcontext) {
  return Driver(Call::k_cuGraphAddMemcpyNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* given) {
  return Driver(Call::k_cuGraphMemcpyNodeGetParams, [&] {
    const cudagraph::CopyParams* copy = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &copy);
    if (error == CudaError::kSuccess) StoreCopy(*copy, given);
    return error;
  });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* given) {
  return Driver(Call::k_cuGraphMemcpyNodeSetParams, [&] { return Set(node, given); });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* given, CUcontext) {
  return Driver(Call::k_cuGraphExecMemcpyNodeSetParams, [&] { return Set(exec, node, given); });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* given, CUcontext) {
  return Driver(Call::k_cuGraphAddMemsetNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphMemsetNodeGetParams, [&] {
    const cudagraph::FillParams* fill = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &fill);
    if (error == CudaError::kSuccess) StoreFill(*fill, given);
    return error;
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphMemsetNodeSetParams, [&] { return Set(node, given); });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* given,
                                        CUcontext) {
  return Driver(Call::k_cuGraphExecMemsetNodeSetParams, [&] { return Set(exec, node, given); });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphAddHostNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphHostNodeGetParams, [&] {
    const cudagraph::HostParams* host = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &host);
    if (error == CudaError::kSuccess) *given = {host->function, host->user};
    return error;
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphHostNodeSetParams, [&] { return Set(node, given); });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphExecHostNodeSetParams, [&] { return Set(exec, node, given); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  return Driver(Call::k_cuGraphAddChildGraphNode, [&] {
    const ChildOf given{child};
    return Add({node, graph, dependencies, count}, &given);
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return Driver(Call::k_cuGraphChildGraphNodeGetGraph, [&] {
    const cudagraph::ChildParams* child = nullptr;
    const CudaError error = graph == nullptr ? CudaError::kInvalidValue : ReadParams(node, &child);
    if (error == CudaError::kSuccess) *graph = reinterpret_cast<CUgraph>(child->graph.get());
    return error;
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return Driver(Call::k_cuGraphExecChildGraphNodeSetParams, [&] {
    const ChildOf given{child};
    return Set(exec, node, &given);
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return Driver(Call::k_cuGraphAddEmptyNode, [&] {
    const cudagraph::Params nothing = cudagraph::EmptyParams{};
    return Add({node, graph, dependencies, count}, &nothing);
  });
}

// Nodes that record an event, or wait for one.
#define WHARF_EVENT_NODES(Kind, Type)                                                                     \
  CUresult cuGraphAddEvent##Kind##Node(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, \
                                       size_t count, CUevent event) {                                     \
    return Driver(Call::k_cuGraphAddEvent##Kind##Node, [&] {                                              \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                     \
      return Add({node, graph, dependencies, count}, &params);                                            \
    });                                                                                                   \
  }                                                                                                       \
  CUresult cuGraphEvent##Kind##NodeGetEvent(CUgraphNode node, CUevent* event) {                           \
    return Driver(Call::k_cuGraphEvent##Kind##NodeGetEvent, [&] {                                         \
      const cudagraph::Type* params = nullptr;                                                            \
      const CudaError error = event == nullptr ? CudaError::kInvalidValue : ReadParams(node, &params);    \
      if (error == CudaError::kSuccess) *event = reinterpret_cast<CUevent>(params->event);                \
      return error;                                                                                       \
    });                                                                                                   \
  }                                                                                                       \
  CUresult cuGraphEvent##Kind##NodeSetEvent(CUgraphNode node, CUevent event) {                            \
    return Driver(Call::k_cuGraphEvent##Kind##NodeSetEvent, [&] {                                         \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                     \
      return Set(node, &params);                                                                          \
    });                                                                                                   \
  }                                                                                                       \
  CUresult cuGraphExecEvent##Kind##NodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {      \
    return Driver(Call::k_cuGraphExecEvent##Kind##NodeSetEvent, [&] {                                     \
      const cudagraph::Params params = cudagraph::Type{Event(event)};                                     \
      return Set(exec, node, &params);                                                                    \
    });                                                                                                   \
  }
WHARF_EVENT_NODES(Record, RecordParams)
WHARF_EVENT_NODES(Wait, WaitParams)
#undef WHARF_EVENT_NODES

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphAddMemAllocNode, [&] {
    return AddAllocation({node, graph, dependencies, count}, given);
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphMemAllocNodeGetParams, [&] {
    const cudagraph::AllocationParams* allocation = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &allocation);
    if (error != CudaError::kSuccess) return error;
    *given = {};
    given->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    given->poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    given->bytesize = allocation->memory->size;
    given->dptr = allocation->memory->address;
    return CudaError::kSuccess;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               CUdeviceptr pointer) {
  return Driver(Call::k_cuGraphAddMemFreeNode, [&] {
    const cudagraph::Params params = cudagraph::FreeParams{pointer};
    return Add({node, graph, dependencies, count}, &params);
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* pointer) {
  return Driver(Call::k_cuGraphMemFreeNodeGetParams, [&] {
    const cudagraph::FreeParams* freed = nullptr;
    const CudaError error = pointer == nullptr ? CudaError::kInvalidValue : ReadParams(node, &freed);
    if (error == CudaError::kSuccess) *pointer = freed->address;
    return error;
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                        size_t count, CUgraphNodeParams* given) {
  return Driver(Call::k_cuGraphAddNode_v2, [&] { return AddAny({node, graph, dependencies, count, data}, given); });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* given) {
  return Driver(Call::k_cuGraphNodeSetParams, [&] {
    cudagraph::Params params;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ParamsOfAny(*given, &params);
    return error != CudaError::kSuccess ? error : Set(node, &params);
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* given) {
  return Driver(Call::k_cuGraphExecNodeSetParams, [&] {
    cudagraph::Params params;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ParamsOfAny(*given, &params);
    return error != CudaError::kSuccess ? error : Set(exec, node, &params);
  });
}

}  // extern "C"
