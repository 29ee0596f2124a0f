// What every driver of the Device interface must do is tested on each of them: the software device, and a real GPU
// where there is one. This is the tests' common ground.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wharf/device/device.h"

namespace wharf::device {

struct Driver {
  const char* name;
  absl::StatusOr<std::unique_ptr<Device>> (*make)(const DeviceOptions&);
};

template <typename T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::vector<std::byte> BytesOf(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

inline void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }
inline std::vector<Driver> AllDrivers() { return {{"soft", &MakeSoftDevice}, {"cuda", &MakeCudaDevice}}; }
inline std::string DriverName(const ::testing::TestParamInfo<Driver>& info) { return info.param.name; }

template <typename T>
std::vector<T> Iota(size_t count, T first = 0) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class DeviceConformance : public ::testing::TestWithParam<Driver> {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = GetParam().make({.memory_quota = kQuota});
    if (absl::IsUnavailable(device.status())) GTEST_SKIP() << device.status();
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  uint64_t Granularity() const { return device_->Arena().granularity; }
  // The address of the `index`th granule, every second one of which stays free.
  DeviceAddress Slot(uint64_t index) const { return device_->Arena().base + 2 * index * Granularity(); }
  DeviceAddress MapSlot(uint64_t index) {
    EXPECT_EQ(device_->Map(Slot(index), Granularity()), absl::OkStatus());
    return Slot(index);
  }

  absl::Status Wait(StreamId stream = kDefaultStream) {
    std::promise<absl::Status> promise;
    const absl::Status status = device_->Notify(stream, [&](absl::Status s) { promise.set_value(std::move(s)); });
    return status.ok() ? promise.get_future().get() : status;
  }
  absl::Status WaitEvent(EventId event) {
    std::promise<absl::Status> promise;
    const absl::Status status = device_->NotifyEvent(event, [&](absl::Status s) { promise.set_value(std::move(s)); });
    return status.ok() ? promise.get_future().get() : status;
  }
  template <typename T>
  absl::Status Write(DeviceAddress to, const std::vector<T>& values, StreamId stream = kDefaultStream) {
    return device_->CopyToDevice(stream, {to}, {values.size() * sizeof(T)}, BytesOf(values));
  }
  template <typename T>
  std::vector<T> Read(DeviceAddress from, size_t count, StreamId stream = kDefaultStream) {
    return Unpack<T>(ReadBox({from}, {count * sizeof(T)}, stream));
  }
  std::vector<std::byte> ReadBox(Region from, Extent extent, StreamId stream = kDefaultStream) {
    std::promise<std::vector<std::byte>> promise;
    const absl::Status status =
        device_->CopyToHost(stream, from, extent, [&](absl::Status s, std::vector<std::byte> data) {
          EXPECT_EQ(s, absl::OkStatus());
          promise.set_value(std::move(data));
        });
    EXPECT_EQ(status, absl::OkStatus());
    return status.ok() ? promise.get_future().get() : std::vector<std::byte>();
  }
  template <typename T>
  static std::vector<T> Unpack(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  static constexpr uint64_t kQuota = uint64_t{64} << 20;
  std::unique_ptr<Device> device_;
};

}  // namespace wharf::device
