// ExecutorTest: a client, a server and a fake device between them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/fake_device.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/server/executor.h"
#include "wharf/offload/testing/raw_client.h"

namespace wharf::offload {

class ExecutorTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBase = device::FakeDevice::kBase;

  static std::vector<std::byte> Bytes(const std::string& text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
  }

  static std::map<std::string, device::FakeDevice::Kernel> Kernels() {
    return {
        {"increment",
         [](device::FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>& parameters) {
           uint64_t address = 0;
           std::memcpy(&address, parameters.data(), 8);
           *device.At(address) = static_cast<std::byte>(static_cast<int>(*device.At(address)) + 1);
           return absl::OkStatus();
         }},
        {"print",
         [](device::FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>&) {
           device.Print("hello from a kernel\n");
           return absl::OkStatus();
         }},
        {"print_much",
         [](device::FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>&) {
           for (int i = 0; i < 5; ++i) device.Print(std::string(1 << 20, 'x'));
           return absl::OkStatus();
         }},
        {"fault",
         [](device::FakeDevice&, const device::LaunchConfig&, const std::vector<std::byte>&) {
           return device::CudaStatus(device::CudaError::kIllegalAddress, "kernel fault: out of bounds");
         }},
    };
  }

  void Open(const ExecutorOptions& options = {}) {
    auto [ours, theirs] = link::MemoryPair();
    auto device = std::make_unique<device::FakeDevice>(Kernels());
    device_ = device.get();
    link::ChannelOptions channel_options;
    channel_options.limits = ExecutorFrameLimits();
    channel_ = link::Channel::Create(std::move(theirs), channel_options);
    executor_ = std::make_unique<Executor>(std::move(device), channel_.get(), options);
    channel_->Start(executor_.get());
    client_ = std::make_unique<RawClient>(std::move(ours));
  }
  void SetUp() override { Open(); }
  void TearDown() override { Shut(); }
  void Shut() {
    if (executor_) executor_->Stop();
    channel_.reset();
    executor_.reset();
    client_.reset();
  }

  // Module 1 with function `id` = the kernel `name`.
  void Define(uint64_t id, const std::string& name) {
    if (!module_loaded_) {
      LoadModule load;
      load.module = 1;
      ASSERT_TRUE(client_->Post(load, Bytes("image")).ok());
      module_loaded_ = true;
    }
    DefineFunction define;
    define.function = id;
    define.module = 1;
    define.name = name;
    ASSERT_TRUE(client_->Post(define).ok());
  }
  void LaunchOn(uint64_t address, uint64_t function) {
    Launch launch;
    launch.function = function;
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &address, 8);
    ASSERT_TRUE(client_->Post(launch).ok());
  }
  void Copy(uint64_t address, const std::vector<std::byte>& data) {
    CopyToDevice copy;
    copy.to.address = address;
    copy.extent.width = data.size();
    ASSERT_TRUE(client_->Post(copy, data).ok());
  }
  CopyToHost Read(uint64_t address, uint64_t size) {
    CopyToHost copy;
    copy.from.address = address;
    copy.extent.width = size;
    return copy;
  }
  ReplyHeader Synchronize() {
    const auto answered = client_->Ask(SynchronizeDevice{});
    EXPECT_TRUE(answered.ok()) << answered.status();
    return answered.ok() ? answered->header : ReplyHeader{};
  }
  // The session ends with a Goodbye that says this.
  void ExpectGoodbye(const std::string& reason) {
    const auto goodbye = client_->Next(FrameKind::kGoodbye);
    ASSERT_TRUE(goodbye.ok()) << goodbye.status();
    EXPECT_THAT(goodbye->As<Goodbye>().reason, ::testing::HasSubstr(reason));
    EXPECT_EQ(client_->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  }

  device::FakeDevice* device_ = nullptr;
  bool module_loaded_ = false;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<RawClient> client_;
};

}  // namespace wharf::offload
