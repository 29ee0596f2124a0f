#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "wharf/cudashim/client/module_state.h"
#include "wharf/cudashim/client/stream_work.h"
#include "wharf/device/occupancy.h"

namespace wharf::client {
namespace {

// What the client knows to be wrong is reported at once, as CUDA does; the server checks everything again. CUDA 13 has
// one error for all of it: cudaErrorInvalidConfiguration was the runtime's until CUDA 12.
CudaError CheckShape(const device::DeviceProperties& properties, const Function& function, const LaunchShape& shape) {
  const bool fits =
      device::IsInRange(shape.grid, shape.block, properties) && shape.shared_bytes <= MaxDynamicShared(&function);
  return fits ? CudaError::kSuccess : CudaError::kInvalidValue;
}

std::vector<std::byte> Pack(const std::vector<device::ParameterLayout>& layout, void* const* arguments) {
  std::vector<std::byte> packed(layout.empty() ? 0 : layout.back().offset + layout.back().size);
  for (size_t i = 0; i < layout.size(); ++i)
    std::memcpy(packed.data() + layout[i].offset, arguments[i], layout[i].size);
  return packed;
}

// Where programs have their own memory, on the systems we run on: heaps, libraries, stacks. Device memory is below.
bool MayBeHostAddress(uint64_t word) { return word >= uint64_t{0x55} << 40 && word < uint64_t{1} << 48; }

// A kernel that uses such memory faults, and its address is not known then: it was brought into the session's range.
void NoteHostPointers(Connection& connection, const Function& function, std::span<const std::byte> parameters) {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &parameters[at], sizeof(word));
    if (!MayBeHostAddress(word)) continue;
    absl::MutexLock lock(&connection.mutex);
    connection.host_pointers[function.name] = {at, word};
    return;
  }
}

bool IsMappedHere(uint64_t address) {
  unsigned char present = 0;
  const uint64_t page = offload::ManagedMemory::Page();
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &present) == 0;
}

}  // namespace

bool IsLaunchable(const LaunchShape& shape) { return device::IsInRange(shape.grid, shape.block, Properties()); }

void ExplainFault(Connection& connection) {
  const std::string why = connection.session->StickyMessage();
  if (why.find("not device memory") == std::string::npos) return;
  absl::MutexLock lock(&connection.mutex);
  for (const auto& [kernel, pointer] : connection.host_pointers) {
    if (why.find(fmt::format("kernel {},", kernel)) == std::string::npos || !IsMappedHere(pointer.second)) continue;
    static std::once_flag told;
    std::call_once(told, [&, &given = pointer] {
      TellUser(
          fmt::format("kernel {} was given {:#x} (at byte {} of its parameters): this is host memory; kernels can "
                      "only use memory of cudaMalloc, cudaMallocManaged or cudaHostAlloc",
                      kernel, given.second, given.first));
    });
  }
}

namespace {

// Whether all blocks of a cooperative launch can be there at once.
CudaError CheckCooperative(Connection& connection, Function* function, const device::LaunchConfig& config) {
  device::FunctionAttributes attributes;
  const CudaError error = function->Attributes(connection, &attributes);
  if (error != CudaError::kSuccess) return error;
  const uint64_t most = device::BlocksAtOnce(connection.session->welcome().properties, attributes, config);
  // If there can be no such block at all, the device says why.
  return most != 0 && config.grid.Count() > most ? CudaError::kCooperativeLaunchTooLarge : CudaError::kSuccess;
}

// Checks a launch and makes all of it but its stream.
CudaError MakeLaunch(Connection& connection, Function* function, const LaunchShape& shape, void* const* arguments,
                     const void* packed, size_t packed_bytes, offload::Launch* op,
                     const std::vector<device::ParameterLayout>** layout) {
  CudaError error = CheckShape(connection.session->welcome().properties, *function, shape);
  if (error != CudaError::kSuccess) return error;
  error = function->Define(connection);
  if (error != CudaError::kSuccess) return error;
  error = function->Layout(connection, layout);
  if (error != CudaError::kSuccess) return error;
  op->function = function->id;
  op->config = {shape.grid, shape.block, static_cast<uint32_t>(shape.shared_bytes), shape.cooperative};
  if (shape.cooperative) error = CheckCooperative(connection, function, op->config);
  if (error != CudaError::kSuccess) return error;
  if (arguments != nullptr) {
    op->parameters = Pack(**layout, arguments);
    return CudaError::kSuccess;
  }
  const size_t wanted = (*layout)->empty() ? 0 : (*layout)->back().offset + (*layout)->back().size;
  if (packed_bytes < wanted) return CudaError::kInvalidValue;
  op->parameters.resize(wanted);
  if (wanted != 0) std::memcpy(op->parameters.data(), packed, wanted);
  return CudaError::kSuccess;
}

CudaError PostLaunch(Connection& connection, const Function& function, offload::Launch& op) {
  ShareHostPointers(connection, op.parameters);
  NoteHostPointers(connection, function, op.parameters);
  const CudaError error = connection.managed.Give();
  return error == CudaError::kSuccess ? connection.session->Post(op) : error;
}

cudagraph::KernelParams ToParams(Function* function, offload::Launch op,
                                 const std::vector<device::ParameterLayout>& layout) {
  cudagraph::KernelParams params{function, op.config, std::move(op.parameters), {}, {}};
  for (const device::ParameterLayout& one : layout) params.offsets.push_back(one.offset);
  if (params.config.cooperative) {
    CUlaunchAttributeValue value{};
    value.cooperative = 1;
    std::memcpy(params.attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].data(), &value, sizeof(value));
  }
  return params;
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
  const std::vector<device::ParameterLayout>* layout = nullptr;
  error = MakeLaunch(*connection, function, shape, arguments, packed, packed_bytes, &op, &layout);
  if (error != CudaError::kSuccess) return error;
  bool captured = false;
  error = connection->captures.Enter(op.stream, &captured);
  if (error != CudaError::kSuccess) return error;
  if (!captured) return PostLaunch(*connection, *function, op);
  const device::StreamId id = op.stream;
  return connection->captures.Add(id, ToParams(function, std::move(op), *layout));
}

CudaError MakeKernelParams(Function* function, const LaunchShape& shape, void* const* arguments, const void* packed,
                           size_t packed_bytes, cudagraph::KernelParams* params) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  offload::Launch op;
  const std::vector<device::ParameterLayout>* layout = nullptr;
  error = MakeLaunch(*connection, function, shape, arguments, packed, packed_bytes, &op, &layout);
  if (error == CudaError::kSuccess) *params = ToParams(function, std::move(op), *layout);
  return error;
}

CudaError LaunchOn(Connection& connection, device::StreamId stream, const cudagraph::KernelParams& kernel) {
  auto* const function = static_cast<Function*>(kernel.function);
  const CudaError error = function->Define(connection);
  if (error != CudaError::kSuccess) return error;
  offload::Launch op{stream, function->id, kernel.config, kernel.parameters};
  return PostLaunch(connection, *function, op);
}

CudaError Occupancy(Function* function, int block_threads, uint64_t dynamic_shared, int* blocks) {
  if (blocks == nullptr || block_threads <= 0) return CudaError::kInvalidValue;
  device::FunctionAttributes attributes;
  const CudaError error = FunctionAttributes(function, &attributes);
  if (error != CudaError::kSuccess) return error;
  const device::DeviceProperties& device = Process::Get().Current()->session->welcome().properties;
  *blocks = static_cast<int>(device::BlocksOfMultiprocessor(device, attributes, static_cast<uint64_t>(block_threads),
                                                            attributes.static_shared_bytes + dynamic_shared));
  return CudaError::kSuccess;
}

}  // namespace wharf::client
