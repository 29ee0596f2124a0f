// What compiled kernels call besides barriers and warp operations: printing, faults, the heap, clocks.
#include <chrono>

#include "wharf/device/soft/printf/printf.h"
#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kMaxFormat = 64 << 10;

Worker& WorkerOf(BlockContext* block) { return *static_cast<BlockState*>(block)->owner; }

std::pair<CudaError, const char*> Describe(TrapKind kind) {
  switch (kind) {
    case TrapKind::kIllegalAddress:
      return {CudaError::kIllegalAddress, "illegal address"};
    case TrapKind::kMisaligned:
      return {CudaError::kMisalignedAddress, "misaligned address"};
    case TrapKind::kIllegalInstruction:
      return {CudaError::kIllegalInstruction, "illegal instruction"};
    case TrapKind::kAssert:
      return {CudaError::kAssert, "assertion failed"};
    case TrapKind::kStackOverflow:
      return {CudaError::kLaunchFailure, "stack overflow"};
    case TrapKind::kTrap:
      break;
  }
  return {CudaError::kLaunchFailure, "trap"};
}

void ReportTrap(Worker& worker, TrapKind kind) {
  const auto [error, what] = Describe(kind);
  worker.SetFault(CudaStatus(error, "{}: {}", worker.BlockName(), what));
}

void ReportBadFree(Worker& worker, uint64_t address) {
  worker.SetFault(CudaStatus(CudaError::kIllegalAddress, "{}: free of {:#x}, which malloc did not return",
                             worker.BlockName(), address));
}

void ReportAssert(BlockContext* block, const uint32_t* tid, uint64_t message, uint64_t file, uint32_t line,
                  uint64_t function) {
  Worker& worker = WorkerOf(block);
  const auto read = [&](uint64_t address) {
    return ReadString(
               address, [&](uint64_t a) { return worker.ReadableBytes(a); }, kMaxFormat)
        .value_or("?");
  };
  const std::string text =
      fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", read(file), line,
                  read(function), block->cta[0], block->cta[1], block->cta[2], tid[0], tid[1], tid[2], read(message));
  worker.services.output.Append(text + "\n");
  worker.SetFault(CudaStatus(CudaError::kAssert, "{}", text));
}

uint32_t AddForKernel(BlockContext* block, const ChildWork& work, uint64_t stream) {
  ChildLaunches* const children = WorkerOf(block).children();
  const CudaError error = children == nullptr ? CudaError::kNotSupported : children->Add(work, stream);
  return static_cast<uint32_t>(error);
}

}  // namespace

extern "C" {

int32_t wharf_vprintf(BlockContext* block, uint64_t format, uint64_t arguments) {
  Worker& worker = WorkerOf(block);
  const ReadableBytes readable = [&](uint64_t address) { return worker.ReadableBytes(address); };
  const std::optional<std::string> text = ReadString(format, readable, kMaxFormat);
  if (!text) return -1;
  const std::optional<FormattedText> out = FormatPrintf(*text, arguments, readable);
  if (!out) return -1;
  worker.services.output.Append(out->text);
  return out->arguments;
}

void wharf_assert_fail(BlockContext* block, const uint32_t* tid, uint64_t message, uint64_t file, uint32_t line,
                       uint64_t function) {
  ReportAssert(block, tid, message, file, line, function);
  WorkerOf(block).LeaveBlock();
}

void wharf_trap(BlockContext* block, uint32_t kind) {
  ReportTrap(WorkerOf(block), static_cast<TrapKind>(kind));
  WorkerOf(block).LeaveBlock();
}

uint64_t wharf_malloc(BlockContext* block, uint64_t bytes) { return WorkerOf(block).services.heap.Allocate(bytes); }

void wharf_free(BlockContext* block, uint64_t address) {
  Worker& worker = WorkerOf(block);
  if (worker.services.heap.Free(address)) return;
  ReportBadFree(worker, address);
  worker.LeaveBlock();
}

uint64_t wharf_prepare_child(BlockContext* block, uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                             uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes) {
  ChildLaunches* const children = WorkerOf(block).children();
  if (children == nullptr) return 0;
  return children->Prepare(kernel, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes});
}

uint32_t wharf_launch_child(BlockContext* block, uint64_t prepared, uint64_t stream) {
  ChildLaunches* const children = WorkerOf(block).children();
  const CudaError error = children == nullptr ? CudaError::kNotSupported : children->Launch(prepared, stream);
  return static_cast<uint32_t>(error);
}

uint32_t wharf_copy_for_kernel(BlockContext* block, uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) {
  return AddForKernel(block, ChildCopy{to, from, bytes}, stream);
}

uint32_t wharf_fill_for_kernel(BlockContext* block, uint64_t to, uint32_t value, uint64_t bytes, uint64_t stream) {
  return AddForKernel(block, ChildFill{to, bytes, static_cast<uint8_t>(value)}, stream);
}

uint32_t wharf_child_error(BlockContext* block, uint32_t take) {
  ChildLaunches* const children = WorkerOf(block).children();
  const CudaError error = children == nullptr ? CudaError::kNotSupported : children->LastError(take != 0);
  return static_cast<uint32_t>(error);
}

uint64_t wharf_error_text(BlockContext* block, uint32_t error) {
  ChildLaunches* const children = WorkerOf(block).children();
  return children == nullptr ? 0 : children->TextOf(error);
}

uint64_t wharf_clock() {
  return static_cast<uint64_t>(Nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

uint64_t wharf_global_timer() {
  return static_cast<uint64_t>(Nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // extern "C"
}  // namespace wharf::device::soft
