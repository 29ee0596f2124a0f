#include "wharf/offload/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>
#include <map>

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

// Follows what a predictor writes, as a server does, and says which operations it makes of it.
class Follower {
 public:
  using Made = std::pair<uint16_t, std::vector<std::byte>>;

  void Read(Predictor& predictor) {
    ProgressReader reader(predictor.Records().Bytes());
    ProgressRecord record;
    while (!reader.AtEnd()) {
      ASSERT_TRUE(reader.Next(record).ok());
      Follow(record);
    }
    predictor.ClearRecords();
  }
  void Whole(uint16_t number, const std::vector<std::byte>& head) {
    const StepId step = graph_.Append(number, head);
    graph_.Connect(last_[lane_], step);
    Make(step);
  }
  const std::vector<Made>& made() const { return made_; }

 private:
  void Follow(const ProgressRecord& record) {
    switch (record.kind) {
      case RecordKind::kLane:
        lane_ = record.value;
        last_.try_emplace(lane_, kNoStep);
        return;
      case RecordKind::kRun:
        for (uint64_t i = 0; i < record.value; ++i) Take(graph_.Next(last_[lane_]));
        return;
      case RecordKind::kStep: {
        const auto step = static_cast<StepId>(record.value);
        for (const ChangedRange& change : record.changes) {
          std::memcpy(graph_.MutableHead(step).data() + change.offset, change.bytes.data(), change.bytes.size());
        }
        Take(step);
        return;
      }
      case RecordKind::kForget:
        graph_.Clear();
        for (auto& [lane, last] : last_) last = kNoStep;
        return;
      case RecordKind::kWait:
        return;
    }
  }
  void Take(StepId step) {
    ASSERT_LT(step, graph_.size());
    graph_.Connect(last_[lane_], step);
    Make(step);
  }
  void Make(StepId step) {
    last_[lane_] = step;
    made_.emplace_back(graph_.Number(step), std::vector<std::byte>(graph_.Head(step).begin(), graph_.Head(step).end()));
  }

  StepGraph graph_;
  uint64_t lane_ = 0;
  std::map<uint64_t, StepId> last_;
  std::vector<Made> made_;
};

// A program whose every operation goes through a predictor to a follower.
class PredictorTest : public ::testing::Test {
 protected:
  template <typename Op>
  Foresight Do(const Op& op, uint64_t lane = 0) {
    const std::vector<std::byte> head = Encode(op);
    truth_.emplace_back(Op::kNumber, head);
    const Foresight foresight = predictor_.Perform(lane, Op::kNumber, head);
    bytes_ += predictor_.Records().Bytes().size();
    follower_.Read(predictor_);
    if (foresight == Foresight::kNew) follower_.Whole(Op::kNumber, head);
    return foresight;
  }
  Foresight Kernel(uint64_t function, uint64_t argument = 0, uint64_t lane = 0) {
    Launch op;
    op.function = function;
    op.parameters.resize(64);
    std::memcpy(op.parameters.data() + 8, &argument, sizeof(argument));
    return Do(op, lane);
  }
  Foresight Result(uint64_t address) { return Do(CopyToHost{0, {address, 4, 4}, {4, 1, 1}}); }
  void ExpectTruth() { EXPECT_EQ(follower_.made(), truth_); }

  Predictor predictor_;
  Follower follower_;
  std::vector<Follower::Made> truth_;
  size_t bytes_ = 0;
};

TEST_F(PredictorTest, TheSecondInferenceNeedsNoOperationWhole) {
  for (int inference = 0; inference < 3; ++inference) {
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(Kernel(i) == Foresight::kNew, inference == 0);
    Result(64);
  }
  ExpectTruth();
  EXPECT_EQ(predictor_.Counters().unknown, 51u);
  EXPECT_EQ(predictor_.Counters().jumps, 1u);  // back to the first
  EXPECT_EQ(predictor_.Counters().hits, 101u);
}

TEST_F(PredictorTest, AChangedArgumentTravelsAsItsBytes) {
  Kernel(1, 5);
  Kernel(2, 5);
  Kernel(1, 5);
  Kernel(2, 5);
  bytes_ = 0;
  Kernel(1, 5);
  Kernel(2, 6);
  EXPECT_EQ(predictor_.Counters().changed, 1u);
  EXPECT_LT(bytes_, 12u);
  Kernel(1, 5);
  EXPECT_EQ(Kernel(2, 6), Foresight::kKnown);  // the last arguments are what is foreseen
  EXPECT_EQ(predictor_.Counters().changed, 1u);
  ExpectTruth();
}

TEST_F(PredictorTest, ALoopOfAnotherLengthCostsOneJump) {
  const auto inference = [&](int turns) {
    Kernel(100);
    for (int i = 0; i < turns; ++i) {
      for (uint64_t k = 0; k < 10; ++k) Kernel(k, static_cast<uint64_t>(i));
    }
    Kernel(101);
    Result(8);
  };
  inference(9);
  inference(9);
  const uint64_t jumps = predictor_.Counters().jumps;
  inference(5);
  EXPECT_LE(predictor_.Counters().jumps - jumps, 2u);
  EXPECT_EQ(predictor_.Counters().unknown, 93u);
  ExpectTruth();
}

TEST_F(PredictorTest, ThreadsHavePathsOfTheirOwn) {
  for (int turn = 0; turn < 4; ++turn) {
    for (uint64_t i = 0; i < 8; ++i) {
      Kernel(i, 0, 0);
      Kernel(i, 1, 1);
    }
  }
  ExpectTruth();
  EXPECT_EQ(predictor_.Counters().unknown, 16u);
  EXPECT_LE(predictor_.Counters().jumps, 2u);
}

TEST_F(PredictorTest, AFullGraphIsForgottenOnBothSides) {
  for (uint64_t i = 0; i < kMaxSteps + 10; ++i) Do(SynchronizeStream{i});
  EXPECT_EQ(predictor_.Counters().forgotten, 1u);
  EXPECT_EQ(predictor_.Steps(), 10u);
  EXPECT_EQ(follower_.made().size(), kMaxSteps + 10);
  EXPECT_EQ(follower_.made().back(), truth_.back());
}

TEST_F(PredictorTest, EveryDeviationBeginsAnEpoch) {
  Kernel(1);
  Kernel(2);
  const uint64_t first = predictor_.Epoch();
  Kernel(1);  // a jump
  EXPECT_EQ(predictor_.Epoch(), first + 1);
  Kernel(2);  // foreseen
  EXPECT_EQ(predictor_.Epoch(), first + 1);
  predictor_.PerformOther();
  EXPECT_EQ(predictor_.Epoch(), first + 2);
  Kernel(1, 0, 1);  // another thread, and a jump
  EXPECT_EQ(predictor_.Epoch(), first + 4);
  EXPECT_EQ(predictor_.Position(), 6u);
}

// Whatever the program does, the server makes the same operations of what it is told.
RC_GTEST_FIXTURE_PROP(PredictorTest, TheServerFollowsAnyProgram, ()) {
  const auto operations = *rc::gen::container<std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>>(
      rc::gen::tuple(rc::gen::inRange<uint64_t>(0, 5), rc::gen::inRange<uint64_t>(0, 3),
                     rc::gen::weightedElement<uint64_t>({{8, 0}, {1, 1}, {1, 2}})));
  for (const auto& [function, argument, lane] : operations) Kernel(function, argument, lane);
  RC_ASSERT(follower_.made() == truth_);
}

}  // namespace
}  // namespace wharf::offload
