#include "wharf/device/soft/runtime/executor.h"

#include <algorithm>
#include <utility>

#include "wharf/device/soft/runtime/fault.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kChunksPerWorker = 8, kMaxChunk = 64;
// Waking a thread takes some microseconds: less work than this is done sooner alone.
constexpr double kWorthWakingNs = 15'000;
constexpr size_t kMaxRemembered = 10'000;
// Of launches too short for helpers one in so many is timed: reading the clock twice takes a fifth as long as the rest
// of such a launch.
constexpr uint32_t kTimedEvery = 8;

// Blocks of suspendable kernels are handed out singly: they may wait for each other.
uint64_t ChunkFor(const KernelLaunch& launch, uint64_t workers) {
  if (launch.kernel->mode != ExecutionMode::kLoop) return 1;
  if (workers == 1) return launch.config.grid.Count();
  return std::clamp<uint64_t>(launch.config.grid.Count() / (workers * kChunksPerWorker), 1, kMaxChunk);
}

}  // namespace

uint32_t Executor::WorkersFor(int threads) {
  if (threads > 0) return std::min<uint32_t>(static_cast<uint32_t>(threads), 1024);
  return std::max(1u, std::thread::hardware_concurrency());
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(int threads, KernelServices& services) {
  WHARF_RETURN_IF_ERROR(InstallFaultHandlers());
  const uint32_t count = WorkersFor(threads);
  if (count > services.memory.windows()) {
    return InvalidArgument("{} workers, but device memory has windows for {}", count, services.memory.windows());
  }
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
  if (current_ != nullptr) current_->Fail(absl::CancelledError("the device is going away"));
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
      run = shared_run_;
    }
    if (run != nullptr && worker.index() < run->max_workers) Work(worker, *run);
  }
  worker.Detach();
}

uint32_t Executor::MaxWorkers(const KernelLaunch& launch) const {
  if (launch.kernel->mode == ExecutionMode::kLoop) return static_cast<uint32_t>(workers_.size());
  const size_t fit = MaxStacks() / launch.config.block.Count();
  return static_cast<uint32_t>(std::clamp<size_t>(fit, 1, workers_.size()));
}

size_t Executor::HelpersFor(const KernelLaunch& launch, uint32_t max_workers, Costs::const_iterator cost) const {
  const uint64_t blocks = launch.config.grid.Count(), chunk = ChunkFor(launch, workers_.size());
  const size_t most = std::min<uint64_t>(max_workers, (blocks + chunk - 1) / chunk) - 1;
  if (cost == costs_.end()) return most;
  return static_cast<size_t>(
      std::min(static_cast<double>(most), cost->second.block_ns * static_cast<double>(blocks) / kWorthWakingNs));
}

void Executor::Wake(size_t helpers) {
  epoch_.fetch_add(1);
  if (helpers + 1 == workers_.size()) return epoch_.notify_all();
  for (size_t i = 0; i < helpers; ++i) epoch_.notify_one();
}

void Executor::Begin(KernelRun& run, std::shared_ptr<KernelRun> shared) {
  absl::MutexLock lock(&mutex_);
  current_ = &run;
  shared_run_ = std::move(shared);
  if (stopping_.load()) run.Fail(absl::CancelledError("the device is going away"));
}

void Executor::End() {
  absl::MutexLock lock(&mutex_);
  current_ = nullptr;
  shared_run_ = nullptr;
}

absl::Status Executor::RunAlone(const KernelLaunch& launch) {
  KernelRun run(launch, next_grid_id_++);
  run.chunk = ChunkFor(launch, 1);
  Begin(run, nullptr);
  workers_[0]->RunBlocks(run);
  End();
  return run.Fault();
}

absl::Status Executor::RunShared(const KernelLaunch& launch, uint32_t max_workers, size_t helpers) {
  const auto run = std::make_shared<KernelRun>(launch, next_grid_id_++);
  run->chunk = ChunkFor(launch, workers_.size());
  run->max_workers = max_workers;
  Begin(*run, run);
  Wake(helpers);
  Work(*workers_[0], *run);
  for (uint32_t active = run->active.load(); active != 0; active = run->active.load()) run->active.wait(active);
  End();
  return run->Fault();
}

absl::Status Executor::RunTimed(const KernelLaunch& launch, uint32_t max_workers, size_t helpers) {
  const TimePoint start = Clock::Real().Now();
  absl::Status status = helpers == 0 ? RunAlone(launch) : RunShared(launch, max_workers, helpers);
  const Nanoseconds took = Clock::Real().Now() - start;
  helpers_time_ += took * static_cast<int64_t>(helpers);
  if (costs_.size() >= kMaxRemembered) costs_.clear();
  costs_[launch.kernel] = {static_cast<double>(took.count()) * static_cast<double>(helpers + 1) /
                           static_cast<double>(launch.config.grid.Count())};
  return status;
}

absl::Status Executor::Run(const KernelLaunch& launch) {
  const auto cost = costs_.find(launch.kernel);
  const uint32_t max_workers = MaxWorkers(launch);
  const size_t helpers = HelpersFor(launch, max_workers, cost);
  const bool timed = helpers > 0 || cost == costs_.end() || ++cost->second.untimed == kTimedEvery;
  absl::Status status = timed ? RunTimed(launch, max_workers, helpers) : RunAlone(launch);
  services_.output.Flush();
  return status;
}

}  // namespace wharf::device::soft
