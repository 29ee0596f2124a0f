#include "wharf/offload/replay/replay_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/device/fake_device.h"
#include "wharf/offload/testing/fake_performer.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using ::testing::ElementsAre;

class ReplayFollowerTest : public testing::Test {
 protected:
  // An operation comes whole.
  template <typename Op>
  void Make(const Op& op, std::span<const std::byte> data = {}) {
    ASSERT_TRUE(follower_.OnOperation(Op::kNumber, Encode(op), data).ok());
    ++position_;
  }
  // A Progress frame that makes so many operations.
  absl::Status Progress(uint64_t operations, std::vector<std::byte> bulk = {}) {
    position_ += operations;
    const absl::Status status = follower_.OnProgress(position_, records_.Bytes(), std::move(bulk));
    records_.Clear();
    return status;
  }
  static Fill FillWith(uint32_t value) { return {0, {device::FakeDevice::kBase, 1, 1}, {1, 1, 1}, value, 1}; }
  static CopyToDevice Upload(uint64_t bytes) { return {0, {device::FakeDevice::kBase, bytes, bytes}, {bytes, 1, 1}}; }

  device::FakeDevice device_;
  FakePerformer performer_{&device_};
  ReplayFollower follower_{{.prepares = false}, &performer_, &device_};
  ProgressWriter records_;
  uint64_t position_ = 0;
};

TEST_F(ReplayFollowerTest, PerformsWhatTheProgramMakesAgain) {
  Make(RecordEvent{1, 0});
  Make(SynchronizeStream{0});
  records_.Known(0, 2);  // and goes on behind its first occurrence
  records_.Advance();
  ASSERT_TRUE(Progress(2).ok());
  EXPECT_THAT(performer_.Numbers(), ElementsAre(RecordEvent::kNumber, SynchronizeStream::kNumber));
  EXPECT_EQ(performer_.performed.back().ticket.tag, 4u);
}

TEST_F(ReplayFollowerTest, PerformsAVariant) {
  Make(RecordEvent{1, 0});
  const std::vector<std::byte> two{std::byte{2}};
  const std::vector<ChangedRange> changes{{0, two}};
  records_.Variant(0, changes);
  ASSERT_TRUE(Progress(1).ok());
  EXPECT_THAT(performer_.Numbers(), ElementsAre(RecordEvent::kNumber));
}

TEST_F(ReplayFollowerTest, FewDataAreThoseOfTheLastTimeUnlessTheyAreFresh) {
  const std::vector<std::byte> old_data(4, std::byte{1}), new_data(4, std::byte{2});
  Make(Upload(4), old_data);
  records_.Known(0, 1);
  ASSERT_TRUE(Progress(1).ok());
  records_.Fresh();
  records_.Known(0, 1);
  ASSERT_TRUE(Progress(1, new_data).ok());
  records_.Known(0, 1);
  ASSERT_TRUE(Progress(1).ok());
  ASSERT_EQ(performer_.performed.size(), 3u);
  EXPECT_EQ(performer_.performed[0].bulk, old_data);
  EXPECT_EQ(performer_.performed[1].bulk, new_data);
  EXPECT_EQ(performer_.performed[2].bulk, new_data);
}

TEST_F(ReplayFollowerTest, AThreadHasAHistoryOfItsOwn) {
  Make(RecordEvent{1, 0});
  Make(RecordEvent{2, 0});
  records_.Known(0, 2);
  records_.Lane(1);
  records_.Known(1, 0);
  records_.Lane(0);
  records_.Advance();
  ASSERT_TRUE(Progress(3).ok());
  EXPECT_EQ(performer_.performed.size(), 3u);
}

TEST_F(ReplayFollowerTest, ARefusedOperationIsLatchedUnlessItIsAnswered) {
  Make(RecordEvent{1, 0});
  Make(QueryEvent{1});
  performer_.refused = {RecordEvent::kNumber, QueryEvent::kNumber};
  records_.Known(0, 2);
  records_.Advance();
  ASSERT_TRUE(Progress(2).ok());
  EXPECT_EQ(performer_.latched.size(), 1u);
}

TEST_F(ReplayFollowerTest, RunsAheadOnlyWhenTheProgramWaits) {
  Make(SynchronizeStream{0});
  Make(SynchronizeDevice{});
  records_.Known(0, 2);
  ASSERT_TRUE(Progress(1).ok());
  EXPECT_EQ(follower_.Counters().run_ahead, 0u);
  records_.Wait();
  ASSERT_TRUE(Progress(0).ok());
  EXPECT_GT(follower_.Counters().run_ahead, 0u);
}

TEST_F(ReplayFollowerTest, WhatDoesNotFitEndsTheSession) {
  const auto refuses = [this](uint64_t operations, std::vector<std::byte> bulk = {}) {
    return Progress(operations, std::move(bulk)).code() == absl::StatusCode::kDataLoss;
  };
  Make(RecordEvent{1, 0});
  EXPECT_TRUE(refuses(1)) << "counts otherwise";
  position_ = 1;
  EXPECT_TRUE(refuses(0, std::vector<std::byte>(1))) << "data that no operation takes";
  records_.Known(1, 0);
  EXPECT_TRUE(refuses(1)) << "an operation that is not known";
  position_ = 1;
  records_.Lane(kMaxLanes);
  EXPECT_TRUE(refuses(0)) << "too many threads";
  records_.Advance();
  EXPECT_TRUE(refuses(1)) << "nothing is predicted";
}

TEST_F(ReplayFollowerTest, AChangeOutsideAnOperationEndsTheSession) {
  Make(RecordEvent{1, 0});
  const std::vector<std::byte> byte(1);
  const std::vector<ChangedRange> changes{{16, byte}};
  records_.Variant(0, changes);
  EXPECT_EQ(Progress(1).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReplayFollowerTest, FreshDataOfWhatTakesNoneEndTheSession) {
  Make(RecordEvent{1, 0});
  records_.Fresh();
  records_.Known(0, 1);
  EXPECT_EQ(Progress(1).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReplayFollowerTest, WhatIsForgottenIsNotKnown) {
  Make(RecordEvent{1, 0});
  records_.Forget();
  ASSERT_TRUE(Progress(0).ok());
  records_.Known(0, 0);
  EXPECT_EQ(Progress(1).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace wharf::offload
