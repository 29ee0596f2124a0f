// Kernels as nodes of CUDA graphs.
#include <cstring>

#include "wharf/cudashim/client/launch_attribute.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/graph_params.h"

namespace wharf::cudashim {
namespace {

CudaError StoreKernel(cudaGraphNode_t node, cudaKernelNodeParams* given) {
  const cudagraph::Params* params = nullptr;
  if (given == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::ReadNode(Node(node), &params);
  if (error != CudaError::kSuccess) return error;
  const auto* const kernel = std::get_if<cudagraph::KernelParams>(params);
  if (kernel == nullptr) {
    // A kernel of cuBLAS's or cuDNN's is none that the runtime knows.
    const bool library = std::get_if<cudagraph::GemmParams>(params) != nullptr ||
                         std::get_if<cudagraph::PrimitiveParams>(params) != nullptr;
    return library ? CudaError::kInvalidDeviceFunction : CudaError::kInvalidValue;
  }
  const device::LaunchConfig& config = kernel->config;
  given->func = const_cast<void*>(client::HostFunctionOf(static_cast<client::Function*>(kernel->function)));
  given->gridDim = {config.grid.x, config.grid.y, config.grid.z};
  given->blockDim = {config.block.x, config.block.y, config.block.z};
  given->sharedMemBytes = config.shared_bytes;
  given->extra = nullptr;
  return client::KernelArguments(Node(node), &given->kernelParams);
}

}  // namespace

CudaError ParamsOf(const cudaKernelNodeParams* given, cudagraph::Params* params) {
  if (given == nullptr) return CudaError::kInvalidValue;
  client::Function* const function = client::ResolveFunction(given->func);
  if (function == nullptr) return NoFunction(given->func);
  client::PackedParameters packed;
  void* none = nullptr;  // a kernel without parameters needs no array
  void** arguments = given->kernelParams;
  if (arguments != nullptr && given->extra != nullptr) return CudaError::kInvalidValue;
  if (given->extra != nullptr) {
    const CudaError error = client::ReadExtra(given->extra, &packed);
    if (error != CudaError::kSuccess) return error;
  } else if (arguments == nullptr) {
    arguments = &none;
  }
  cudagraph::KernelParams kernel;
  const client::LaunchShape shape{Shape(given->gridDim), Shape(given->blockDim), given->sharedMemBytes};
  const CudaError error = client::MakeKernelParams(function, shape, arguments, packed.data, packed.size, &kernel);
  if (error == CudaError::kSuccess) *params = std::move(kernel);
  return error;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams* given) {
  return Runtime(Call::k_cudaGraphAddKernelNode, [&] { return Add({node, graph, dependencies, count}, given); });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* given) {
  return Runtime(Call::k_cudaGraphKernelNodeGetParams, [&] { return StoreKernel(node, given); });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* given) {
  return Runtime(Call::k_cudaGraphKernelNodeSetParams, [&] { return Set(node, given); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* given) {
  return Runtime(Call::k_cudaGraphExecKernelNodeSetParams, [&] { return Set(exec, node, given); });
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return Runtime(Call::k_cudaGraphKernelNodeCopyAttributes,
                 [&] { return client::CopyKernelAttributes(Node(to), Node(from)); });
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            cudaKernelNodeAttrValue* value) {
  return Runtime(Call::k_cudaGraphKernelNodeGetAttribute, [&] {
    cudagraph::AttributeValue bytes{};
    static_assert(sizeof(bytes) == sizeof(*value));
    if (value == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetKernelAttribute(Node(node), attribute, &bytes);
    if (error == CudaError::kSuccess) std::memcpy(value, bytes.data(), sizeof(*value));
    return error;
  });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            const cudaKernelNodeAttrValue* value) {
  return Runtime(Call::k_cudaGraphKernelNodeSetAttribute, [&] {
    cudagraph::AttributeValue bytes{};
    if (value == nullptr) return CudaError::kInvalidValue;
    std::memcpy(bytes.data(), value, sizeof(*value));
    return client::SetKernelAttribute(Node(node), attribute, bytes);
  });
}

}  // extern "C"
