#include "wharf/device/soft/runtime/worker.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>

namespace wharf::device::soft {
namespace {

#if defined(WHARF_ASAN) || defined(WHARF_TSAN)
constexpr size_t kStackMargin = 512 << 10;
#else
constexpr size_t kStackMargin = 48 << 10;  // spilled registers and the runtime's own functions (printf)
#endif
constexpr size_t kLoopStackMargin = 4 << 20;
constexpr size_t kLoopLanes = 64;  // a vectorised loop may hold the local arrays of several threads at once

}  // namespace

Worker::~Worker() {
  if (window_ != nullptr) munmap(window_, kSharedWindow);
}

absl::Status Worker::Attach() {
  InitialiseThreadContext(main_);
  frame_.main = &main_;
  fault_scope_.emplace(frame_);
  void* window = mmap(nullptr, kSharedWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (window == MAP_FAILED) return ErrnoStatus(errno, "reserving the shared memory window");
  window_ = static_cast<std::byte*>(window);
  return absl::OkStatus();
}

absl::Status Worker::PrepareShared(uint64_t bytes) {
  constexpr uint64_t kPage = Memory::kGranularity;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (bytes > shared_bytes_ && mprotect(window_ + shared_bytes_, bytes - shared_bytes_, PROT_READ | PROT_WRITE) != 0) {
    return ErrnoStatus(errno, "mapping shared memory");
  }
  if (bytes < shared_bytes_ && mprotect(window_ + bytes, shared_bytes_ - bytes, PROT_NONE) != 0) {
    return ErrnoStatus(errno, "unmapping shared memory");
  }
  shared_bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status Worker::Prepare(KernelRun& run) {
  if (window_ == nullptr) WHARF_RETURN_IF_ERROR(Attach());
  const CompiledKernel& kernel = *run.launch.kernel;
  const LaunchConfig& config = run.launch.config;
  const uint32_t shared = kernel.static_shared_bytes + config.shared_bytes;
  WHARF_RETURN_IF_ERROR(PrepareShared(shared));
  block_.global = nullptr;
  block_.shared = window_;
  block_.parameters = run.launch.parameters;
  const auto set = [](uint32_t(&to)[3], const Dim3& from) { to[0] = from.x, to[1] = from.y, to[2] = from.z; };
  set(block_.grid, config.grid);
  set(block_.block, config.block);
  block_.dynamic_shared_bytes = config.shared_bytes;
  block_.total_shared_bytes = shared;
  block_.worker = index_;
  block_.workers = count_;
  block_.grid_id = run.grid_id;
  block_.global_begin = services.memory.begin();
  block_.global_end = services.memory.end();
  block_.owner = this;
  run_ = &run;
  if (kernel.mode == ExecutionMode::kLoop) {
    const size_t bytes = kLoopStackMargin + size_t{kernel.local_bytes} * kLoopLanes;
    if (loop_stack_.count() == 0 || loop_stack_.bytes() < bytes) {
      loop_ready_ = false;
      WHARF_RETURN_IF_ERROR(loop_stack_.Prepare(1, bytes));
    }
  } else {
    WHARF_RETURN_IF_ERROR(thread_stacks_.Prepare(config.block.Count(), kStackMargin + kernel.local_bytes));
    scheduler_.Prepare(run, block_);
  }
  return absl::OkStatus();
}

void Worker::RunBlocks(KernelRun& run) {
  bool prepared = false;
  const Dim3 grid = run.launch.config.grid;
  while (!run.stop.load(std::memory_order_relaxed)) {
    const uint64_t first = run.next_block.fetch_add(run.chunk, std::memory_order_relaxed);
    if (first >= run.blocks) return;
    if (!prepared) {
      if (absl::Status status = Prepare(run); !status.ok()) {
        return run.Fail(
            CudaStatus(CudaError::kLaunchOutOfResources, "kernel {}: {}", run.launch.name, Message(status)));
      }
      prepared = true;
    }
    block_.cta[0] = static_cast<uint32_t>(first % grid.x);
    block_.cta[1] = static_cast<uint32_t>(first / grid.x % grid.y);
    block_.cta[2] = static_cast<uint32_t>(first / grid.x / grid.y);
    blocks_left_ = std::min(run.chunk, run.blocks - first);
    if (absl::Status status = RunChunk(); !status.ok()) run.Fail(std::move(status));
  }
}

// On to the next block of the grid.
void Worker::NextBlock() {
  if (++block_.cta[0] != block_.grid[0]) return;
  block_.cta[0] = 0;
  if (++block_.cta[1] != block_.grid[1]) return;
  block_.cta[1] = 0;
  ++block_.cta[2];
}

absl::Status Worker::RunChunk() {
  frame_.signal = 0;
  absl::Status status;
  if (run_->launch.kernel->mode == ExecutionMode::kLoop) {
    status = RunLoop();
  } else {
    for (; blocks_left_ > 0 && status.ok() && !run_->stop.load(std::memory_order_relaxed); --blocks_left_) {
      status = scheduler_.RunBlock(frame_);
      if (frame_.signal != 0) break;
      NextBlock();
    }
  }
  if (frame_.signal == 0) return status;
  std::fesetenv(FE_DFL_ENV);  // the kernel may have been left with another rounding mode
  return SignalStatus();
}

// One switch of stacks for a whole chunk: blocks may be as short as a switch.
void Worker::LoopMain(void* self) {
  OnContextEntry();
  auto& worker = *static_cast<Worker*>(self);
  for (;;) {
    const LoopEntry entry = worker.run_->launch.kernel->loop_entry;
    for (; worker.blocks_left_ > 0 && !worker.run_->stop.load(std::memory_order_relaxed); --worker.blocks_left_) {
      entry(&worker.block_);
      worker.NextBlock();
    }
    worker.loop_ready_ = true;
    Switch(worker.loop_stack_.ContextOf(0), worker.main_);
  }
}

absl::Status Worker::RunLoop() {
  Context& context = loop_stack_.ContextOf(0);
  if (!loop_ready_) {
    ResetContext(context, loop_stack_.Bottom(0), loop_stack_.Bottom(0) + loop_stack_.bytes());
    InitialiseContext(context, loop_stack_.Bottom(0), loop_stack_.Top(0), &LoopMain, this);
  }
  loop_ready_ = false;  // true again if the chunk ends by itself
  loop_fault_ = absl::OkStatus();
  frame_.armed = true;
  Switch(main_, context);
  AfterRestore(main_);
  frame_.armed = false;
  return loop_fault_;
}

void Worker::SetFault(absl::Status status) {
  if (run_->launch.kernel->mode != ExecutionMode::kLoop) return scheduler_.SetFault(std::move(status));
  loop_fault_ = std::move(status);
}

void Worker::LeaveBlock() {
  if (run_->launch.kernel->mode != ExecutionMode::kLoop) scheduler_.LeaveBlock();
  SwitchForever(main_);
}

std::string Worker::BlockName() const {
  return fmt::format("kernel {}, block ({},{},{})", run_->launch.name, block_.cta[0], block_.cta[1], block_.cta[2]);
}

absl::Status Worker::SignalStatus() const {
  const uintptr_t address = frame_.address;
  const auto window = reinterpret_cast<uintptr_t>(window_);
  switch (frame_.signal) {
    case SIGFPE:
      return CudaStatus(CudaError::kLaunchFailure, "{}: arithmetic fault", BlockName());
    case SIGILL:
      return CudaStatus(CudaError::kIllegalInstruction, "{}: illegal instruction", BlockName());
    default:
      break;
  }
  if (!frame_.address_known) {
    return CudaStatus(CudaError::kIllegalAddress, "{}: access to an address that is misaligned or cannot exist",
                      BlockName());
  }
  if (thread_stacks_.InGuard(address) || loop_stack_.InGuard(address)) {
    return CudaStatus(CudaError::kLaunchFailure, "{}: stack overflow: too deep a recursion or too much local memory",
                      BlockName());
  }
  if (address >= window && address - window < kSharedWindow) {
    return CudaStatus(CudaError::kIllegalAddress, "{}: access at offset {:#x} of {} bytes of shared memory",
                      BlockName(), address - window, block_.total_shared_bytes);
  }
  return CudaStatus(CudaError::kIllegalAddress, "{}: access at {:#x}, which is not allocated", BlockName(), address);
}

uint64_t Worker::ReadableBytes(uint64_t address) const {
  const auto window = reinterpret_cast<uintptr_t>(window_);
  if (address >= window && address - window < shared_bytes_) return shared_bytes_ - (address - window);
  for (const StackPool* pool : {&thread_stacks_, &loop_stack_}) {
    if (const uint64_t bytes = pool->BytesAt(address); bytes != 0) return bytes;
  }
  return services.memory.LiveBytesAt(address);
}

}  // namespace wharf::device::soft
