// Small launches, as an inference of examples/cuda_pose makes them (520 of them), by plain calls and as one prepared
// list. `issue` is how long the caller is busy with it, `whole` the time until the device is done; the ratios are plain
// over prepared, measured in turns.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/driver/generated/benchmark_kernels_ptx.h"

namespace wharf::device::soft {
namespace {

constexpr size_t kLaunches = 520;
constexpr uint32_t kBlock = 256;

using Clock = std::chrono::steady_clock;

struct Took {
  double issue = 0, whole = 0;  // seconds
};

class Session {
 public:
  explicit Session(int elements) : device_(*MakeSoftDevice({.memory_quota = uint64_t{1} << 24})) {
    const auto* text = reinterpret_cast<const std::byte*>(kBenchmarkKernels.data());
    const DeviceAddress at = device_->Arena().base;
    const bool ready = device_->LoadModule(1, {text, text + kBenchmarkKernels.size()}).ok() &&
                       device_->DefineFunction(1, 1, "saxpy").ok() && device_->Map(at, 1 << 20).ok();
    if (!ready) std::abort();
    for (size_t i = 0; i < kLaunches; ++i) work_.push_back(Saxpy(at, at + (1 << 19), 0, elements));
    list_ = device_->PrepareWork(work_);
  }

  Took Plain() {
    return Time([this] {
      // The arguments come as they do from a client: a buffer of their own for each call.
      for (const Work& work : work_) {
        if (!device_->Run(work).ok()) std::abort();
      }
    });
  }
  Took Prepared() {
    return Time([this] { Submit(); });
  }
  // Every tenth launch with other arguments than before.
  Took Updated() {
    return Time([this] {
      for (size_t i = 0; i < kLaunches; i += 10) list_->Update(i, work_[i]);
      Submit();
    });
  }

 private:
  static Work Saxpy(DeviceAddress y, DeviceAddress x, float factor, int count) {
    std::vector<std::byte> parameters(24);
    std::memcpy(parameters.data(), &y, 8);
    std::memcpy(parameters.data() + 8, &x, 8);
    std::memcpy(parameters.data() + 16, &factor, 4);
    std::memcpy(parameters.data() + 20, &count, 4);
    const uint32_t blocks = (static_cast<uint32_t>(count) + kBlock - 1) / kBlock;
    return {kDefaultStream, LaunchWork{1, {.grid = {blocks}, .block = {kBlock}}, std::move(parameters)}};
  }
  void Submit() {
    if (!list_->Submit(0, kLaunches).status.ok()) std::abort();
  }
  template <typename Issue>
  Took Time(Issue issue) {
    const auto begin = Clock::now();
    issue();
    const auto issued = Clock::now();
    std::promise<absl::Status> promise;
    if (!device_->NotifyAll([&](absl::Status s) { promise.set_value(std::move(s)); }).ok()) std::abort();
    if (!promise.get_future().get().ok()) std::abort();
    const std::chrono::duration<double> issue_time = issued - begin, whole = Clock::now() - begin;
    return {issue_time.count(), whole.count()};
  }

  std::unique_ptr<Device> device_;
  std::vector<Work> work_;
  std::unique_ptr<WorkList> list_;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void Submission(benchmark::State& state, Took (Session::*prepared)()) {
  Session session(static_cast<int>(state.range(0)));
  session.Plain();
  session.Prepared();
  std::vector<double> plain_issue, plain_whole, list_issue, list_whole;
  for (auto _ : state) {
    const Took plain = session.Plain(), list = (session.*prepared)();
    plain_issue.push_back(plain.issue);
    plain_whole.push_back(plain.whole);
    list_issue.push_back(list.issue);
    list_whole.push_back(list.whole);
    state.SetIterationTime(list.whole);
  }
  state.counters["plain_issue_us"] = Median(plain_issue) * 1e6;
  state.counters["plain_whole_us"] = Median(plain_whole) * 1e6;
  state.counters["list_issue_us"] = Median(list_issue) * 1e6;
  state.counters["list_whole_us"] = Median(list_whole) * 1e6;
  state.counters["issue_ratio"] = Median(plain_issue) / Median(list_issue);
  state.counters["whole_ratio"] = Median(plain_whole) / Median(list_whole);
}

BENCHMARK_CAPTURE(Submission, same, &Session::Prepared)->Arg(256)->Arg(4096)->UseManualTime()->MinTime(1);
BENCHMARK_CAPTURE(Submission, tenth_updated, &Session::Updated)->Arg(256)->Arg(4096)->UseManualTime()->MinTime(1);

}  // namespace
}  // namespace wharf::device::soft

BENCHMARK_MAIN();
