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
  const uint64_t page = Memory::kGranularity;
  return (kernel.local_stack_bytes + kLocalMargin + page - 1) / page * page;
}

void SetPlace(const Dim3& grid, uint64_t index, BlockState* block) {
  block->cta[0] = static_cast<uint32_t>(index % grid.x);
  block->cta[1] = static_cast<uint32_t>(index / grid.x % grid.y);
  block->cta[2] = static_cast<uint32_t>(index / grid.x / grid.y);
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
  thread_ = pthread_self();
  attached_.store(true);
  return absl::OkStatus();
}

absl::Status Worker::PrepareParameters(const KernelLaunch& launch) {
  const uint32_t bytes = launch.kernel->parameter_bytes;
  if (bytes > Memory::kParametersBytes) return ResourceExhausted("{} bytes of parameters are too many", bytes);
  std::byte* parameters = window_ + Memory::kParametersOffset;
  if (bytes != 0) std::memcpy(parameters, launch.parameters, bytes);
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
  return absl::OkStatus();
}

absl::Status Worker::SetShared(uint32_t index, uint64_t bytes) {
  std::byte* const shared = SharedOf(index);
  uint64_t& now = shared_bytes_[index];
  if (bytes > now && mprotect(shared + now, bytes - now, PROT_READ | PROT_WRITE) != 0) {
    return ErrnoStatus(errno, "mapping shared memory");
  }
  if (bytes < now && mprotect(shared + bytes, now - bytes, PROT_NONE) != 0) {
    return ErrnoStatus(errno, "unmapping shared memory");
  }
  now = bytes;
  return absl::OkStatus();
}

absl::Status Worker::PrepareShared(uint64_t bytes, uint32_t blocks) {
  const uint64_t page = Memory::kGranularity;
  bytes = (bytes + page - 1) / page * page;
  for (uint32_t i = 0; i < residents_.size(); ++i) WHARF_RETURN_IF_ERROR(SetShared(i, i < blocks ? bytes : 0));
  return absl::OkStatus();
}

// `local`: bytes of local memory of a thread.
void Worker::FillBlock(const KernelRun& run, uint32_t index, uint64_t local) {
  const LaunchConfig& config = run.launch.config;
  const uint64_t threads = run.launch.kernel->mode == ExecutionMode::kLoop ? 1 : config.block.Count();
  BlockState& block = residents_[index]->block;
  block.global = nullptr;
  block.shared = SharedOf(index);
  block.parameters = window_ + Memory::kParametersOffset;
  block.memory = services.memory.confined_begin();
  block.memory_span = services.memory.confined_bytes();
  block.local_begin = reinterpret_cast<uintptr_t>(window_ + Memory::kLocalOffset) + index * threads * local;
  block.local_end = block.local_begin + threads * local;
  block.local_limit = block.local_begin;
  block.local_stack = block.local_begin + local;
  const auto set = [](uint32_t(&to)[3], const Dim3& from) { to[0] = from.x, to[1] = from.y, to[2] = from.z; };
  set(block.grid, config.grid);
  set(block.block, config.block);
  block.dynamic_shared_bytes = config.shared_bytes;
  block.total_shared_bytes = run.launch.kernel->static_shared_bytes + config.shared_bytes;
  block.worker = index_;
  block.workers = count_;
  block.grid_id = run.grid_id;
  block.global_begin = services.memory.begin();
  block.global_end = services.memory.end();
  block.grid_workspace = run.grid_workspace;
  block.owner = this;
}

absl::Status Worker::Prepare(KernelRun& run) {
  if (window_ == nullptr) WHARF_RETURN_IF_ERROR(Attach());
  const CompiledKernel& kernel = *run.launch.kernel;
  const LaunchConfig& config = run.launch.config;
  if (run.resident > Memory::kMaxBlocks) return ResourceExhausted("{} blocks at once are too many", run.resident);
  while (residents_.size() < run.resident) {
    residents_.push_back(std::make_unique<Resident>(main_, thread_stacks_));
  }
  WHARF_RETURN_IF_ERROR(PrepareShared(kernel.static_shared_bytes + config.shared_bytes, run.resident));
  WHARF_RETURN_IF_ERROR(PrepareParameters(run.launch));
  const bool loop = kernel.mode == ExecutionMode::kLoop;
  const uint64_t local = LocalStackBytes(kernel);
  WHARF_RETURN_IF_ERROR(PrepareLocal(loop ? 1 : run.resident * config.block.Count(), local));
  for (uint32_t i = 0; i < run.resident; ++i) FillBlock(run, i, local);
  run_ = &run;
  frame_.stopped = &run.stop;
  if (!loop) return PrepareThreads(run, local);
  if (loop_stack_.count() == 0) {
    loop_ready_ = false;
    WHARF_RETURN_IF_ERROR(loop_stack_.Prepare(1, kLoopStackBytes));
  }
  return absl::OkStatus();
}

absl::Status Worker::PrepareThreads(KernelRun& run, uint64_t local) {
  const auto threads = static_cast<uint32_t>(run.launch.config.block.Count());
  const size_t stack_bytes = kStackMargin + run.launch.kernel->local_bytes;
  WHARF_RETURN_IF_ERROR(thread_stacks_.Prepare(size_t{run.resident} * threads, stack_bytes));
  for (uint32_t i = 0; i < run.resident; ++i) {
    residents_[i]->scheduler.Prepare(run, residents_[i]->block, local, i * threads);
  }
  return absl::OkStatus();
}

void Worker::RunBlocks(KernelRun& run) {
  if (run.stop.load(std::memory_order_relaxed) || run.next_block.load(std::memory_order_relaxed) >= run.blocks) return;
  resident_ = residents_[0].get();
  if (absl::Status status = Prepare(run); !status.ok()) {
    return run.Fail(CudaStatus(CudaError::kLaunchOutOfResources, "kernel {}: {}", run.launch.name, Message(status)));
  }
  if (run.resident > 1) return RunTogether(run);
  RunByChunks(run);
}

void Worker::RunByChunks(KernelRun& run) {
  while (!run.stop.load(std::memory_order_relaxed)) {
    const uint64_t first = run.next_block.fetch_add(run.chunk, std::memory_order_relaxed);
    if (first >= run.blocks) return;
    SetPlace(run.launch.config.grid, first, &block());
    blocks_left_ = std::min(run.chunk, run.blocks - first);
    if (absl::Status status = RunChunk(); !status.ok()) run.Fail(std::move(status));
  }
}

void Worker::RunTogether(KernelRun& run) {
  std::vector<Resident*> idle, present;
  for (uint32_t i = 0; i < run.resident; ++i) idle.push_back(residents_[i].get());
  while (!run.stop.load(std::memory_order_relaxed)) {
    while (!idle.empty()) {
      const uint64_t next = run.next_block.fetch_add(1, std::memory_order_relaxed);
      if (next >= run.blocks) break;
      Resident* const resident = idle.back();
      idle.pop_back();
      present.push_back(resident);
      SetPlace(run.launch.config.grid, next, &resident->block);
      resident->scheduler.StartBlock(/*gives_way=*/true);
    }
    if (present.empty()) return;
    for (size_t i = 0; i < present.size() && !run.stop.load(std::memory_order_relaxed);) {
      resident_ = present[i];
      frame_.signal = 0;
      if (absl::Status status = Outcome(resident_->scheduler.ResumeBlock(frame_)); !status.ok()) {
        run.Fail(std::move(status));
      }
      if (resident_->scheduler.Paused()) {
        ++i;
      } else {
        idle.push_back(resident_);
        present.erase(present.begin() + static_cast<ptrdiff_t>(i));
      }
    }
  }
  for (Resident* const resident : present) resident->scheduler.AbandonBlock();
}

// On to the next block of the grid.
void Worker::NextBlock() {
  BlockState& b = block();
  if (++b.cta[0] != b.grid[0]) return;
  b.cta[0] = 0;
  if (++b.cta[1] != b.grid[1]) return;
  b.cta[1] = 0;
  ++b.cta[2];
}

absl::Status Worker::RunChunk() {
  frame_.signal = 0;
  absl::Status status;
  if (run_->launch.kernel->mode == ExecutionMode::kLoop) {
    status = RunLoop();
  } else {
    for (; blocks_left_ > 0 && status.ok() && !run_->stop.load(std::memory_order_relaxed); --blocks_left_) {
      status = resident_->scheduler.RunBlock(frame_);
      if (frame_.signal != 0) break;
      NextBlock();
    }
  }
  return Outcome(std::move(status));
}

absl::Status Worker::Outcome(absl::Status status) {
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
      entry(&worker.block());
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
  block().local_stack = block().local_limit + LocalStackBytes(*run_->launch.kernel);  // a fault leaves it anywhere
  frame_.armed = true;
  Switch(main_, context);
  AfterRestore(main_);
  frame_.armed = false;
  return loop_fault_;
}

void Worker::SetFault(absl::Status status) {
  if (run_->launch.kernel->mode != ExecutionMode::kLoop) return resident_->scheduler.SetFault(std::move(status));
  loop_fault_ = std::move(status);
}

void Worker::LeaveBlock() {
  if (run_->launch.kernel->mode != ExecutionMode::kLoop) resident_->scheduler.LeaveBlock();
  SwitchForever(main_);
}

std::string Worker::BlockName() const {
  return fmt::format("kernel {}, block ({},{},{})", run_->launch.name, block().cta[0], block().cta[1], block().cta[2]);
}

absl::Status Worker::SignalStatus() const {
  const uintptr_t address = frame_.address;
  const auto shared = reinterpret_cast<uintptr_t>(block().shared);
  switch (frame_.signal) {
    case kInterrupt:
      return absl::OkStatus();  // the run says why it was stopped
    case SIGFPE:
      return CudaStatus(CudaError::kLaunchFailure, "{}: arithmetic fault", BlockName());
    case SIGILL:
    case SIGTRAP:
      return CudaStatus(CudaError::kIllegalInstruction, "{}: illegal instruction", BlockName());
    default:
      break;
  }
  if (!frame_.address_known || frame_.signal == SIGBUS) {
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
  if (address >= shared && address - shared < kSharedWindow) {
    return CudaStatus(CudaError::kIllegalAddress, "{}: access at offset {:#x} of {} bytes of shared memory",
                      BlockName(), address - shared, block().total_shared_bytes);
  }
  return CudaStatus(CudaError::kIllegalAddress, "{}: access at {:#x}, which is not allocated", BlockName(), address);
}

uint64_t Worker::ReadableBytes(uint64_t address) const {
  const auto window = reinterpret_cast<uintptr_t>(window_);
  const uint64_t shared = address - (window + Memory::kSharedOffset), index = shared / Memory::kSharedStride;
  if (index < residents_.size()) {
    const uint64_t offset = shared % Memory::kSharedStride;
    return offset < shared_bytes_[index] ? shared_bytes_[index] - offset : 0;
  }
  const uint64_t parameters = address - (window + Memory::kParametersOffset);
  if (parameters < Memory::kParametersBytes) return Memory::kParametersBytes - parameters;
  const uint64_t local = address - (window + Memory::kLocalOffset);
  if (local < local_bytes_) return local_bytes_ - local;
  return services.memory.LiveBytesAt(address);
}

}  // namespace wharf::device::soft
