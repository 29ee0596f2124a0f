#include "wharf/offload/reply_queue.h"

#include <gtest/gtest.h>

#include "wharf/device/fake_device.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/testing/raw_client.h"

namespace wharf::offload {
namespace {

using device::CudaError;

constexpr uint64_t kUnsentLimit = 64 << 20;

class NoHandler final : public link::FrameHandler {
 public:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader&, std::span<const std::byte>, std::vector<std::byte>) override {
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}
};

// A queue whose replies a raw client takes.
class ReplyQueueTest : public ::testing::Test {
 protected:
  ReplyQueueTest() {
    auto [ours, theirs] = link::MemoryPair();
    channel_ = link::Channel::Create(std::move(theirs));
    channel_->Start(&handler_);
    client_ = std::make_unique<RawClient>(std::move(ours));
    queue_ = std::make_unique<ReplyQueue>(channel_.get(), &device_, kUnsentLimit);
  }
  ~ReplyQueueTest() override {
    channel_->Close();
    queue_->Stop();
  }
  static ReplyTicket TicketOf(uint64_t tag) {
    return {.tag = tag, .arrival = Clock::Real().Now(), .push = {}, .guard = {}};
  }
  // Expects the next reply to be this one, and returns the posted error it carries.
  CudaError ExpectReply(uint64_t tag) {
    const auto frame = client_->Next(FrameKind::kReply);
    EXPECT_EQ(frame.status(), absl::OkStatus());
    if (!frame.ok()) return CudaError::kRemoteLost;
    EXPECT_EQ(frame->header.tag, tag);
    return frame->As<ReplyHeader>().posted_error;
  }

  device::FakeDevice device_;
  NoHandler handler_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<RawClient> client_;
  std::unique_ptr<ReplyQueue> queue_;
};

// The answer to what was asked last comes after every error before it.
TEST_F(ReplyQueueTest, RepliesLeaveInTheirOrderWhicheverThreadSendsThem) {
  for (uint64_t i = 0; i < 1000; ++i) {
    queue_->LatchPosted(device::CudaStatus(CudaError::kInvalidValue, "refused"));
    queue_->Reply(TicketOf(2 * i), absl::OkStatus());
    queue_->ReplyNow(TicketOf(2 * i + 1), absl::OkStatus());
    ASSERT_EQ(ExpectReply(2 * i), CudaError::kInvalidValue);
    ASSERT_EQ(ExpectReply(2 * i + 1), CudaError::kSuccess);
  }
}

}  // namespace
}  // namespace wharf::offload
