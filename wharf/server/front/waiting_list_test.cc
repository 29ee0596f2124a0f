#include "wharf/server/front/waiting_list.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace wharf::server {
namespace {

constexpr Nanoseconds kTime = std::chrono::seconds(10);
using Sockets = std::vector<int>;

class WaitingListTest : public testing::Test {
 protected:
  // Those that had to go for it.
  Sockets Enter(int socket, const std::string& address = "192.0.2.1") {
    const WaitingList::Entered entered = list_.Enter(socket, address, clock_.Now());
    last_ = entered.number;
    return entered.left_out;
  }

  VirtualClock clock_;
  WaitingList list_{{.in_all = 4, .per_address = 2, .time = kTime}};
  uint64_t last_ = 0;
};

TEST_F(WaitingListTest, TheOldestOfAnAddressMakesRoomForItsNext) {
  EXPECT_EQ(Enter(1), Sockets());
  EXPECT_EQ(Enter(2, "192.0.2.2"), Sockets());
  EXPECT_EQ(Enter(3), Sockets());
  EXPECT_EQ(Enter(4), Sockets({1}));
  EXPECT_EQ(Enter(5), Sockets({3}));
  EXPECT_EQ(list_.TakeAll(), Sockets({2, 4, 5}));
}

TEST_F(WaitingListTest, TheOldestOfAllMakesRoomWhenItIsFull) {
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(Enter(i, "192.0.2." + std::to_string(i)), Sockets());
  EXPECT_EQ(Enter(5, "192.0.2.5"), Sockets({1}));
  EXPECT_EQ(Enter(6, "192.0.2.6"), Sockets({2}));
  EXPECT_EQ(list_.Size(), 4u);
}

TEST_F(WaitingListTest, ThisMachineHasNoLimitOfItsOwn) {
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(Enter(i, ""), Sockets());
  EXPECT_EQ(Enter(5, ""), Sockets({1}));
}

TEST_F(WaitingListTest, WhoLeavesIsForgotten) {
  Enter(1);
  Enter(2);
  const uint64_t second = last_;
  const auto place = list_.Leave(second);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->socket, 2);
  EXPECT_EQ(place->address, "192.0.2.1");
  EXPECT_FALSE(list_.Leave(second).has_value());
  EXPECT_EQ(Enter(3), Sockets());
  EXPECT_EQ(Enter(4), Sockets({1}));
}

TEST_F(WaitingListTest, WhoWaitsForTooLongGoes) {
  EXPECT_FALSE(list_.NextDeadline().has_value());
  Enter(1);
  clock_.Advance(kTime / 2);
  Enter(2);
  EXPECT_EQ(list_.NextDeadline(), TimePoint() + kTime);
  EXPECT_EQ(list_.TakeLate(clock_.Now()), Sockets());
  clock_.Advance(kTime / 2);
  EXPECT_EQ(list_.TakeLate(clock_.Now()), Sockets({1}));
  EXPECT_EQ(list_.NextDeadline(), TimePoint() + kTime * 3 / 2);
  clock_.Advance(kTime);
  EXPECT_EQ(list_.TakeLate(clock_.Now()), Sockets({2}));
  EXPECT_FALSE(list_.NextDeadline().has_value());
}

TEST(WaitingLimitsTest, TakeHalfOfTheDescriptorsThatTheProcessMayHave) {
  const WaitingLimits limits = WaitingLimitsOfProcess(kTime);
  rlimit descriptors{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  EXPECT_EQ(descriptors.rlim_cur, descriptors.rlim_max);
  EXPECT_LE(limits.in_all, descriptors.rlim_cur / 2);
  EXPECT_LE(limits.in_all, 8192u);
  EXPECT_EQ(limits.time, kTime);
}

}  // namespace
}  // namespace wharf::server
