#include "wharf/ar/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::ar {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Hello HelloOf(uint8_t tasks, std::string models) {
  Hello hello;
  hello.tasks = tasks;
  hello.models = std::move(models);
  hello.width = hello.height = 64;
  hello.fx = hello.fy = 50;
  return hello;
}

TEST(ModelName, IsAPlainWord) {
  for (const char* name : {"a", "free_space", "hands-2", "abcdefghijklmnopqrstuvwxyz012345"})
    EXPECT_TRUE(CheckModelName(name).ok()) << name;
  for (const char* name : {"", "2d", "_a", "A", "a b", "a,b", "a/b", "../a", "a.onnx", "a=b", "depth", "odometry",
                           "boxes", "abcdefghijklmnopqrstuvwxyz0123456"})
    EXPECT_EQ(CheckModelName(name).code(), kInvalid) << name;
}

TEST(ModelNames, AreSeparatedByCommas) {
  EXPECT_THAT(ModelNames(""), ::testing::IsEmpty());
  EXPECT_THAT(ModelNames("one"), ::testing::ElementsAre("one"));
  EXPECT_THAT(ModelNames("one,two,"), ::testing::ElementsAre("one", "two", ""));
}

TEST(CheckHello, EveryModelHasANameAndABit) {
  EXPECT_TRUE(CheckHello(HelloOf(0b00000111, "")).ok());
  EXPECT_TRUE(CheckHello(HelloOf(0b00001000, "one")).ok());
  EXPECT_TRUE(CheckHello(HelloOf(0b11111010, "a,b,c,d,e")).ok());
  EXPECT_EQ(CheckHello(HelloOf(0b00001000, "")).code(), kInvalid);         // a bit without a name
  EXPECT_EQ(CheckHello(HelloOf(0b00000001, "one")).code(), kInvalid);      // a name without its bit
  EXPECT_EQ(CheckHello(HelloOf(0b00010000, "one")).code(), kInvalid);      // another one's
  EXPECT_EQ(CheckHello(HelloOf(0b00011000, "one,one")).code(), kInvalid);  // twice
  EXPECT_EQ(CheckHello(HelloOf(0b00011000, "one,")).code(), kInvalid);
  EXPECT_EQ(CheckHello(HelloOf(0b00001000, "/etc/passwd")).code(), kInvalid);
  EXPECT_EQ(CheckHello(HelloOf(0b11111000, "a,b,c,d,e,f")).code(), kInvalid);
}

}  // namespace
}  // namespace wharf::ar
