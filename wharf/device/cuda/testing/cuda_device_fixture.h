// What tests of the CUDA device share: the device on the fake driver, and on a real one where there is a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/cuda/cuda_device.h"

namespace wharf::device::cuda {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr FunctionId kAddOne = 1, kFault = 2;

// Real kernels for a real driver; the fake one goes by their names.
inline constexpr char kPtx[] = R"(.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 answer[64] = {7, 0, 0, 0};
.visible .entry add_one(.param .u64 data, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %i, %n, %v;
  .reg .b64 %a, %o;
  ld.param.u64 %a, [data];
  ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a;
  mov.u32 %i, 0;
loop:
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.wide.u32 %o, %i, 4;
  add.u64 %o, %a, %o;
  ld.global.u32 %v, [%o];
  add.u32 %v, %v, 1;
  st.global.u32 [%o], %v;
  add.u32 %i, %i, 1;
  bra loop;
done:
  ret;
}
.visible .entry fault()
{
  .reg .b64 %a;
  mov.u64 %a, 64;
  st.global.u32 [%a], 1;
  ret;
}
)";

inline std::vector<std::byte> Bytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}
inline std::vector<std::byte> Bytes(const std::vector<uint32_t>& words) {
  return Bytes(words.data(), words.size() * 4);
}
inline std::vector<uint32_t> Words(const std::vector<std::byte>& bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

// The parameter is the driver's library.
class CudaDeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create({.memory_quota = 64 * kMiB}, GetParam());
    if (GetParam() != WHARF_FAKE_DRIVER && absl::IsUnavailable(device.status())) {
      GTEST_SKIP() << "no GPU here: " << device.status();
    }
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    base_ = device_->Arena().base;
  }

  void LoadKernels() {
    ASSERT_EQ(device_->LoadModule(1, Bytes(kPtx, sizeof(kPtx) - 1)), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(kAddOne, 1, "add_one"), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(kFault, 1, "fault"), absl::OkStatus());
  }
  absl::Status AddOne(StreamId stream, DeviceAddress data, uint32_t n) {
    std::vector<std::byte> parameters(12);
    std::memcpy(parameters.data(), &data, 8);
    std::memcpy(parameters.data() + 8, &n, 4);
    return device_->Launch(stream, kAddOne, {}, parameters);
  }
  // Reads `count` words back, in order with `stream`.
  absl::StatusOr<std::vector<uint32_t>> Read(DeviceAddress address, size_t count, StreamId stream = kDefaultStream) {
    std::promise<absl::StatusOr<std::vector<uint32_t>>> promise;
    const absl::Status queued =
        device_->CopyToHost(stream, {address}, {count * 4}, [&](absl::Status status, std::vector<std::byte> data) {
          if (status.ok()) {
            promise.set_value(Words(data));
          } else {
            promise.set_value(status);
          }
        });
    if (!queued.ok()) return queued;
    return promise.get_future().get();
  }
  absl::Status Write(DeviceAddress address, const std::vector<uint32_t>& words, StreamId stream = kDefaultStream) {
    return device_->CopyToDevice(stream, {address}, {words.size() * 4}, Bytes(words));
  }
  absl::Status Await(const std::function<absl::Status(Done)>& ask) {
    std::promise<absl::Status> promise;
    const absl::Status asked = ask([&](absl::Status status) { promise.set_value(std::move(status)); });
    return asked.ok() ? promise.get_future().get() : asked;
  }
  absl::Status Synchronize(StreamId stream = kDefaultStream) {
    return Await([&](Done done) { return device_->Notify(stream, std::move(done)); });
  }
  static CudaError ErrorOf(const absl::Status& status) { return CudaErrorOf(status); }

  std::unique_ptr<Device> device_;
  DeviceAddress base_ = 0;
};

inline std::string DriverName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param == WHARF_FAKE_DRIVER ? "Fake" : "Real";
}

}  // namespace wharf::device::cuda
