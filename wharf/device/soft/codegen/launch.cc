// Calls of NVIDIA's device runtime: kernels that launch kernels (runtime/child_launches.h).
#include <array>

#include "wharf/device/ptx/link.h"
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

// A stream or an event of a kernel's: none is told from another, for what kernels launch runs in order.
constexpr uint64_t kHandle = 16;

}  // namespace

// A dim3, passed as it is.
std::array<llvm::Value*, 3> FunctionCodegen::ExtentArgument(size_t index) {
  std::array<Value*, 3> extents;
  extents.fill(llvm::PoisonValue::get(b_.getInt32Ty()));
  const auto& arguments = instruction_->call_arguments;
  auto* symbol = index < arguments.size() ? std::get_if<ptx::SymbolOperand>(&arguments[index].value) : nullptr;
  auto local = symbol == nullptr ? locals_.end() : locals_.find(symbol->name);
  if (local == locals_.end() ||
      llvm::cast<llvm::ArrayType>(local->second->getAllocatedType())->getNumElements() < 3 * sizeof(uint32_t)) {
    Malformed("no extent of a launch");
    return extents;
  }
  for (unsigned d = 0; d < 3; ++d) {
    extents[d] = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstGEP1_64(b_.getInt32Ty(), local->second, d));
  }
  return extents;
}

llvm::Value* FunctionCodegen::PrepareChild(Value* block) {
  const std::array<Value*, 3> grid = ExtentArgument(1), threads = ExtentArgument(2);
  llvm::Type* const i32 = b_.getInt32Ty();
  llvm::Type* const i64 = b_.getInt64Ty();
  auto callee = module_.External("wharf_prepare_child", i64, {b_.getPtrTy(), i64, i32, i32, i32, i32, i32, i32, i32});
  return b_.CreateCall(callee, {block, SystemArgument(0, Type::kB64), grid[0], grid[1], grid[2], threads[0], threads[1],
                                threads[2], SystemArgument(3, Type::kB32)});
}

// cudaMalloc: 0, or that there is no memory.
llvm::Value* FunctionCodegen::AllocateForKernel(Value* block) {
  llvm::Type* const i64 = b_.getInt64Ty();
  Value* const memory = b_.CreateCall(module_.External("wharf_malloc", i64, {b_.getPtrTy(), i64}),
                                      {block, SystemArgument(1, Type::kB64)});
  b_.CreateStore(memory, GlobalPointer(SystemArgument(0, Type::kB64)));
  return b_.CreateSelect(b_.CreateIsNull(memory), b_.getInt32(static_cast<uint32_t>(CudaError::kOutOfMemory)),
                         b_.getInt32(0));
}

// The result of a call that ptx::LaunchesKernels() knows.
llvm::Value* FunctionCodegen::CallDeviceRuntime(std::string_view name) {
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Type* const i32 = b_.getInt32Ty();
  llvm::Type* const i64 = b_.getInt64Ty();
  Value* const block = function_->getArg(kBlockArgument);
  name = ptx::DeviceRuntimeName(name);
  if (name == "GetParameterBufferV2") return PrepareChild(block);
  if (name == "LaunchDeviceV2") {
    return b_.CreateCall(module_.External("wharf_launch_child", i32, {pointer, i64, i64}),
                         {block, SystemArgument(0, Type::kB64), SystemArgument(1, Type::kB64)});
  }
  if (name == "MemcpyAsync") {  // from device to device: CUDA has no other in kernels
    return b_.CreateCall(module_.External("wharf_copy_for_kernel", i32, {pointer, i64, i64, i64, i64}),
                         {block, SystemArgument(0, Type::kB64), SystemArgument(1, Type::kB64),
                          SystemArgument(2, Type::kB64), SystemArgument(4, Type::kB64)});
  }
  if (name == "MemsetAsync") {
    return b_.CreateCall(module_.External("wharf_fill_for_kernel", i32, {pointer, i64, i32, i64, i64}),
                         {block, SystemArgument(0, Type::kB64), SystemArgument(1, Type::kB32),
                          SystemArgument(2, Type::kB64), SystemArgument(3, Type::kB64)});
  }
  if (name == "GetLastError" || name == "PeekAtLastError") {
    return b_.CreateCall(module_.External("wharf_child_error", i32, {pointer, i32}),
                         {block, b_.getInt32(name == "GetLastError" ? 1 : 0)});
  }
  if (name == "GetErrorName" || name == "GetErrorString") {
    return b_.CreateCall(module_.External("wharf_error_text", i64, {pointer, i32}),
                         {block, SystemArgument(0, Type::kB32)});
  }
  if (name == "Malloc") return AllocateForKernel(block);
  if (name == "Free") {
    b_.CreateCall(module_.External("wharf_free", b_.getVoidTy(), {pointer, i64}),
                  {block, SystemArgument(0, Type::kB64)});
  } else if (name == "StreamCreateWithFlags" || name == "EventCreateWithFlags") {
    b_.CreateStore(b_.getInt64(kHandle), GlobalPointer(SystemArgument(0, Type::kB64)));
  }
  return b_.getInt32(0);  // what else there is of streams and events says nothing that the order of launches does not
}

}  // namespace wharf::device::soft
