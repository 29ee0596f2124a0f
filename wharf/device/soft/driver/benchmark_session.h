// What benchmarks of the software device share: a device with arrays and kernels, and times taken in turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/driver/soft_device.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::device::soft {

class Session {
 public:
  // Three arrays of `count` floats from -1 to 1, and the kernels of `ptx`.
  Session(std::string_view ptx, int count, bool confine = true)
      : device_(*SoftDevice::Create({.memory_quota = uint64_t{1} << 30}, *Compiler::Create("", {.confine = confine}))) {
    const auto* text = reinterpret_cast<const std::byte*>(ptx.data());
    if (!device_->LoadModule(1, {text, text + ptx.size()}).ok()) std::abort();
    for (int i = 0; i < 3; ++i) {
      const DeviceAddress at = device_->Arena().base + i * (static_cast<uint64_t>(count) * 8);
      if (!device_->Map(at, static_cast<uint64_t>(count) * 4).ok()) std::abort();
      arrays_[i] = at;
      auto* values = reinterpret_cast<float*>(at);  // the software device's memory is this process's
      for (int j = 0; j < count; ++j) values[j] = static_cast<float>(j % 1000) / 500 - 1;
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

}  // namespace wharf::device::soft
