#include "wharf/link/outbox.h"

#include <gtest/gtest.h>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    auto [ours, theirs] = MemoryPair();
    channel_ = Channel::Create(std::move(ours), {.send_queue_bytes = 1 << 10});
    peer_ = Channel::Create(std::move(theirs));
    channel_->Start(&own_);
  }

  Recorder own_, seen_;
  std::unique_ptr<Channel> channel_, peer_;
};

TEST_F(OutboxTest, SendsInOrder) {
  Outbox outbox(*channel_, 1 << 20);
  peer_->Start(&seen_);
  for (uint64_t i = 0; i < 50; ++i) outbox.Put(7, i, Pattern(10), Pattern(1000));
  const auto frames = seen_.Take(50);
  ASSERT_EQ(frames.size(), 50u);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(frames[i].header.tag, i);
    EXPECT_EQ(frames[i].bulk, Pattern(1000));
  }
  channel_->Close();
}

TEST_F(OutboxTest, APeerThatDoesNotReadLosesTheConnectionAndHoldsUpNobody) {
  Outbox outbox(*channel_, 1 << 20);
  for (int i = 0; i < 200; ++i) outbox.Put(7, 0, {}, Pattern(100'000));  // the peer never starts
  EXPECT_EQ(own_.WaitClosed(), Aborted("closed"));
  outbox.Close();
}

TEST_F(OutboxTest, TakesNothingOnceClosed) {
  auto outbox = std::make_shared<Outbox>(*channel_, 1 << 20);
  channel_->Close();
  outbox->Close();
  channel_.reset();
  outbox->Put(7, 0, Pattern(10));  // touches no channel
}

}  // namespace
}  // namespace wharf::link
