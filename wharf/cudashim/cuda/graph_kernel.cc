// Kernels as nodes of CUDA graphs in the driver API.
#include <cstring>

#include "wharf/cudashim/client/launch_attribute.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cuda/context.h"
#include "wharf/cudashim/cuda/graph_params.h"

namespace wharf::cudashim {
namespace {

CudaError StoreKernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* given) {
  const cudagraph::Params* params = nullptr;
  if (given == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::ReadNode(Node(node), &params);
  if (error != CudaError::kSuccess) return error;
  const auto* const kernel = std::get_if<cudagraph::KernelParams>(params);
  if (kernel == nullptr) {
    // A kernel of cuBLAS's or cuDNN's is none that the program has a handle of.
    const bool library = std::get_if<cudagraph::GemmParams>(params) != nullptr ||
                         std::get_if<cudagraph::PrimitiveParams>(params) != nullptr;
    return library ? CudaError::kInvalidHandle : CudaError::kInvalidValue;
  }
  const device::LaunchConfig& config = kernel->config;
  *given = {};
  given->func = static_cast<CUfunction>(kernel->function);
  given->kern = reinterpret_cast<CUkernel>(given->func);  // the runtime looks here
  given->ctx = PrimaryContext();
  given->gridDimX = config.grid.x;
  given->gridDimY = config.grid.y;
  given->gridDimZ = config.grid.z;
  given->blockDimX = config.block.x;
  given->blockDimY = config.block.y;
  given->blockDimZ = config.block.z;
  given->sharedMemBytes = config.shared_bytes;
  return client::KernelArguments(Node(node), &given->kernelParams);
}

}  // namespace

CudaError ParamsOf(const CUDA_KERNEL_NODE_PARAMS* given, cudagraph::Params* params) {
  if (given == nullptr) return CudaError::kInvalidValue;
  const void* const handle = given->func != nullptr ? static_cast<const void*>(given->func) : given->kern;
  client::Function* const function = client::ResolveFunction(handle);
  if (function == nullptr) return CudaError::kInvalidHandle;
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
  const client::LaunchShape shape{{given->gridDimX, given->gridDimY, given->gridDimZ},
                                  {given->blockDimX, given->blockDimY, given->blockDimZ},
                                  given->sharedMemBytes};
  const CudaError error = client::MakeKernelParams(function, shape, arguments, packed.data, packed.size, &kernel);
  if (error == CudaError::kSuccess) *params = std::move(kernel);
  return error;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphAddKernelNode_v2, [&] { return Add({node, graph, dependencies, count}, given); });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphKernelNodeGetParams_v2, [&] { return StoreKernel(node, given); });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphKernelNodeSetParams_v2, [&] { return Set(node, given); });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* given) {
  return Driver(Call::k_cuGraphExecKernelNodeSetParams_v2, [&] { return Set(exec, node, given); });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return Driver(Call::k_cuGraphKernelNodeCopyAttributes,
                [&] { return client::CopyKernelAttributes(Node(to), Node(from)); });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue* value) {
  return Driver(Call::k_cuGraphKernelNodeGetAttribute, [&] {
    cudagraph::AttributeValue bytes{};
    static_assert(sizeof(bytes) == sizeof(*value));
    if (value == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetKernelAttribute(Node(node), attribute, &bytes);
    if (error == CudaError::kSuccess) std::memcpy(value, bytes.data(), sizeof(*value));
    return error;
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  return Driver(Call::k_cuGraphKernelNodeSetAttribute, [&] {
    cudagraph::AttributeValue bytes{};
    if (value == nullptr) return CudaError::kInvalidValue;
    std::memcpy(bytes.data(), value, sizeof(*value));
    return client::SetKernelAttribute(Node(node), attribute, bytes);
  });
}

}  // extern "C"
