// A session whose picture decoder was taken over ends by its first lie; another one is served all the while.
#include "wharf/ar/decoder/decoder_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/ar/server/server.h"
#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

class SessionOfAFalseDecoder : public ::testing::TestWithParam<NamedLie> {};

TEST_P(SessionOfAFalseDecoder, EndsAloneAndSaysWhy) {
  FalseDecoder false_one(GetParam().lie);
  bool is_false = false;  // the next client's
  TurnQueue queue;
  BrightnessBatches batches;
  Coordination coordination({.finder = &batches, .profile = *serving::InferenceProfile::Make("test", {{1, 10}})});
  ServerConfig config = TestServerConfig(queue, coordination, batches);
  config.make_decoder = [&]() -> absl::StatusOr<std::unique_ptr<PictureDecoder>> {
    if (std::exchange(is_false, false)) return false_one.Start();
    return MakeLocalDecoder();
  };
  Server server(config);
  const auto open = [&](Ear& ear) {
    auto [theirs, ours] = link::MemoryPair();
    server.Accept(std::move(theirs));
    auto connection = Connection::Open(std::move(ours), GoodHello(), "right", ear, kPatience);
    EXPECT_TRUE(connection.ok()) << ToString(connection.status());
    return connection.ok() ? *std::move(connection) : nullptr;
  };
  Ear honest_ear, lied_to_ear;
  const auto honest = open(honest_ear);
  is_false = true;
  const auto lied_to = open(lied_to_ear);
  ASSERT_TRUE(honest != nullptr && lied_to != nullptr);
  const auto honest_is_served = [&](int64_t frame) {
    ASSERT_EQ(honest->Send(frame, Bits({Task::kDepth}), GreyPicture(64), 95), absl::OkStatus());
    const Ear::Heard heard = honest_ear.Next();
    EXPECT_EQ(heard.frame, frame);
    EXPECT_EQ(heard.found, BrightnessOf(GreyPicture(64))) << ToString(heard.status);
  };
  honest_is_served(1);
  ASSERT_EQ(lied_to->Send(1, Bits({Task::kDepth}), GreyPicture(64), 95), absl::OkStatus());
  honest_is_served(2);
  const absl::Status why = lied_to_ear.WaitClosed();
  EXPECT_EQ(why.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(Message(why)), ::testing::HasSubstr("the picture's decoder has died"));
  EXPECT_TRUE(lied_to_ear.Take().empty());
  honest_is_served(3);
}

INSTANTIATE_TEST_SUITE_P(All, SessionOfAFalseDecoder, ::testing::ValuesIn(Lies()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wharf::ar
