#include "wharf/offload/replay/speculative_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "wharf/device/fake_device.h"
#include "wharf/offload/replay/replayed_program.h"
#include "wharf/offload/testing/fake_performer.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using device::FakeDevice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kAddress = FakeDevice::kBase;

// A program that waits, fills a byte with 7 and reads it, twice, and is at its second wait now.
class SpeculativeExecutorTest : public testing::Test {
 protected:
  SpeculativeExecutorTest() {
    EXPECT_TRUE(device_.Map(kAddress, 4096).ok());
    performer_.mappings = {{kAddress, 4096}};
    wait_ = Make(SynchronizeStream{0});
    fill_ = Make(Fill{0, {kAddress, 1, 1}, {1, 1, 1}, 7, 1});
    read_ = Make(CopyToHost{0, {kAddress, 1, 1}, {1, 1, 1}});
    MakeAgain(wait_, 1);
  }
  // The program makes an operation for the first time, and it runs.
  template <typename Op>
  OperationId Make(const Op& op) {
    const OperationId id = program_.Learn(Op::kNumber, Encode(op), {}).value();
    program_.Deviate(id, program_.Lane().Cursor() + 1);
    program_.NoteProven(id);
    return id;
  }
  void MakeAgain(OperationId id, uint64_t cursor) { program_.Deviate(id, cursor); }
  // The program makes the predicted operation.
  void Follow() {
    program_.Follow();
    speculation_.Confirm();
  }
  std::vector<uint64_t> Positions() const {
    std::vector<uint64_t> positions;
    for (const auto& one : performer_.performed) positions.push_back(one.ticket.tag);
    return positions;
  }
  int ByteOnDevice() {
    absl::Notification done;
    EXPECT_TRUE(device_.Notify(0, [&](const absl::Status&) { done.Notify(); }).ok());
    done.WaitForNotification();
    return static_cast<int>(*device_.At(kAddress));
  }

  FakeDevice device_;
  FakePerformer performer_{&device_};
  ReplayedProgram program_{&performer_, &device_, /*prepares=*/false};
  SpeculativeExecutor speculation_{{}, &program_, &performer_, &device_};
  OperationId wait_ = 0, fill_ = 0, read_ = 0;
};

TEST_F(SpeculativeExecutorTest, RunsAheadAlongThePredictedPath) {
  speculation_.RunAhead();
  EXPECT_TRUE(speculation_.IsAhead());
  EXPECT_THAT(performer_.Numbers(), ElementsAre(Fill::kNumber, CopyToHost::kNumber, SynchronizeStream::kNumber));
  EXPECT_THAT(Positions(), ElementsAre(5, 6, 7));
  for (const auto& one : performer_.performed) EXPECT_EQ(one.ticket.push->known, 4u);
  EXPECT_EQ(speculation_.Counters().run_ahead, 3u);
  EXPECT_EQ(ByteOnDevice(), 7);
}

TEST_F(SpeculativeExecutorTest, WhatDidNotRunSinceMemoryWentWaitsForTheProgram) {
  program_.NoteStateChange(UnmapMemory::kNumber);
  speculation_.RunAhead();
  EXPECT_FALSE(speculation_.IsAhead());
}

TEST_F(SpeculativeExecutorTest, NewMemoryHoldsNothingUp) {
  program_.NoteStateChange(MapMemory::kNumber);
  speculation_.RunAhead();
  EXPECT_EQ(speculation_.Counters().run_ahead, 3u);
}

TEST_F(SpeculativeExecutorTest, WhatWritesToUnknownMemoryWaitsForTheProgram) {
  performer_.mappings.clear();
  speculation_.RunAhead();
  EXPECT_THAT(performer_.Numbers(), IsEmpty());
}

TEST_F(SpeculativeExecutorTest, NothingIsRunAheadWhileOtherStreamsWork) {
  performer_.others_are_idle = false;
  speculation_.RunAhead();
  EXPECT_FALSE(speculation_.IsAhead());
}

TEST_F(SpeculativeExecutorTest, NothingIsRunAheadOfAProgramThatDoesNotWait) {
  MakeAgain(fill_, 2);
  speculation_.RunAhead();
  EXPECT_FALSE(speculation_.IsAhead());
}

TEST_F(SpeculativeExecutorTest, NothingIsRunAheadOfWorkThatIsUnderWay) {
  performer_.has_idle_room = false;
  speculation_.RunAhead();
  EXPECT_FALSE(speculation_.IsAhead());
}

TEST_F(SpeculativeExecutorTest, WhatTheProgramMakesIsConfirmedAndNotDoneAgain) {
  speculation_.RunAhead();
  for (int i = 0; i < 3; ++i) Follow();
  EXPECT_FALSE(speculation_.IsAhead());
  EXPECT_EQ(performer_.performed.size(), 3u);
  EXPECT_EQ(speculation_.Counters().undone, 0u);
}

TEST_F(SpeculativeExecutorTest, WhatTheProgramDoesNotMakeIsTakenBack) {
  ASSERT_EQ(ByteOnDevice(), 0);
  speculation_.RunAhead();
  ASSERT_EQ(ByteOnDevice(), 7);
  speculation_.TakeBack();
  EXPECT_EQ(ByteOnDevice(), 0);
  EXPECT_FALSE(speculation_.IsAhead());
  EXPECT_EQ(speculation_.Counters().undone, 3u);
}

TEST_F(SpeculativeExecutorTest, WhatTheProgramMadeOfASegmentIsDoneAgain) {
  speculation_.RunAhead();
  Follow();  // the fill
  speculation_.TakeBack();
  EXPECT_EQ(ByteOnDevice(), 7);
  EXPECT_EQ(performer_.Numbers().back(), Fill::kNumber);
  EXPECT_EQ(speculation_.Counters().undone, 2u);
}

TEST_F(SpeculativeExecutorTest, ARefusalOfWhatIsOnlyPredictedIsNobodysError) {
  performer_.refused = {Fill::kNumber};
  speculation_.RunAhead();
  EXPECT_FALSE(speculation_.IsAhead());
  EXPECT_THAT(performer_.latched, IsEmpty());
  EXPECT_FALSE(program_.IsProven(fill_));
  EXPECT_TRUE(program_.IsProven(read_));
}

TEST_F(SpeculativeExecutorTest, ARefusedAnswerEndsTheRunningAhead) {
  performer_.refused = {CopyToHost::kNumber};
  speculation_.RunAhead();
  EXPECT_THAT(performer_.Numbers(), ElementsAre(Fill::kNumber, CopyToHost::kNumber));
  EXPECT_TRUE(speculation_.IsAhead());
}

TEST_F(SpeculativeExecutorTest, MemoryIsGivenBackOnceNothingIsAhead) {
  speculation_.RunAhead();
  for (int i = 0; i < 3; ++i) Follow();
  EXPECT_TRUE(speculation_.MakeRoom());
  EXPECT_FALSE(speculation_.MakeRoom());
}

// A program that reads a count and fills so many bytes, in every inference; its counts come again.
class ArgumentPredictionTest : public SpeculativeExecutorTest {
 protected:
  static Fill FillOf(uint64_t bytes) { return {0, {kAddress, bytes, bytes}, {bytes, 1, 1}, 7, 1}; }
  template <typename Op>
  OperationId Find(const Op& op) {
    const std::vector<std::byte> head = Encode(op);
    for (OperationId id = 0; id < program_.Operations().size(); ++id) {
      if (program_.Operations().Is(id, Op::kNumber, head)) return id;
    }
    return program_.Learn(Op::kNumber, head, {}).value();
  }
  // The client jumps whenever the history is wrong, to behind the last inference's operation.
  template <typename Op>
  void Do(const Op& op) {
    const OperationId id = Find(op);
    if (program_.Lane().Predicted() == id) {
      program_.Follow();
    } else {
      program_.Deviate(id, program_.Lane().Cursor() + 1);
    }
    program_.NoteProven(id);
  }
  void Infer(uint32_t count) {
    Do(kCount);
    Answer(count);
    Do(FillOf(count));
    Do(SynchronizeStream{0});
  }
  void Answer(uint32_t count) {
    const ReplyTicket ticket = program_.PushTicket();
    program_.NoteAnswer(ticket.answer);
    ticket.answer->Fill(absl::OkStatus(), std::as_bytes(std::span(&count, 1)));
  }
  static constexpr CopyToHost kCount{0, {kAddress, 4, 4}, {4, 1, 1}};
};

TEST_F(ArgumentPredictionTest, RunsAheadWithArgumentsThatFollowFromAnAnswer) {
  for (const uint32_t count : {5, 6, 9, 5, 6, 9, 5, 6, 9, 5}) Infer(count);
  Do(SynchronizeStream{0});
  program_.Deviate(Find(SynchronizeStream{0}), program_.Lane().End() - 4);  // what follows is predicted to come again
  performer_.performed.clear();
  speculation_.RunAhead();
  ASSERT_THAT(performer_.Numbers(), ElementsAre(CopyToHost::kNumber)) << "the count is still to come";
  ASSERT_NE(performer_.awaited, nullptr);
  speculation_.Resume();
  EXPECT_EQ(performer_.performed.size(), 1u);
  const uint32_t count = 6;
  performer_.performed[0].ticket.answer->Fill(absl::OkStatus(), std::as_bytes(std::span(&count, 1)));
  speculation_.Resume();
  ASSERT_GE(performer_.performed.size(), 3u);
  EXPECT_EQ(performer_.performed[1].number, Fill::kNumber);
  EXPECT_EQ(performer_.performed[2].number, SynchronizeStream::kNumber);
  EXPECT_TRUE(speculation_.Expects(Find(kCount)));
  program_.Deviate(Find(kCount), program_.Lane().Cursor() + 1);
  speculation_.Confirm();
  EXPECT_TRUE(speculation_.Expects(Find(FillOf(6))));
  EXPECT_FALSE(speculation_.Expects(Find(FillOf(5))));
}

TEST_F(ArgumentPredictionTest, AProgramThatGoesOnIsNotRunAheadOf) {
  for (const uint32_t count : {5, 6, 9, 5, 6, 9, 5, 6, 9, 5}) Infer(count);
  Do(SynchronizeStream{0});
  program_.Deviate(Find(SynchronizeStream{0}), program_.Lane().End() - 4);
  performer_.performed.clear();
  speculation_.RunAhead();
  ASSERT_EQ(performer_.performed.size(), 1u);
  speculation_.Pause();
  const uint32_t count = 6;
  performer_.performed[0].ticket.answer->Fill(absl::OkStatus(), std::as_bytes(std::span(&count, 1)));
  speculation_.Resume();
  EXPECT_EQ(performer_.performed.size(), 1u);
}

// Nothing was saved for it, so there is nothing to drop.
TEST_F(SpeculativeExecutorTest, ARefusalIsTheEndOfThePublishedSchemesRunningAhead) {
  SpeculativeExecutor speculation({.unsafe = true}, &program_, &performer_, &device_);
  performer_.refused = {Fill::kNumber};
  for (int i = 0; i < 2; ++i) {
    speculation.RunAhead();
    EXPECT_FALSE(speculation.IsAhead());
  }
  EXPECT_THAT(performer_.latched, IsEmpty());
}

TEST_F(SpeculativeExecutorTest, ThePublishedSchemeUndoesNothing) {
  SpeculativeExecutor speculation({.unsafe = true}, &program_, &performer_, &device_);
  program_.NoteStateChange(UnmapMemory::kNumber);
  performer_.others_are_idle = false;
  speculation.RunAhead();
  EXPECT_EQ(speculation.Counters().run_ahead, 3u);
  speculation.TakeBack();
  EXPECT_EQ(ByteOnDevice(), 7);
}

}  // namespace
}  // namespace wharf::offload
