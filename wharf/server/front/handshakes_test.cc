#include "wharf/server/front/handshakes.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace wharf::server {
namespace {

constexpr auto kNew = HandshakeKind::kNew;
constexpr auto kResume = HandshakeKind::kResume;
using Numbers = std::vector<int>;

// Handshakes with numbers, and those that lost their place.
class HandshakesTest : public testing::Test {
 protected:
  void Begin(int number, const std::string& address, HandshakeKind kind = kNew) {
    under_way_.push_back(handshakes_.Begin(address, kind));
    under_way_.back().OnEviction([this, number] { evicted_.push_back(number); });
  }

  Handshakes handshakes_{{.new_ones = 4, .resumes = 2, .per_address = 3}};
  std::deque<Handshake> under_way_;
  Numbers evicted_;
};

TEST_F(HandshakesTest, AnAddressHasItsLimit) {
  for (int i = 0; i < 3; ++i) Begin(i, "192.0.2.1");
  EXPECT_EQ(evicted_, Numbers());
  Begin(3, "192.0.2.1");
  EXPECT_EQ(evicted_, Numbers({0}));
  EXPECT_TRUE(under_way_[0].Evicted());
  EXPECT_FALSE(under_way_[1].Evicted());
  EXPECT_EQ(handshakes_.UnderWay(), 3u);
}

TEST_F(HandshakesTest, ThisMachineHasNoLimitOfItsOwn) {
  for (int i = 0; i < 4; ++i) Begin(i, "");
  EXPECT_EQ(evicted_, Numbers());
}

TEST_F(HandshakesTest, WhoHasMostGivesWay) {
  Begin(0, "192.0.2.1");
  for (int i = 1; i <= 3; ++i) Begin(i, "192.0.2.9");
  Begin(4, "192.0.2.2");
  EXPECT_EQ(evicted_, Numbers({1}));
  Begin(5, "192.0.2.3");
  EXPECT_EQ(evicted_, Numbers({1, 2}));
  EXPECT_FALSE(under_way_[0].Evicted()) << "the oldest, of a machine that has one";
}

TEST_F(HandshakesTest, NewOnesTakeNoPlaceOfThoseThatResume) {
  Begin(0, "192.0.2.1", kResume);
  for (int i = 1; i <= 20; ++i) Begin(i, "192.0.2." + std::to_string(i));
  EXPECT_FALSE(under_way_[0].Evicted());
  EXPECT_EQ(evicted_.size(), 16u);
  Begin(21, "192.0.2.2", kResume);
  EXPECT_FALSE(under_way_[0].Evicted());
  Begin(22, "192.0.2.3", kResume);
  EXPECT_TRUE(under_way_[0].Evicted());
  EXPECT_EQ(handshakes_.UnderWay(), 6u);
}

TEST_F(HandshakesTest, WhatHasEndedIsNotEvicted) {
  Begin(0, "192.0.2.1");
  under_way_[0].End();
  under_way_[0].End();
  EXPECT_EQ(handshakes_.UnderWay(), 0u);
  for (int i = 1; i <= 5; ++i) Begin(i, "");
  EXPECT_EQ(evicted_, Numbers({1}));
}

TEST_F(HandshakesTest, WhosePlaceIsGoneAlreadyHearsItAtOnce) {
  Handshake early = handshakes_.Begin("", kNew);
  for (int i = 1; i <= 4; ++i) Begin(i, "");
  EXPECT_TRUE(early.Evicted());
  bool told = false;
  early.OnEviction([&] { told = true; });
  EXPECT_TRUE(told);
}

TEST_F(HandshakesTest, AHandshakeEndsOnce) {
  Handshake one = handshakes_.Begin("192.0.2.1", kNew);
  Handshake other = std::move(one);
  EXPECT_EQ(handshakes_.UnderWay(), 1u);
  other = handshakes_.Begin("192.0.2.1", kNew);
  EXPECT_EQ(handshakes_.UnderWay(), 1u);
  other.End();
  EXPECT_EQ(handshakes_.UnderWay(), 0u);
}

TEST(HandshakeTest, MayOutliveTheRest) {
  Handshake one;
  {
    Handshakes handshakes({});
    one = handshakes.Begin("192.0.2.1", kNew);
  }
  one.End();
}

}  // namespace
}  // namespace wharf::server
