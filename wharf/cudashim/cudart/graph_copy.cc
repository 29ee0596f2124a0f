// Copies as nodes of CUDA graphs: boxes, lines, module variables.
#include "wharf/cudashim/cudart/copy_box.h"
#include "wharf/cudashim/cudart/graph_params.h"

namespace wharf::cudashim {
namespace {

uint64_t ElementBytes(void* array) {
  const auto found = FindArray(array);
  return found == nullptr ? 1 : found->TexelBytes();
}

// One side, as cudaMemcpy3DParms has it. Of `unit` bytes is an element.
void StoreSide(const cudagraph::CopySide& side, uint64_t unit, uint64_t width, cudaArray_t* array,
               cudaPitchedPtr* plain, cudaPos* position) {
  *position = {side.x / unit, side.y, side.z};
  if (side.array == nullptr) {
    *plain = {reinterpret_cast<void*>(side.address), side.pitch, width, side.height};
  } else {
    *array = static_cast<cudaArray_t>(side.array);
  }
}

void StoreCopy(const cudagraph::CopyParams& copy, cudaMemcpy3DParms* given) {
  *given = {};
  void* const array = copy.to.array != nullptr ? copy.to.array : copy.from.array;
  const uint64_t unit = array == nullptr ? 1 : ElementBytes(array);
  StoreSide(copy.to, unit, copy.extent.width, &given->dstArray, &given->dstPtr, &given->dstPos);
  StoreSide(copy.from, unit, copy.extent.width, &given->srcArray, &given->srcPtr, &given->srcPos);
  given->extent = {copy.extent.width / unit, copy.extent.height, copy.extent.depth};
  given->kind = static_cast<cudaMemcpyKind>(copy.kind);
}

}  // namespace

CudaError ParamsOf(const cudaMemcpy3DParms* given, cudagraph::Params* params) {
  cudagraph::CopyParams copy;
  if (given == nullptr) return CudaError::kInvalidValue;
  const CudaError error = DescribeCopy(*given, &copy);
  if (error == CudaError::kSuccess) *params = copy;
  return error;
}

CudaError ParamsOf(const LineCopy* given, cudagraph::Params* params) {
  cudaMemcpy3DParms box{};
  box.dstPtr = {given->to, given->count, given->count, 1};
  box.srcPtr = {const_cast<void*>(given->from), given->count, given->count, 1};
  box.extent = {given->count, 1, 1};
  box.kind = given->kind;
  return ParamsOf(&box, params);
}

CudaError ParamsOf(const CopyToVariable* given, cudagraph::Params* params) {
  LineCopy line{nullptr, given->from, given->count, given->kind};
  const CudaError error = SymbolRange(given->symbol, given->offset, given->count, &line.to);
  return error != CudaError::kSuccess ? error : ParamsOf(&line, params);
}

CudaError ParamsOf(const CopyFromVariable* given, cudagraph::Params* params) {
  void* from = nullptr;
  const CudaError error = SymbolRange(given->symbol, given->offset, given->count, &from);
  const LineCopy line{given->to, from, given->count, given->kind};
  return error != CudaError::kSuccess ? error : ParamsOf(&line, params);
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* given) {
  return Runtime(Call::k_cudaGraphAddMemcpyNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* given) {
  return Runtime(Call::k_cudaGraphMemcpyNodeGetParams, [&] {
    const cudagraph::CopyParams* copy = nullptr;
    const CudaError error = given == nullptr ? CudaError::kInvalidValue : ReadParams(node, &copy);
    if (error == CudaError::kSuccess) StoreCopy(*copy, given);
    return error;
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* given) {
  return Runtime(Call::k_cudaGraphMemcpyNodeSetParams, [&] { return Set(node, given); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* given) {
  return Runtime(Call::k_cudaGraphExecMemcpyNodeSetParams, [&] { return Set(exec, node, given); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphAddMemcpyNode1D, [&] {
    const LineCopy line{to, from, bytes, kind};
    return Add({node, graph, dependencies, count}, &line);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphMemcpyNodeSetParams1D, [&] {
    const LineCopy line{to, from, bytes, kind};
    return Set(node, &line);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                               size_t bytes, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphExecMemcpyNodeSetParams1D, [&] {
    const LineCopy line{to, from, bytes, kind};
    return Set(exec, node, &line);
  });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count, const void* symbol,
                                           const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphAddMemcpyNodeToSymbol, [&] {
    const CopyToVariable copy{symbol, from, bytes, offset, kind};
    return Add({node, graph, dependencies, count}, &copy);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphMemcpyNodeSetParamsToSymbol, [&] {
    const CopyToVariable copy{symbol, from, bytes, offset, kind};
    return Set(node, &copy);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol,
                                                     const void* from, size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphExecMemcpyNodeSetParamsToSymbol, [&] {
    const CopyToVariable copy{symbol, from, bytes, offset, kind};
    return Set(exec, node, &copy);
  });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphAddMemcpyNodeFromSymbol, [&] {
    const CopyFromVariable copy{to, symbol, bytes, offset, kind};
    return Add({node, graph, dependencies, count}, &copy);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
                                                   size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphMemcpyNodeSetParamsFromSymbol, [&] {
    const CopyFromVariable copy{to, symbol, bytes, offset, kind};
    return Set(node, &copy);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                       const void* symbol, size_t bytes, size_t offset,
                                                       cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaGraphExecMemcpyNodeSetParamsFromSymbol, [&] {
    const CopyFromVariable copy{to, symbol, bytes, offset, kind};
    return Set(exec, node, &copy);
  });
}

}  // extern "C"
