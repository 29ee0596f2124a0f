// The software device against the same work done natively: barrier-free kernels against the same loops compiled at -O3
// -march=native on the same number of threads, gemm against OpenBLAS called directly. `ratio` is device time over
// native time, measured in turns; `Native…` is the loop alone.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/driver/benchmark_kernels_ptx.h"
#include "wharf/device/soft/driver/native_loops.h"

namespace wharf::device::soft {
namespace {

constexpr int kCount = 1 << 22;  // elements of an array: 16 MiB, more than the caches hold
constexpr uint32_t kBlock = 256;

class Session {
 public:
  Session() : device_(*MakeSoftDevice({.memory_quota = uint64_t{1} << 30})) {
    const auto* text = reinterpret_cast<const std::byte*>(kBenchmarkKernels.data());
    if (!device_->LoadModule(1, {text, text + kBenchmarkKernels.size()}).ok()) std::abort();
    for (int i = 0; i < 3; ++i) {
      const DeviceAddress at = device_->Arena().base + i * (uint64_t{kCount} * 8);
      if (!device_->Map(at, uint64_t{kCount} * 4).ok()) std::abort();
      arrays_[i] = at;
      auto* values = reinterpret_cast<float*>(at);  // the software device's memory is this process's
      for (int j = 0; j < kCount; ++j) values[j] = static_cast<float>(j % 1000) / 500 - 1;
    }
  }

  DeviceAddress array(int i) const { return arrays_[i]; }
  float* data(int i) const { return reinterpret_cast<float*>(arrays_[i]); }

  FunctionId Define(const std::string& name) {
    if (!device_->DefineFunction(++functions_, 1, name).ok() || !device_->Attributes(functions_).ok()) std::abort();
    return functions_;
  }
  void Launch(FunctionId function, const LaunchConfig& config, const std::vector<std::byte>& parameters,
              int times = 1) {
    for (int i = 0; i < times; ++i) {
      if (!device_->Launch(0, function, config, parameters).ok()) std::abort();
    }
    Wait();
  }
  void Gemm(const device::Gemm& gemm) {
    if (!device_->RunGemm(0, gemm).ok()) std::abort();
    Wait();
  }

 private:
  void Wait() {
    std::promise<absl::Status> promise;
    if (!device_->NotifyAll([&](absl::Status s) { promise.set_value(std::move(s)); }).ok()) std::abort();
    if (!promise.get_future().get().ok()) std::abort();
  }

  std::unique_ptr<Device> device_;
  DeviceAddress arrays_[3] = {};
  FunctionId functions_ = 0;
};

Session& TheSession() {
  static Session session;
  return session;
}

template <typename... Values>
std::vector<std::byte> Pack(const Values&... values) {
  std::vector<std::byte> bytes;
  const auto add = [&](const auto& value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes.resize(bytes.size() + sizeof value);
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  };
  (add(values), ...);
  return bytes;
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

struct Times {
  std::vector<double> wall, cpu;

  void Measure(const std::function<void()>& work) {
    const std::clock_t cpu_start = std::clock();  // of all threads
    const auto start = std::chrono::steady_clock::now();
    work();
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }
  static double Best(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }
};

// Runs both in turns, so that whatever else the machine does hits both; compares the fastest rounds.
void Compare(benchmark::State& state, const std::function<void()>& device, const std::function<void()>& native) {
  device();
  native();
  Times device_times, native_times;
  for (auto _ : state) {
    device_times.Measure(device);
    state.SetIterationTime(device_times.wall.back());
    native_times.Measure(native);
  }
  const double d = Times::Best(device_times.wall), n = Times::Best(native_times.wall);
  state.counters["device_ms"] = d * 1e3;
  state.counters["native_ms"] = n * 1e3;
  state.counters["ratio"] = d / n;
  state.counters["cpu_ratio"] = Times::Best(device_times.cpu) / Times::Best(native_times.cpu);
}

const LaunchConfig kFlat{.grid = {kCount / kBlock}, .block = {kBlock}};

void Saxpy(benchmark::State& state) {
  Session& s = TheSession();
  const FunctionId function = s.Define("saxpy");
  const auto parameters = Pack(s.array(0), s.array(1), 0.5F, kCount);
  Compare(
      state, [&] { s.Launch(function, kFlat, parameters); },
      [&] { OnAllCores(kCount, [&](int a, int b) { native::Saxpy(s.data(0), s.data(1), 0.5F, a, b); }); });
}

void BiasRelu(benchmark::State& state) {
  Session& s = TheSession();
  const FunctionId function = s.Define("bias_relu");
  const auto parameters = Pack(s.array(0), s.array(1), s.array(2), 4096, kCount);
  Compare(
      state, [&] { s.Launch(function, kFlat, parameters); },
      [&] {
        OnAllCores(kCount, [&](int a, int b) { native::BiasRelu(s.data(0), s.data(1), s.data(2), 4096, a, b); });
      });
}

// So little work that one core does it sooner than two: launches in a row, as programs make them, against the loop
// alone.
constexpr int kLaunches = 100;

void SmallSaxpy(benchmark::State& state) {
  Session& s = TheSession();
  const FunctionId function = s.Define("saxpy");
  const auto count = static_cast<int>(state.range(0));
  const LaunchConfig config{.grid = {static_cast<uint32_t>(count) / kBlock}, .block = {kBlock}};
  const auto parameters = Pack(s.array(0), s.array(1), 0.5F, count);
  Compare(
      state, [&] { s.Launch(function, config, parameters, kLaunches); },
      [&] {
        for (int i = 0; i < kLaunches; ++i) native::Saxpy(s.data(0), s.data(1), 0.5F, 0, count);
      });
}

// A kernel whose threads stride through the arrays, against a plain loop and against one in the kernel's order.
using SaxpyLoop = void (*)(float* y, const float* x, float a, int threads, int count);
void StridedSaxpy(benchmark::State& state, SaxpyLoop loop) {
  Session& s = TheSession();
  const FunctionId function = s.Define("saxpy_grid_stride");
  const int count = 16 << 10;
  const LaunchConfig config{.grid = {8}, .block = {kBlock}};
  const auto parameters = Pack(s.array(0), s.array(1), 0.5F, count);
  Compare(
      state, [&] { s.Launch(function, config, parameters, kLaunches); },
      [&] {
        for (int i = 0; i < kLaunches; ++i) loop(s.data(0), s.data(1), 0.5F, 8 * kBlock, count);
      });
}

void PlainOrder(float* y, const float* x, float a, int /*threads*/, int count) { native::Saxpy(y, x, a, 0, count); }

void Stencil(benchmark::State& state) {
  Session& s = TheSession();
  const FunctionId function = s.Define("stencil");
  const auto side = static_cast<int>(state.range(0));
  const LaunchConfig config{.grid = {static_cast<uint32_t>(side) / 64, static_cast<uint32_t>(side) / 4},
                            .block = {64, 4}};
  const auto parameters = Pack(s.array(0), s.array(1), side, side);
  Compare(
      state, [&] { s.Launch(function, config, parameters); },
      [&] { OnAllCores(side, [&](int a, int b) { native::Stencil(s.data(0), s.data(1), side, side, a, b); }); });
}

using Map = void (*)(float*, const float*, int, int);
void Elementwise(benchmark::State& state, const char* name, Map loop) {
  Session& s = TheSession();
  const FunctionId function = s.Define(name);
  const auto parameters = Pack(s.array(0), s.array(1), kCount);
  Compare(
      state, [&] { s.Launch(function, kFlat, parameters); },
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

// Kernels with barriers; the native loop does the same sums without any.
void SumBlocks(benchmark::State& state) {
  Session& s = TheSession();
  const FunctionId function = s.Define("sum_blocks");
  const auto parameters = Pack(s.array(0), s.array(1));
  Compare(
      state, [&] { s.Launch(function, kFlat, parameters); },
      [&] { OnAllCores(kCount / 256, [&](int a, int b) { native::SumBlocks(s.data(0), s.data(1), a, b); }); });
}
BENCHMARK(SumBlocks)->UseManualTime();

void TiledMatmul(benchmark::State& state) {
  Session& s = TheSession();
  const int n = 256;
  const FunctionId function = s.Define("matmul");
  const LaunchConfig config{.grid = {16, 16}, .block = {16, 16}};
  const auto parameters = Pack(s.array(0), s.array(1), s.array(2), n);
  Compare(
      state, [&] { s.Launch(function, config, parameters); },
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
