#include "wharf/server/daemon/arrivals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace wharf::server {
namespace {

TEST(ArrivalsTest, ThoseThatResumeComeFirstThenTheNewest) {
  Handshakes handshakes({});
  Arrivals arrivals;
  EXPECT_TRUE(arrivals.Empty());
  EXPECT_FALSE(arrivals.Take().has_value());
  using enum HandshakeKind;
  int number = 0;
  for (const HandshakeKind kind : {kNew, kResume, kNew, kResume, kNew}) {
    EXPECT_EQ(arrivals.Add(1000 + number, handshakes.Begin("", kind)), number == 0);
    ++number;
  }
  for (const int next : {1003, 1001, 1004, 1002, 1000}) {
    EXPECT_FALSE(arrivals.Empty());
    EXPECT_EQ(arrivals.Take()->connection, next);
  }
  EXPECT_TRUE(arrivals.Empty());
  EXPECT_EQ(handshakes.UnderWay(), 0u);
}

TEST(ArrivalsTest, ClosesThoseThatAreLeft) {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  { Arrivals().Add(file, Handshake()); }
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
}

}  // namespace
}  // namespace wharf::server
