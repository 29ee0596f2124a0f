#include "wharf/pipeline/membership/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace wharf::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Nanoseconds kLong = std::chrono::seconds(30);
const Member kA{"a", "fast", "10.0.0.1:7090"}, kB{"b", "slow", "[::1]:7090"};

TEST(MemberCheck, RefusesWhatCannotBeAKeyOrAnAddress) {
  EXPECT_EQ(Check(kA), absl::OkStatus());
  EXPECT_EQ(Check({"a", "fast", "unix:/run/worker"}), absl::OkStatus());
  EXPECT_EQ(Check({"", "fast", "x:1"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({"a/b", "fast", "x:1"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({"a", "fa st", "x:1"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({"a", "fast", ""}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({"a", "fast", std::string(201, 'x')}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MemoryMembership, ShowsWhoJoinedUntilTheyLeave) {
  MemoryMembership membership;
  View view = membership.Await(0, kLong);
  EXPECT_THAT(view.members, IsEmpty());
  auto b = membership.Join(kB);
  auto a = membership.Join(kA);
  ASSERT_TRUE(a.ok() && b.ok());
  view = membership.Await(view.version, kLong);
  EXPECT_THAT(view.members, ElementsAre(kA, kB));
  b->reset();
  view = membership.Await(view.version, kLong);
  EXPECT_THAT(view.members, ElementsAre(kA));
  membership.Expire("a");
  EXPECT_THAT(membership.Await(view.version, kLong).members, IsEmpty());
}

TEST(MemoryMembership, AnOldRegistrationDoesNotEndTheOneThatTookItsPlace) {
  MemoryMembership membership;
  auto first = membership.Join(kA);
  auto second = membership.Join(kA);
  first->reset();
  EXPECT_THAT(membership.Await(0, kLong).members, ElementsAre(kA));
  second->reset();
  EXPECT_THAT(membership.Await(0, kLong).members, IsEmpty());
}

TEST(MemoryMembership, AwaitReturnsAtAChangeAndAtTheTimeout) {
  MemoryMembership membership;
  const View now = membership.Await(0, kLong);
  EXPECT_EQ(membership.Await(now.version, Nanoseconds{1}).version, now.version);
  absl::StatusOr<std::unique_ptr<Registration>> joined;
  std::thread joining([&] { joined = membership.Join(kA); });
  EXPECT_THAT(membership.Await(now.version, kLong).members, ElementsAre(kA));
  joining.join();
}

TEST(MemoryMembership, RefusesBadMembers) {
  MemoryMembership membership;
  EXPECT_EQ(membership.Join({"a b", "fast", "x:1"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::pipeline
