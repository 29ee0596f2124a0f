// A whole server for tests of the client: the handshake, an executor and the device that is given to it, on one end of
// a stream in memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/link/channel.h"
#include "wharf/offload/server/executor.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

class LoopbackServer final : private link::FrameHandler {
 public:
  LoopbackServer(std::unique_ptr<link::ByteStream> stream, std::unique_ptr<device::Device> device,
                 const ReplayOptions& replay = {})
      : replay_(replay) {
    link::ChannelOptions options;
    options.limits = ExecutorFrameLimits();
    channel_ = link::Channel::Create(std::move(stream), options);
    executor_ = std::make_unique<Executor>(std::move(device), channel_.get());
    channel_->Start(this);
  }
  ~LoopbackServer() override {
    executor_->Stop();
    channel_->Stop();
  }

  const Executor& executor() const { return *executor_; }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override {
    return executor_->BulkDestination(header, head);
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    if (header.kind != static_cast<uint16_t>(FrameKind::kHello)) {
      return executor_->OnFrame(header, head, std::move(bulk));
    }
    WHARF_ASSIGN_OR_RETURN(const Hello hello, Decode<Hello>(head));
    replay_.unsafe = (hello.features & kFeatureUnsafeReplay) != 0;
    if ((hello.features & kFeatureReplay) != 0) executor_->EnableReplay(replay_);
    if ((hello.features & kFeatureCodedBulk) != 0) executor_->EnableCodedBulk();
    Welcome welcome;
    welcome.features = hello.features & (kFeatureReplay | kFeatureUnsafeReplay | kFeatureCodedBulk);
    welcome.properties = executor_->Device().Properties();
    welcome.arena = executor_->Device().Arena();
    welcome.memory_quota = welcome.properties.total_memory;
    return channel_->Send(static_cast<uint16_t>(FrameKind::kWelcome), 0, Encode(welcome));
  }
  void OnClosed(const absl::Status& why) override { executor_->OnClosed(why); }

  ReplayOptions replay_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace wharf::offload
