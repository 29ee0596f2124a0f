#include "wharf/cli/bench/common/child.h"

#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

std::unique_ptr<Child> Shell(const std::string& script) {
  auto child = Child::Start("/bin/sh", {"sh", "-c", script});
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

TEST(ChildTest, TalksByLines) {
  const auto child = Shell("echo first; read line; echo \"got <$line>\"; printf last");
  EXPECT_EQ(child->ReadLine().value(), "first");
  child->SendLine();
  EXPECT_EQ(child->ReadLine().value(), "got <>");
  EXPECT_EQ(child->ReadLine().value(), "last");
  EXPECT_EQ(child->ReadLine().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(child->Wait(), absl::OkStatus());
}

TEST(ChildTest, AwaitsALineOrTheEndOfTheOutput) {
  const auto child = Shell("echo a; echo ready; echo b");
  EXPECT_EQ(child->AwaitLine("ready"), absl::OkStatus());
  EXPECT_EQ(child->AwaitLine("ready").code(), absl::StatusCode::kOutOfRange);
}

TEST(ChildTest, SaysHowAProgramFailed) {
  const absl::Status code = Shell("exit 3")->Wait(), signal = Shell("kill -9 $$")->Wait();
  EXPECT_EQ(code.code(), absl::StatusCode::kAborted);
  EXPECT_NE(Message(code).find("code 3"), std::string_view::npos);
  EXPECT_EQ(signal.code(), absl::StatusCode::kAborted);
  EXPECT_NE(Message(signal).find("signal 9"), std::string_view::npos);
}

TEST(ChildTest, AChildThatDoesNotReadIsNoHarmAndLongOutputIsDropped) {
  const auto child = Shell("exec <&-; seq 100000");
  child->SendLine();
  EXPECT_EQ(child->Wait(), absl::OkStatus());
  child->SendLine();
}

TEST(ChildTest, EndsWithItsObject) {
  Shell("exec sleep 1000");  // its destructor waits
}

}  // namespace
}  // namespace wharf::cli
