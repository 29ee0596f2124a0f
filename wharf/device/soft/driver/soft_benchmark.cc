// The software device against the same work done natively: barrier-free kernels against the same loops compiled at -O3
// -march=native on the same number of threads, gemm against OpenBLAS called directly. `ratio` is device time over
// native time, measured in turns. `walls` is device time over `open_ms`, that of the same kernel compiled so that it
// could leave its memory (jit/confine.h): what keeping it there costs. `cpu_…` are ratios of processor time, which
// other programs disturb less.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/driver/benchmark_session.h"
#include "wharf/device/soft/driver/generated/benchmark_kernels_ptx.h"
#include "wharf/device/soft/driver/native_loops.h"

namespace wharf::device::soft {
namespace {

constexpr int kCount = 1 << 22;  // elements of an array: 16 MiB, more than the caches hold
constexpr uint32_t kBlock = 256;

Session& TheSession() {
  static Session session(kBenchmarkKernels, kCount);
  return session;
}

Session& OpenSession() {
  static Session session(kBenchmarkKernels, kCount, /*confine=*/false);
  return session;
}

// Spreads [0, count) over the machine's cores.
void OnAllCores(int count, const std::function<void(int first, int last)>& body) {
  const int workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int i = 1; i < workers; ++i) {
    threads.emplace_back([&, i] { body(count / workers * i, i + 1 == workers ? count : count / workers * (i + 1)); });
  }
  body(0, workers == 1 ? count : count / workers);
  for (std::thread& thread : threads) thread.join();
}

// Runs them in turns, so that whatever else the machine does hits all; compares the fastest rounds.
void CompareAll(benchmark::State& state, const std::vector<std::function<void()>>& works) {
  std::vector<Times> times(works.size());
  for (const auto& work : works) work();
  for (auto _ : state) {
    for (size_t i = 0; i < works.size(); ++i) times[i].Measure(works[i]);
    state.SetIterationTime(times[0].wall.back());
  }
  const double d = Times::Best(times[0].wall), n = Times::Best(times[1].wall);
  state.counters["device_ms"] = d * 1e3;
  state.counters["native_ms"] = n * 1e3;
  state.counters["ratio"] = d / n;
  state.counters["cpu_ratio"] = Times::Best(times[0].cpu) / Times::Best(times[1].cpu);
  if (times.size() < 3) return;
  const double open = Times::Best(times[2].wall);
  state.counters["open_ms"] = open * 1e3;
  state.counters["walls"] = d / open;
  state.counters["cpu_walls"] = Times::Best(times[0].cpu) / Times::Best(times[2].cpu);
}

void Compare(benchmark::State& state, const std::function<void()>& device, const std::function<void()>& native) {
  CompareAll(state, {device, native});
}

// `launch(session, function)`; the native loop works on TheSession()'s arrays.
using LaunchIn = std::function<void(Session&, FunctionId)>;
void CompareKernel(benchmark::State& state, const char* name, const LaunchIn& launch,
                   const std::function<void()>& native) {
  const auto in = [&](Session& session) -> std::function<void()> {
    return [&launch, &session, function = session.Define(name)] { launch(session, function); };
  };
  CompareAll(state, {in(TheSession()), native, in(OpenSession())});
}

const LaunchConfig kFlat{.grid = {kCount / kBlock}, .block = {kBlock}};

void Saxpy(benchmark::State& state) {
  Session& s = TheSession();
  CompareKernel(
      state, "saxpy",
      [](Session& in, FunctionId f) { in.Launch(f, kFlat, Pack(in.array(0), in.array(1), 0.5F, kCount)); },
      [&] { OnAllCores(kCount, [&](int a, int b) { native::Saxpy(s.data(0), s.data(1), 0.5F, a, b); }); });
}

void BiasRelu(benchmark::State& state) {
  Session& s = TheSession();
  CompareKernel(
      state, "bias_relu",
      [](Session& in, FunctionId f) { in.Launch(f, kFlat, Pack(in.array(0), in.array(1), in.array(2), 4096, kCount)); },
      [&] {
        OnAllCores(kCount, [&](int a, int b) { native::BiasRelu(s.data(0), s.data(1), s.data(2), 4096, a, b); });
      });
}

// So little work that one core does it sooner than two: launches in a row, as programs make them, against the loop
// alone.
constexpr int kLaunches = 100;

void SmallSaxpy(benchmark::State& state) {
  Session& s = TheSession();
  const auto count = static_cast<int>(state.range(0));
  const LaunchConfig config{.grid = {static_cast<uint32_t>(count) / kBlock}, .block = {kBlock}};
  CompareKernel(
      state, "saxpy",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(1), 0.5F, count), kLaunches); },
      [&] {
        for (int i = 0; i < kLaunches; ++i) native::Saxpy(s.data(0), s.data(1), 0.5F, 0, count);
      });
}

// A kernel whose threads stride through the arrays, against a plain loop and against one in the kernel's order.
using SaxpyLoop = void (*)(float* y, const float* x, float a, int threads, int count);
void StridedSaxpy(benchmark::State& state, SaxpyLoop loop) {
  Session& s = TheSession();
  const int count = 16 << 10;
  const LaunchConfig config{.grid = {8}, .block = {kBlock}};
  CompareKernel(
      state, "saxpy_grid_stride",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(1), 0.5F, count), kLaunches); },
      [&] {
        for (int i = 0; i < kLaunches; ++i) loop(s.data(0), s.data(1), 0.5F, 8 * kBlock, count);
      });
}

void PlainOrder(float* y, const float* x, float a, int /*threads*/, int count) { native::Saxpy(y, x, a, 0, count); }

void Stencil(benchmark::State& state) {
  Session& s = TheSession();
  const auto side = static_cast<int>(state.range(0));
  const LaunchConfig config{.grid = {static_cast<uint32_t>(side) / 64, static_cast<uint32_t>(side) / 4},
                            .block = {64, 4}};
  CompareKernel(
      state, "stencil",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(1), side, side)); },
      [&] { OnAllCores(side, [&](int a, int b) { native::Stencil(s.data(0), s.data(1), side, side, a, b); }); });
}

using Map = void (*)(float*, const float*, int, int);
void Elementwise(benchmark::State& state, const char* name, Map loop) {
  Session& s = TheSession();
  CompareKernel(
      state, name, [](Session& in, FunctionId f) { in.Launch(f, kFlat, Pack(in.array(0), in.array(1), kCount)); },
      [&] { OnAllCores(kCount, [&](int a, int b) { loop(s.data(0), s.data(1), a, b); }); });
}

BENCHMARK(Saxpy)->UseManualTime();
BENCHMARK(SmallSaxpy)->Arg(1 << 10)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->UseManualTime();
BENCHMARK_CAPTURE(StridedSaxpy, plain_order, &PlainOrder)->UseManualTime();
BENCHMARK_CAPTURE(StridedSaxpy, kernel_order, &native::StridedSaxpy)->UseManualTime();
BENCHMARK(BiasRelu)->UseManualTime();
BENCHMARK(Stencil)->Arg(1024)->Arg(2048)->UseManualTime();
BENCHMARK_CAPTURE(Elementwise, polynomial, "polynomial", &native::Polynomial)->UseManualTime();
BENCHMARK_CAPTURE(Elementwise, exponential, "exponential", &native::Exponential)->UseManualTime();
BENCHMARK_CAPTURE(Elementwise, gelu, "gelu", &native::Gelu)->UseManualTime();

// Indices from memory, by which neighbours are far apart: as many bytes as the caches hold, so that their computation
// counts, or many more. The index array takes the place of array 2.
template <typename Index>
void CompareGather(benchmark::State& state, const char* name) {
  Session& s = TheSession();
  const auto count = static_cast<Index>(state.range(0));
  const auto fill = [count](Session& in) {
    auto* index = reinterpret_cast<Index*>(in.array(2));
    for (Index i = 0; i < count; ++i) index[i] = static_cast<Index>(static_cast<uint64_t>(i) * 7919 % count);
  };
  fill(s);
  fill(OpenSession());
  const LaunchConfig config{.grid = {static_cast<uint32_t>(count) / kBlock}, .block = {kBlock}};
  const int times = count < kCount / 2 ? kLaunches : 1;
  CompareKernel(
      state, name,
      [&](Session& in, FunctionId f) {
        in.Launch(f, config, Pack(in.array(0), in.array(1), in.array(2), count), times);
      },
      [&] {
        const auto* index = reinterpret_cast<const Index*>(s.array(2));
        for (int t = 0; t < times; ++t) native::Gather(s.data(0), s.data(1), index, count);
      });
}
void Gather(benchmark::State& state, const char* name) { CompareGather<int>(state, name); }
void GatherWide(benchmark::State& state) { CompareGather<long>(state, "gather_wide"); }
BENCHMARK_CAPTURE(Gather, gather, "gather")->Arg(16 << 10)->Arg(kCount)->UseManualTime();
BENCHMARK(GatherWide)->Arg(16 << 10)->Arg(kCount / 2)->UseManualTime();
BENCHMARK_CAPTURE(Gather, scatter, "scatter")->Arg(16 << 10)->Arg(kCount)->UseManualTime();

void SumColumns(benchmark::State& state) {
  Session& s = TheSession();
  const int height = static_cast<int>(state.range(0));
  constexpr long kWidth = 4096;
  const LaunchConfig config{.grid = {kWidth / kBlock}, .block = {kBlock}};
  const int times = height < 100 ? kLaunches : 1;
  CompareKernel(
      state, "sum_columns",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(1), kWidth, height), times); },
      [&] {
        for (int t = 0; t < times; ++t) native::SumColumns(s.data(0), s.data(1), kWidth, height);
      });
}
BENCHMARK(SumColumns)->Arg(16)->Arg(1024)->UseManualTime();

void LocalHistogram(benchmark::State& state) {
  Session& s = TheSession();
  constexpr int kThreads = 1 << 18;
  const LaunchConfig config{.grid = {kThreads / kBlock}, .block = {kBlock}};
  CompareKernel(
      state, "local_histogram",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(2), kThreads)); },
      [&] { native::LocalHistogram(s.data(0), reinterpret_cast<const int*>(s.array(2)), kThreads); });
}
BENCHMARK(LocalHistogram)->UseManualTime();

// Kernels with barriers; the native loop does the same sums without any.
void SumBlocks(benchmark::State& state) {
  Session& s = TheSession();
  CompareKernel(
      state, "sum_blocks", [](Session& in, FunctionId f) { in.Launch(f, kFlat, Pack(in.array(0), in.array(1))); },
      [&] { OnAllCores(kCount / 256, [&](int a, int b) { native::SumBlocks(s.data(0), s.data(1), a, b); }); });
}
BENCHMARK(SumBlocks)->UseManualTime();

void TiledMatmul(benchmark::State& state) {
  Session& s = TheSession();
  const int n = 256;
  const LaunchConfig config{.grid = {16, 16}, .block = {16, 16}};
  CompareKernel(
      state, "matmul",
      [&](Session& in, FunctionId f) { in.Launch(f, config, Pack(in.array(0), in.array(1), in.array(2), n)); },
      [&] { OnAllCores(n, [&](int a, int b) { native::Matmul(s.data(0), s.data(1), s.data(2), n, a, b); }); });
}
BENCHMARK(TiledMatmul)->UseManualTime();

void Sgemm(benchmark::State& state) {
  Session& s = TheSession();
  const auto n = static_cast<int>(state.range(0));
  const Gemm gemm{
      .m = n, .n = n, .k = n, .a = s.array(1), .b = s.array(2), .c = s.array(0), .lda = n, .ldb = n, .ldc = n};
  Compare(
      state, [&] { s.Gemm(gemm); },
      [&] {
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, s.data(1), n, s.data(2), n, 0.0F,
                    s.data(0), n);
      });
  state.counters["GFLOP/s"] = 2e-9 * n * n * n / (state.counters["device_ms"] / 1e3);
}
BENCHMARK(Sgemm)->Arg(64)->Arg(256)->Arg(512)->Arg(1024)->UseManualTime();

}  // namespace
}  // namespace wharf::device::soft

BENCHMARK_MAIN();
