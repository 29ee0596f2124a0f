// What suspending threads costs: barriers, warp operations, and launching itself. Kernels are C++ functions with the
// signature of compiled code.
#include <benchmark/benchmark.h>

#include <memory>

#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/executor.h"

namespace wharf::device::soft {
namespace {

constexpr uint32_t kRounds = 100;

struct Machine {
  Machine()
      : memory(*Memory::Create(uint64_t{16} << 20)), services(*memory), executor(*Executor::Create(1, services)) {}
  ~Machine() { executor->Detach(); }

  void Run(const CompiledKernel& kernel, uint32_t blocks, uint32_t threads) {
    const LaunchConfig config{.grid = {blocks}, .block = {threads}};
    if (!executor->Run({.kernel = &kernel, .name = "k", .config = config}).ok()) std::abort();
  }

  std::unique_ptr<Memory> memory;
  KernelServices services;
  std::unique_ptr<Executor> executor;
};

void Barriers(ThreadContext* thread) {
  for (uint32_t i = 0; i < kRounds; ++i) wharf_barrier_sync(thread, 0, 0);
}

void Shuffles(ThreadContext* thread) {
  uint32_t value = thread->lane;
  for (uint32_t i = 0; i < kRounds; ++i) {
    value += wharf_shuffle(thread, static_cast<uint32_t>(ShuffleMode::kBfly), value, 1, 31, ~0u, nullptr);
  }
  benchmark::DoNotOptimize(value);
}

void Votes(ThreadContext* thread) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < kRounds; ++i) {
    value += wharf_vote(thread, static_cast<uint32_t>(VoteMode::kBallot), (thread->lane + i) & 1, ~0u);
  }
  benchmark::DoNotOptimize(value);
}

void Nothing(ThreadContext*) {}
void NothingLoop(BlockContext*) {}

// Time per thread and operation, one worker.
void RunThreads(benchmark::State& state, ThreadEntry entry, uint32_t operations) {
  Machine machine;
  CompiledKernel kernel;
  kernel.mode = ExecutionMode::kSuspendable;
  kernel.thread_entry = entry;
  const auto threads = static_cast<uint32_t>(state.range(0));
  for (auto _ : state) machine.Run(kernel, 16, threads);
  state.counters["per_thread_op"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 16 * threads * operations,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(RunThreads, barrier, &Barriers, kRounds)->Arg(32)->Arg(128)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(RunThreads, shuffle, &Shuffles, kRounds)->Arg(32)->Arg(128)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(RunThreads, vote, &Votes, kRounds)->Arg(32)->Arg(256);
BENCHMARK_CAPTURE(RunThreads, start_and_end, &Nothing, 1)->Arg(32)->Arg(256)->Arg(1024);

void LaunchEmpty(benchmark::State& state) {
  Machine machine;
  CompiledKernel kernel;
  kernel.loop_entry = &NothingLoop;
  for (auto _ : state) machine.Run(kernel, static_cast<uint32_t>(state.range(0)), 128);
}
BENCHMARK(LaunchEmpty)->Arg(1)->Arg(1000);

}  // namespace
}  // namespace wharf::device::soft

BENCHMARK_MAIN();
