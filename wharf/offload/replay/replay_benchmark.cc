// An inference of small kernels, replayed, with and without prepared lists (ReplayOptions::prepares): input up, 520
// launches, a word down, in one process over a stream in memory, so what is measured is the server. `whole` is the time
// of an inference, medians of turns.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/testing/generated/random_cuda_kernels_ptx.h"
#include "wharf/offload/testing/loopback_server.h"

namespace wharf::offload {
namespace {

constexpr int kLaunches = 520;
constexpr size_t kInputBytes = 8192;

void Must(bool holds) {
  if (!holds) std::abort();
}

class Program {
 public:
  Program(bool prepares, uint32_t words) : words_(words) {
    auto [ours, theirs] = link::MemoryPair();
    server_ = std::make_unique<LoopbackServer>(std::move(theirs), *device::MakeSoftDevice({}),
                                               ReplayOptions{.prepares = prepares});
    ClientSessionOptions options;
    options.mode = Mode::kReplay;
    options.timeout = std::chrono::minutes(2);
    session_ = *ClientSession::Open(std::move(ours), options);
    a_ = session_->welcome().arena.base;
    b_ = a_ + (1 << 20);
    const auto* text = reinterpret_cast<const std::byte*>(kRandomCudaKernels.data());
    for (const uint64_t address : {a_, b_}) Must(Posted(MapMemory{address, 1 << 18}));
    Must(session_->Post(LoadModule{1, true}, {text, kRandomCudaKernels.size()}) == device::CudaError::kSuccess);
    Must(Posted(DefineFunction{1, 1, "accumulate"}));
    for (int i = 0; i < 4; ++i) Infer();
  }

  double Infer() {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::byte> input(kInputBytes, std::byte{1});
    const CopyToDevice upload{0, {b_, kInputBytes, kInputBytes}, {kInputBytes, 1, 1}};
    Must(session_->Post(upload, input) == device::CudaError::kSuccess);
    for (int i = 0; i < kLaunches; ++i) Must(Posted(Accumulate()));
    std::byte word[4];
    Must(session_->Ask(CopyToHost{0, {a_, 4, 4}, {4, 1, 1}}, nullptr, word) == device::CudaError::kSuccess);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  template <typename Op>
  bool Posted(const Op& op) {
    return session_->Post(op) == device::CudaError::kSuccess;
  }
  // accumulate(a, b, c, n, k): a += b.
  Launch Accumulate() const {
    Launch op;
    op.function = 1;
    op.config = {.grid = {(words_ + 255) / 256}, .block = {256}};
    op.parameters.resize(32);
    std::memcpy(op.parameters.data(), &a_, 8);
    std::memcpy(op.parameters.data() + 8, &b_, 8);
    std::memcpy(op.parameters.data() + 24, &words_, 4);
    return op;
  }

  const uint32_t words_;
  uint64_t a_ = 0, b_ = 0;
  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<ClientSession> session_;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void Replay(benchmark::State& state) {
  const auto words = static_cast<uint32_t>(state.range(0));
  Program lists(true, words), calls(false, words);
  std::vector<double> with, without;
  for (auto _ : state) {
    with.push_back(lists.Infer());
    without.push_back(calls.Infer());
    state.SetIterationTime(with.back());
  }
  state.counters["calls_us"] = Median(without) * 1e6;
  state.counters["lists_us"] = Median(with) * 1e6;
  state.counters["calls_over_lists"] = Median(without) / Median(with);
}
BENCHMARK(Replay)->Arg(64)->Arg(2048)->UseManualTime()->MinTime(1);

}  // namespace
}  // namespace wharf::offload

BENCHMARK_MAIN();
