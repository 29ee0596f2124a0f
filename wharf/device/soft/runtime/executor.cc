#include "wharf/device/soft/runtime/executor.h"

#include <algorithm>

#include "wharf/device/soft/runtime/fault.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kChunksPerWorker = 8, kMaxChunk = 64;

// Blocks of suspendable kernels are handed out singly: they may wait for each other.
uint64_t ChunkFor(const KernelLaunch& launch, uint64_t workers) {
  if (launch.kernel->mode != ExecutionMode::kLoop) return 1;
  return std::clamp<uint64_t>(launch.config.grid.Count() / (workers * kChunksPerWorker), 1, kMaxChunk);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(int threads, KernelServices& services) {
  WHARF_RETURN_IF_ERROR(InstallFaultHandlers());
  const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const uint32_t count = threads > 0 ? std::min<uint32_t>(static_cast<uint32_t>(threads), 1024) : cores;
  std::unique_ptr<Executor> executor(new Executor(services));
  for (uint32_t i = 0; i < count; ++i) executor->workers_.push_back(std::make_unique<Worker>(i, count, services));
  for (uint32_t i = 1; i < count; ++i) {
    executor->threads_.emplace_back([e = executor.get(), i] { e->ThreadMain(*e->workers_[i]); });
  }
  return executor;
}

Executor::~Executor() {
  Stop();
  ending_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::Stop() {
  stopping_.store(true);
  absl::MutexLock lock(&mutex_);
  if (run_ != nullptr) run_->Fail(absl::CancelledError("the device is going away"));
}

void Executor::Work(Worker& worker, KernelRun& run) {
  run.active.fetch_add(1);
  worker.RunBlocks(run);
  if (run.active.fetch_sub(1) == 1) run.active.notify_all();
}

void Executor::ThreadMain(Worker& worker) {
  uint32_t seen = 0;
  for (;;) {
    epoch_.wait(seen);
    seen = epoch_.load();
    if (ending_.load()) break;
    std::shared_ptr<KernelRun> run;
    {
      absl::MutexLock lock(&mutex_);
      run = run_;
    }
    if (run != nullptr && worker.index() < run->max_workers) Work(worker, *run);
  }
  worker.Detach();
}

absl::Status Executor::Run(const KernelLaunch& launch) {
  auto run = std::make_shared<KernelRun>(launch, next_grid_id_++);
  run->chunk = ChunkFor(launch, workers_.size());
  run->max_workers = static_cast<uint32_t>(workers_.size());
  if (launch.kernel->mode == ExecutionMode::kSuspendable) {
    const size_t fit = MaxStacks() / launch.config.block.Count();
    run->max_workers = static_cast<uint32_t>(std::clamp<size_t>(fit, 1, workers_.size()));
  }
  const bool alone = run->blocks <= run->chunk || run->max_workers == 1;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_.load()) return absl::CancelledError("the device is going away");
    run_ = run;
  }
  if (!alone) {
    epoch_.fetch_add(1);
    epoch_.notify_all();
  }
  Work(*workers_[0], *run);
  for (uint32_t active = run->active.load(); active != 0; active = run->active.load()) run->active.wait(active);
  {
    absl::MutexLock lock(&mutex_);
    run_ = nullptr;
  }
  services_.output.Flush();
  return run->Fault();
}

}  // namespace wharf::device::soft
