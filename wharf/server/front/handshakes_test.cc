#include "wharf/server/front/handshakes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace wharf::server {
namespace {

TEST(HandshakesTest, AnAddressHasItsLimitAndThisMachineNone) {
  Handshakes handshakes({.in_all = 100, .per_address = 2});
  std::vector<Handshake> under_way;
  for (int i = 0; i < 2; ++i) {
    auto one = handshakes.Begin("192.0.2.1");
    ASSERT_TRUE(one.has_value());
    under_way.push_back(*std::move(one));
  }
  EXPECT_FALSE(handshakes.Begin("192.0.2.1").has_value());
  EXPECT_TRUE(handshakes.Begin("192.0.2.2").has_value());
  for (int i = 0; i < 10; ++i) under_way.push_back(*handshakes.Begin(""));
  EXPECT_EQ(handshakes.UnderWay(), 12);
  under_way.erase(under_way.begin());
  EXPECT_TRUE(handshakes.Begin("192.0.2.1").has_value());
  under_way.clear();
  EXPECT_EQ(handshakes.UnderWay(), 0);
}

TEST(HandshakesTest, AHandshakeEndsOnce) {
  Handshakes handshakes({});
  Handshake one = *handshakes.Begin("192.0.2.1");
  Handshake other = std::move(one);
  EXPECT_EQ(handshakes.UnderWay(), 1);
  other.End();
  other.End();
  EXPECT_EQ(handshakes.UnderWay(), 0);
  one = *handshakes.Begin("192.0.2.1");
  one = *handshakes.Begin("192.0.2.1");
  EXPECT_EQ(handshakes.UnderWay(), 1);
}

TEST(HandshakesTest, RoomIsWaitedFor) {
  Handshakes handshakes({.in_all = 1, .per_address = 1});
  EXPECT_TRUE(handshakes.AwaitRoom());
  Handshake one = *handshakes.Begin("192.0.2.1");
  std::thread ends([&] { one.End(); });
  EXPECT_TRUE(handshakes.AwaitRoom());
  ends.join();
  one = *handshakes.Begin("192.0.2.1");
  std::thread stops([&] { handshakes.Stop(); });
  EXPECT_FALSE(handshakes.AwaitRoom());
  stops.join();
  handshakes.Pause(std::chrono::hours(1));  // not after Stop
}

TEST(HandshakesTest, AHandshakeMayOutliveTheRest) {
  Handshake one;
  {
    Handshakes handshakes({});
    one = *handshakes.Begin("192.0.2.1");
  }
  one.End();
}

}  // namespace
}  // namespace wharf::server
