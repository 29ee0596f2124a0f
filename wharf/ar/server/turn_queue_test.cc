#include "wharf/ar/server/turn_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/notification.h"

namespace wharf::ar {
namespace {

using ::testing::ElementsAre;

// A queue that is held up until it is let go, so that what waits is known.
class TurnQueueTest : public ::testing::Test {
 protected:
  TurnQueueTest() {
    queue_.Push(0, 1, [this] {
      begun_.Notify();
      go_.WaitForNotification();
    });
    begun_.WaitForNotification();
  }
  ~TurnQueueTest() override { LetGo(); }
  bool Push(uint64_t client, size_t most = 8) {
    return queue_.Push(client, most, [this, client] {
      order_.push_back(client);
      if (order_.size() == expected_) all_.Notify();
    });
  }
  void LetGo() {
    if (!go_.HasBeenNotified()) go_.Notify();
  }
  // In which order the clients' work ran, of so many pieces in all.
  std::vector<uint64_t> Order(size_t pieces) {
    expected_ = pieces;
    LetGo();
    all_.WaitForNotification();
    return order_;
  }

  absl::Notification begun_, go_, all_;
  size_t expected_ = 0;
  std::vector<uint64_t> order_;
  TurnQueue queue_;  // last: its work uses the others
};

TEST_F(TurnQueueTest, ClientsTakeTurns) {
  for (const uint64_t client : {1, 1, 1, 2, 3, 3}) EXPECT_TRUE(Push(client));
  EXPECT_THAT(Order(6), ElementsAre(1, 2, 3, 1, 3, 1));
}

TEST_F(TurnQueueTest, AClientMayHaveSoMuchWaiting) {
  EXPECT_TRUE(Push(1, 2));
  EXPECT_TRUE(Push(1, 2));
  EXPECT_FALSE(Push(1, 2));
  EXPECT_TRUE(Push(2, 2));
}

TEST_F(TurnQueueTest, DroppedWorkNeverRuns) {
  EXPECT_TRUE(Push(1));
  EXPECT_TRUE(Push(2));
  queue_.Drop(1);
  EXPECT_THAT(Order(1), ElementsAre(2));
}

TEST_F(TurnQueueTest, DropWaitsForWhatRuns) {
  LetGo();
  queue_.Drop(0);
  absl::Notification ran;
  EXPECT_TRUE(queue_.Push(5, 1, [&] { ran.Notify(); }));
  ran.WaitForNotification();
  queue_.Drop(5);
}

}  // namespace
}  // namespace wharf::ar
