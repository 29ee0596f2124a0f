#include "wharf/device/soft/runtime/worker.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstring>

namespace wharf::device::soft {
namespace {

#if defined(WHARF_ASAN) || defined(WHARF_TSAN)
constexpr size_t kStackMargin = 512 << 10;
#else
constexpr size_t kStackMargin = 48 << 10;  // spilled registers and the runtime's own functions (printf)
#endif
constexpr size_t kLoopStackBytes = 4 << 20;
constexpr uint64_t kLocalMargin = 64 << 10;  // for functions that call themselves, and for alloca

// Of one thread, in whole pages; nothing if the kernel's code has no use for it.
uint64_t LocalStackBytes(const CompiledKernel& kernel) {
  if (kernel.local_stack_bytes == 0) return 0;
  constexpr uint64_t kPage = Memory::kGranularity;
  return (kernel.local_stack_bytes + kLocalMargin + kPage - 1) / kPage * kPage;
}

}  // namespace

Worker::~Worker() {
  if (window_ == nullptr) return;
  // Gives the pages back and takes access away.
  mmap(window_, Memory::kWindowBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

absl::Status Worker::Attach() {
  InitialiseThreadContext(main_);
  frame_.main = &main_;
  fault_scope_.emplace(frame_);
  std::byte* window = services.memory.Window(index_);
  if (mprotect(window + Memory::kParametersOffset, Memory::kParametersBytes, PROT_READ | PROT_WRITE) != 0) {
    return ErrnoStatus(errno, "mapping memory for parameters");
  }
  window_ = window;
  return absl::OkStatus();
}

absl::Status Worker::PrepareParameters(const KernelLaunch& launch) {
  const uint32_t bytes = launch.kernel->parameter_bytes;
  if (bytes > Memory::kParametersBytes) return ResourceExhausted("{} bytes of parameters are too many", bytes);
  std::byte* parameters = window_ + Memory::kParametersOffset;
  if (bytes != 0) std::memcpy(parameters, launch.parameters, bytes);
  block_.parameters = parameters;
  return absl::OkStatus();
}

absl::Status Worker::PrepareLocal(uint64_t threads, uint64_t bytes) {
  std::byte* local = window_ + Memory::kLocalOffset;
  if (threads != 0 && bytes > Memory::kLocalBytes / threads) {
    return ResourceExhausted("{} bytes of local memory for each of {} threads are too many", bytes, threads);
  }
  if (threads * bytes > local_bytes_) {
    if (mprotect(local + local_bytes_, threads * bytes - local_bytes_, PROT_READ | PROT_WRITE) != 0) {
      return ErrnoStatus(errno, "mapping local memory");
    }
    local_bytes_ = threads * bytes;
  }
  block_.local_begin = reinterpret_cast<uintptr_t>(local);
  block_.local_end = block_.local_begin + local_bytes_;
  block_.local_limit = block_.local_begin;
  block_.local_stack = block_.local_begin + bytes;
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
  WHARF_RETURN_IF_ERROR(PrepareParameters(run.launch));
  const bool loop = kernel.mode == ExecutionMode::kLoop;
  const uint64_t local = LocalStackBytes(kernel);
  WHARF_RETURN_IF_ERROR(PrepareLocal(loop ? 1 : config.block.Count(), local));
  block_.global = nullptr;
  block_.shared = window_;
  block_.memory = services.memory.confined_begin();
  block_.memory_span = services.memory.confined_bytes();
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
  if (!loop) {
    WHARF_RETURN_IF_ERROR(thread_stacks_.Prepare(config.block.Count(), kStackMargin + kernel.local_bytes));
    scheduler_.Prepare(run, block_, local);
  } else if (loop_stack_.count() == 0) {
    loop_ready_ = false;
    WHARF_RETURN_IF_ERROR(loop_stack_.Prepare(1, kLoopStackBytes));
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
  block_.local_stack = block_.local_limit + LocalStackBytes(*run_->launch.kernel);  // a fault leaves it anywhere
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
  const auto outside = reinterpret_cast<uintptr_t>(services.memory.confined_begin()) + services.memory.confined_bytes();
  if (address + kAddressSlack >= outside && address - outside < kAddressSlack) {
    return CudaStatus(CudaError::kIllegalAddress, "{}: access to an address that is not device memory", BlockName());
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
  const uint64_t parameters = address - (window + Memory::kParametersOffset);
  if (parameters < Memory::kParametersBytes) return Memory::kParametersBytes - parameters;
  const uint64_t local = address - (window + Memory::kLocalOffset);
  if (local < local_bytes_) return local_bytes_ - local;
  return services.memory.LiveBytesAt(address);
}

}  // namespace wharf::device::soft
