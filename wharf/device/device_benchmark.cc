// What the device interface costs on a real GPU: a call, alone and among others, to the notice that it is done.
#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/testing/generated/conformance_kernels_ptx.h"

namespace wharf::device {
namespace {

constexpr uint64_t kMemory = uint64_t{64} << 20;

// The one of this process; null where there is no GPU.
Device* TheGpu() {
  static const std::unique_ptr<Device> device = [] {
    auto made = MakeCudaDevice({.memory_quota = 2 * kMemory});
    if (!made.ok()) return std::unique_ptr<Device>();
    Device& gpu = **made;
    const auto text = std::as_bytes(std::span(std::string_view(kConformanceKernels)));
    const bool ready = gpu.Map(gpu.Arena().base, kMemory).ok() && gpu.LoadModule(1, {text.begin(), text.end()}).ok() &&
                       gpu.DefineFunction(1, 1, "saxpy").ok();
    return ready ? *std::move(made) : nullptr;
  }();
  return device.get();
}

void Await(Device& gpu) {
  std::promise<void> done;
  gpu.Notify(kDefaultStream, [&done](const absl::Status&) { done.set_value(); }).IgnoreError();
  done.get_future().wait();
}

LaunchWork SmallLaunch(const Device& gpu) {
  const uint64_t y = gpu.Arena().base, x = y + 4096;
  LaunchWork launch{1, {{1, 1, 1}, {32, 1, 1}}, std::vector<std::byte>(24)};
  const float a = 2;
  const uint32_t n = 32;
  std::memcpy(launch.parameters.data(), &y, 8);
  std::memcpy(launch.parameters.data() + 8, &x, 8);
  std::memcpy(launch.parameters.data() + 16, &a, 4);
  std::memcpy(launch.parameters.data() + 20, &n, 4);
  return launch;
}

// `call(gpu)` as often as the argument says, then the wait.
template <typename Call>
void Measure(benchmark::State& state, Call call) {
  Device* const gpu = TheGpu();
  if (gpu == nullptr) return state.SkipWithError("no GPU");
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      const absl::Status status = call(*gpu);
      if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    }
    Await(*gpu);
  }
  state.counters["per_call"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void Nothing(benchmark::State& state) {
  Measure(state, [](Device&) { return absl::OkStatus(); });
}
BENCHMARK(Nothing)->Arg(0)->UseRealTime()->Unit(benchmark::kMicrosecond);

void Launch(benchmark::State& state) {
  Measure(state, [](Device& gpu) {
    const LaunchWork launch = SmallLaunch(gpu);
    return gpu.Launch(kDefaultStream, launch.function, launch.config, launch.parameters);
  });
}
BENCHMARK(Launch)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

// `count` times the same, handed over as one list.
void MeasurePrepared(benchmark::State& state, const std::function<Work(Device&)>& make) {
  Device* const gpu = TheGpu();
  if (gpu == nullptr) return state.SkipWithError("no GPU");
  const auto count = static_cast<size_t>(state.range(0));
  const auto list = gpu->PrepareWork(std::vector<Work>(count, make(*gpu)));
  for (auto _ : state) {
    if (const Submission done = list->Submit(0, count); !done.status.ok()) {
      return state.SkipWithError(done.status.ToString().c_str());
    }
    Await(*gpu);
  }
}

void PreparedLaunches(benchmark::State& state) {
  MeasurePrepared(state, [](Device& gpu) { return Work{kDefaultStream, SmallLaunch(gpu)}; });
}
BENCHMARK(PreparedLaunches)->Arg(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

// A layer of so many channels of size x size, windows of 3 x 3.
Convolution Layer(const Device& gpu, int32_t channels, int32_t size) {
  const auto tensor = [](DeviceAddress at, int32_t n, int32_t c, int32_t h, int32_t w) {
    return Tensor{at, ElementType::kF32, {n, c, 1, h, w}, {c * h * w, h * w, h * w, w, 1}};
  };
  const DeviceAddress base = gpu.Arena().base;
  Convolution c;
  c.x = tensor(base, 1, channels, size, size);
  c.filter = tensor(base + (8 << 20), channels, channels, 3, 3);
  c.y = tensor(base + (16 << 20), 1, channels, size, size);
  c.padding = {0, 1, 1};
  return c;
}

// ResNet-18's second layer.
void SmallConvolution(benchmark::State& state) {
  Measure(state, [](Device& gpu) { return gpu.RunPrimitive(kDefaultStream, Layer(gpu, 64, 56)); });
}
BENCHMARK(SmallConvolution)->Arg(1)->Arg(20)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Little for the GPU to do: what the call costs.
void TinyConvolution(benchmark::State& state) {
  Measure(state, [](Device& gpu) { return gpu.RunPrimitive(kDefaultStream, Layer(gpu, 8, 8)); });
}
BENCHMARK(TinyConvolution)->Arg(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

void PreparedConvolutions(benchmark::State& state) {
  MeasurePrepared(state, [](Device& gpu) { return Work{kDefaultStream, Primitive(Layer(gpu, 8, 8))}; });
}
BENCHMARK(PreparedConvolutions)->Arg(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

void SmallProduct(benchmark::State& state) {
  Measure(state, [](Device& gpu) {
    Gemm gemm;
    gemm.m = gemm.n = gemm.k = 128;
    gemm.lda = gemm.ldb = gemm.ldc = gemm.ldd = 128;
    gemm.a = gpu.Arena().base;
    gemm.b = gemm.a + (1 << 20);
    gemm.c = gemm.d = gemm.a + (2 << 20);
    return gpu.RunGemm(kDefaultStream, gemm);
  });
}
BENCHMARK(SmallProduct)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

// A picture of 3 x 224 x 224 floats.
constexpr uint64_t kPicture = 3 * 224 * 224 * 4;

void PictureUp(benchmark::State& state) {
  const std::vector<std::byte> picture(kPicture, std::byte{1});
  Measure(state,
          [&](Device& gpu) { return gpu.CopyToDevice(kDefaultStream, {gpu.Arena().base}, {kPicture}, picture); });
}
BENCHMARK(PictureUp)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

void AnswerDown(benchmark::State& state) {
  Device* const gpu = TheGpu();
  if (gpu == nullptr) return state.SkipWithError("no GPU");
  for (auto _ : state) {
    std::promise<void> done;
    gpu->CopyToHost(kDefaultStream, {gpu->Arena().base}, {4000},
                    [&done](const absl::Status&, const std::vector<std::byte>&) { done.set_value(); })
        .IgnoreError();
    done.get_future().wait();
  }
}
BENCHMARK(AnswerDown)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace wharf::device

BENCHMARK_MAIN();
