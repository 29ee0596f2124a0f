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
// How often a kernel that has run too long is interrupted until it ends.
constexpr Nanoseconds kLeastWatch = std::chrono::milliseconds(2);
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

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(int threads, KernelServices& services, Nanoseconds limit) {
  WHARF_RETURN_IF_ERROR(InstallFaultHandlers());
  const uint32_t count = WorkersFor(threads);
  if (count > services.memory.windows()) {
    return InvalidArgument("{} workers, but device memory has windows for {}", count, services.memory.windows());
  }
  std::unique_ptr<Executor> executor(new Executor(services, limit));
  for (uint32_t i = 0; i < count; ++i) executor->workers_.push_back(std::make_unique<Worker>(i, count, services));
  for (uint32_t i = 1; i < count; ++i) {
    executor->threads_.emplace_back([e = executor.get(), i] { e->ThreadMain(*e->workers_[i]); });
  }
  if (limit > Nanoseconds(0)) executor->watch_ = std::thread([e = executor.get()] { e->Watch(); });
  return executor;
}

Executor::~Executor() {
  Stop();
  {
    absl::MutexLock lock(&mutex_);
    ending_.store(true);
    ended_.Signal();
  }
  if (watch_.joinable()) watch_.join();
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::Stop() {
  stopping_.store(true);
  absl::MutexLock lock(&mutex_);
  if (current_ != nullptr) current_->Fail(absl::CancelledError("the device is going away"));
}

bool Executor::IsOverdue() const { return current_ != nullptr && Clock::Real().Now() - began_ >= limit_; }

void Executor::Watch() {
  absl::MutexLock lock(&mutex_);
  while (!ending_.load()) {
    if (IsOverdue()) EndOverdue();
    // What begins while this sleeps is not overdue before it wakes.
    const Nanoseconds left = current_ == nullptr ? limit_ : began_ + limit_ - Clock::Real().Now();
    ended_.WaitWithTimeout(&mutex_, absl::Nanoseconds(std::max(left, kLeastWatch).count()));
  }
}

void Executor::EndOverdue() {
  current_->Fail(CudaStatus(CudaError::kLaunchTimeout, "kernel {} was still running after {:g} s, its time limit",
                            current_->launch.name, Seconds(limit_)));
  NoteLoadedCode();
  const uint32_t grid = current_->grid_id;
  while (!ending_.load() && current_ != nullptr && current_->grid_id == grid) {
    for (const auto& worker : workers_) worker->Interrupt();
    ended_.WaitWithTimeout(&mutex_, absl::Nanoseconds(kLeastWatch.count()));
  }
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

bool Executor::IsResident(const LaunchConfig& config) const {
  const uint64_t blocks = config.grid.Count(), workers = std::min<uint64_t>(workers_.size(), blocks);
  const uint64_t each = (blocks + workers - 1) / workers;
  return each <= Memory::kMaxBlocks && workers * each * config.block.Count() <= MaxStacks();
}

bool Executor::IsTogether(const KernelLaunch& launch) const {
  if (launch.kernel->mode == ExecutionMode::kLoop) return false;
  return launch.config.cooperative || (launch.kernel->waits && IsResident(launch.config));
}

uint32_t Executor::ResidentFor(const KernelLaunch& launch, uint64_t workers) const {
  if (!IsTogether(launch)) return 1;
  return static_cast<uint32_t>((launch.config.grid.Count() + workers - 1) / workers);
}

absl::Status Executor::PrepareCooperative() {
  struct Workspace {  // CUDA's
    uint32_t bytes, barrier;
  };
  if (services_.grid_workspace == 0) {
    WHARF_ASSIGN_OR_RETURN(services_.grid_workspace, services_.memory.Allocate(sizeof(Workspace)));
  }
  *reinterpret_cast<Workspace*>(services_.grid_workspace) = {sizeof(Workspace), 0};
  return absl::OkStatus();
}

uint32_t Executor::MaxWorkers(const KernelLaunch& launch) const {
  if (IsTogether(launch)) {
    return static_cast<uint32_t>(std::min<uint64_t>(workers_.size(), launch.config.grid.Count()));
  }
  if (launch.kernel->mode == ExecutionMode::kLoop) return static_cast<uint32_t>(workers_.size());
  const size_t fit = MaxStacks() / launch.config.block.Count();
  return static_cast<uint32_t>(std::clamp<size_t>(fit, 1, workers_.size()));
}

size_t Executor::HelpersFor(const KernelLaunch& launch, uint32_t max_workers, Costs::const_iterator cost) const {
  if (IsTogether(launch)) return max_workers - 1;
  const uint64_t blocks = launch.config.grid.Count(), chunk = ChunkFor(launch, workers_.size());
  const size_t most = std::min<uint64_t>(max_workers, (blocks + chunk - 1) / chunk) - 1;
  if (cost == costs_.end()) return most;
  return static_cast<size_t>(
      std::min(static_cast<double>(most), cost->second.block_ns * static_cast<double>(blocks) / kWorthWakingNs));
}

void Executor::Wake(size_t helpers, bool all) {
  epoch_.fetch_add(1);
  if (all || helpers + 1 == workers_.size()) return epoch_.notify_all();
  for (size_t i = 0; i < helpers; ++i) epoch_.notify_one();
}

void Executor::Begin(KernelRun& run, std::shared_ptr<KernelRun> shared) {
  absl::MutexLock lock(&mutex_);
  current_ = &run;
  shared_run_ = std::move(shared);
  if (limit_ > Nanoseconds(0)) began_ = Clock::Real().Now();
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
  run.resident = ResidentFor(launch, 1);
  if (launch.config.cooperative) run.grid_workspace = services_.grid_workspace;
  Begin(run, nullptr);
  workers_[0]->RunBlocks(run);
  End();
  return run.Fault();
}

absl::Status Executor::RunShared(const KernelLaunch& launch, uint32_t max_workers, size_t helpers) {
  const auto run = std::make_shared<KernelRun>(launch, next_grid_id_++);
  run->chunk = ChunkFor(launch, workers_.size());
  run->max_workers = max_workers;
  run->resident = ResidentFor(launch, max_workers);
  if (launch.config.cooperative) run->grid_workspace = services_.grid_workspace;
  Begin(*run, run);
  Wake(helpers, IsTogether(launch));  // a cooperative launch needs just those workers that it is shared out to
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
  if (launch.config.cooperative) WHARF_RETURN_IF_ERROR(PrepareCooperative());
  const auto cost = costs_.find(launch.kernel);
  const uint32_t max_workers = MaxWorkers(launch);
  const size_t helpers = HelpersFor(launch, max_workers, cost);
  const bool timed = helpers > 0 || cost == costs_.end() || ++cost->second.untimed == kTimedEvery;
  absl::Status status = timed ? RunTimed(launch, max_workers, helpers) : RunAlone(launch);
  services_.output.Flush();
  if (services_.findings != nullptr && launch.kernel->sites != nullptr) services_.findings->EndKernel();
  return status;
}

}  // namespace wharf::device::soft
