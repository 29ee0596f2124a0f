#include "wharf/ar/solo_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/notification.h"

namespace wharf::ar {
namespace {

using ::testing::ElementsAre;

// A lane that is held up until it is let go, so that what waits is known.
class SoloLaneTest : public ::testing::Test {
 protected:
  SoloLaneTest() {
    lane_.Push(0, 1, [this] {
      begun_.Notify();
      go_.WaitForNotification();
    });
    begun_.WaitForNotification();
  }
  ~SoloLaneTest() override { LetGo(); }
  bool Push(uint64_t client, size_t most = 8) {
    return lane_.Push(client, most, [this, client] {
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
  SoloLane lane_;  // last: its work uses the others
};

TEST_F(SoloLaneTest, ClientsTakeTurns) {
  for (const uint64_t client : {1, 1, 1, 2, 3, 3}) EXPECT_TRUE(Push(client));
  EXPECT_THAT(Order(6), ElementsAre(1, 2, 3, 1, 3, 1));
}

TEST_F(SoloLaneTest, AClientMayHaveSoMuchWaiting) {
  EXPECT_TRUE(Push(1, 2));
  EXPECT_TRUE(Push(1, 2));
  EXPECT_FALSE(Push(1, 2));
  EXPECT_TRUE(Push(2, 2));
}

TEST_F(SoloLaneTest, DroppedWorkNeverRuns) {
  EXPECT_TRUE(Push(1));
  EXPECT_TRUE(Push(2));
  lane_.Drop(1);
  EXPECT_THAT(Order(1), ElementsAre(2));
}

TEST_F(SoloLaneTest, DropWaitsForWhatRuns) {
  LetGo();
  lane_.Drop(0);
  absl::Notification ran;
  EXPECT_TRUE(lane_.Push(5, 1, [&] { ran.Notify(); }));
  ran.WaitForNotification();
  lane_.Drop(5);
}

}  // namespace
}  // namespace wharf::ar
