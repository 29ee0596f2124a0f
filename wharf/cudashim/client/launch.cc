#include <algorithm>
#include <cstring>

#include "wharf/cudashim/client/module_state.h"

namespace wharf::client {
namespace {

bool Fits(const device::Dim3& shape, const std::array<uint32_t, 3>& most) {
  return shape.x != 0 && shape.y != 0 && shape.z != 0 && shape.x <= most[0] && shape.y <= most[1] && shape.z <= most[2];
}

// What the client knows to be wrong is reported at once, as CUDA does; the server checks everything again.
CudaError CheckShape(const device::DeviceProperties& properties, const Function& function, const LaunchShape& shape) {
  if (!Fits(shape.grid, properties.max_grid) || !Fits(shape.block, properties.max_block)) {
    return CudaError::kInvalidConfiguration;
  }
  if (shape.block.Count() > static_cast<uint64_t>(properties.max_threads_per_block)) {
    return CudaError::kInvalidConfiguration;
  }
  return shape.shared_bytes > MaxDynamicShared(&function) ? CudaError::kInvalidValue : CudaError::kSuccess;
}

std::vector<std::byte> Pack(const std::vector<device::ParameterLayout>& layout, void* const* arguments) {
  std::vector<std::byte> packed(layout.empty() ? 0 : layout.back().offset + layout.back().size);
  for (size_t i = 0; i < layout.size(); ++i)
    std::memcpy(packed.data() + layout[i].offset, arguments[i], layout[i].size);
  return packed;
}

int BlocksThatFit(uint64_t have, uint64_t each, int limit) {
  return each == 0 ? limit : static_cast<int>(std::min<uint64_t>(have / each, static_cast<uint64_t>(limit)));
}

}  // namespace

CudaError Launch(Function* function, const LaunchShape& shape, StreamHandle stream, void* const* arguments,
                 const void* packed, size_t packed_bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  offload::Launch op;
  error = connection->Resolve(stream, &op.stream);
  if (error != CudaError::kSuccess) return error;
  error = CheckShape(connection->session->welcome().properties, *function, shape);
  if (error != CudaError::kSuccess) return error;
  error = function->Define(*connection);
  if (error != CudaError::kSuccess) return error;
  const std::vector<device::ParameterLayout>* layout = nullptr;
  error = function->Layout(*connection, &layout);
  if (error != CudaError::kSuccess) return error;
  op.function = function->id;
  op.config = {shape.grid, shape.block, static_cast<uint32_t>(shape.shared_bytes)};
  if (arguments != nullptr) {
    op.parameters = Pack(*layout, arguments);
  } else {
    const size_t wanted = layout->empty() ? 0 : layout->back().offset + layout->back().size;
    if (packed_bytes < wanted) return CudaError::kInvalidValue;
    op.parameters.resize(wanted);
    if (wanted != 0) std::memcpy(op.parameters.data(), packed, wanted);
  }
  ShareHostPointers(*connection, op.parameters);
  error = connection->managed.Give();
  return error == CudaError::kSuccess ? connection->session->Post(op) : error;
}

CudaError Occupancy(Function* function, int block_threads, uint64_t dynamic_shared, int* blocks) {
  if (blocks == nullptr || block_threads <= 0) return CudaError::kInvalidValue;
  device::FunctionAttributes attributes;
  const CudaError error = FunctionAttributes(function, &attributes);
  if (error != CudaError::kSuccess) return error;
  const device::DeviceProperties& device = Process::Get().Current()->session->welcome().properties;
  *blocks = 0;
  if (block_threads > static_cast<int>(attributes.max_threads_per_block)) return CudaError::kSuccess;
  const uint64_t shared = attributes.static_shared_bytes + dynamic_shared;
  if (shared > device.shared_per_block_optin) return CudaError::kSuccess;
  const uint64_t warps = (static_cast<uint64_t>(block_threads) + 31) / 32;
  const uint64_t threads = static_cast<uint64_t>(device.max_threads_per_multiprocessor);
  int fit = BlocksThatFit(threads, warps * 32, device.max_blocks_per_multiprocessor);
  fit = BlocksThatFit(device.shared_per_multiprocessor, shared, fit);
  // Registers are handed out to warps in units of 256.
  const uint64_t registers = warps * ((uint64_t{attributes.registers} * 32 + 255) / 256 * 256);
  *blocks = BlocksThatFit(static_cast<uint64_t>(device.registers_per_multiprocessor), registers, fit);
  return CudaError::kSuccess;
}

}  // namespace wharf::client
