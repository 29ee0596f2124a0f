#include "wharf/offload/client/prediction/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

// Follows what a predictor writes, as a server does, and says which operations it makes of it.
class Follower {
 public:
  using Made = std::tuple<uint16_t, std::vector<std::byte>, std::vector<std::byte>>;  // number, head, data

  // `bulk`: the data that came with the records.
  void Read(Predictor& predictor, std::span<const std::byte> bulk) {
    bulk_ = bulk;
    ProgressReader reader(predictor.Records().Bytes());
    ProgressRecord record;
    while (!reader.AtEnd()) {
      ASSERT_TRUE(reader.Next(record).ok());
      Follow(record);
    }
    predictor.ClearRecords();
  }
  void Whole(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> data) {
    bulk_ = data;
    Learn(operations_.Append(number, head, data));
  }
  const std::vector<Made>& made() const { return made_; }
  uint64_t path() const { return path_.Value(); }

 private:
  void Follow(const ProgressRecord& record) {
    History& history = histories_[lane_];
    switch (record.kind) {
      case RecordKind::kLane:
        lane_ = record.value;
        path_.Lane(lane_);
        return;
      case RecordKind::kRun:
        for (uint64_t i = 0; i < record.value; ++i) {
          ASSERT_NE(history.Predicted(), kNoOperation);
          Make(history.Predicted());
          history.Follow();
        }
        return;
      case RecordKind::kKnown: {
        const auto id = static_cast<OperationId>(record.value);
        history.Deviate(id, history.End() + 1 - record.distance);
        return Make(id);
      }
      case RecordKind::kVariant: {
        const auto known = operations_.Head(static_cast<OperationId>(record.value));
        std::vector<std::byte> head(known.begin(), known.end());
        for (const ChangedRange& change : record.changes) {
          std::memcpy(head.data() + change.offset, change.bytes.data(), change.bytes.size());
        }
        return Learn(operations_.Append(operations_.Number(static_cast<OperationId>(record.value)), head, bulk_));
      }
      case RecordKind::kForget:
        operations_.Clear();
        histories_.clear();
        path_.Forget();
        return;
      case RecordKind::kWait:
        return;
      case RecordKind::kFresh:
        fresh_ = true;
        path_.Fresh();
        return;
    }
  }
  void Learn(OperationId id) {
    History& history = histories_[lane_];
    history.Deviate(id, history.Cursor() + 1);
    Make(id);
  }
  void Make(OperationId id) {
    path_.Operation(operations_.Hash(id));
    if (std::exchange(fresh_, false)) operations_.ReplaceData(id, bulk_);
    const auto head = operations_.Head(id), known = operations_.Data(id);
    const auto data = known.empty() && operations_.Number(id) == CopyToDevice::kNumber ? bulk_ : known;
    made_.emplace_back(operations_.Number(id), std::vector(head.begin(), head.end()),
                       std::vector(data.begin(), data.end()));
  }

  std::span<const std::byte> bulk_;
  bool fresh_ = false;
  OperationTable operations_;
  uint64_t lane_ = 0;
  std::map<uint64_t, History> histories_;
  std::vector<Made> made_;
  ProgramPath path_;
};

// A program whose every operation goes through a predictor to a follower.
class PredictorTest : public ::testing::Test {
 protected:
  template <typename Op>
  Prediction Do(const Op& op, uint64_t lane = 0, std::span<const std::byte> data = {}) {
    const std::vector<std::byte> head = Encode(op);
    truth_.emplace_back(Op::kNumber, head, std::vector(data.begin(), data.end()));
    const Prediction prediction = predictor_.Perform(lane, Op::kNumber, head, data);
    bytes_ += predictor_.Records().Bytes().size();
    follower_.Read(predictor_, prediction == Prediction::kWithData ? data : std::span<const std::byte>());
    if (prediction == Prediction::kNew) follower_.Whole(Op::kNumber, head, data);
    return prediction;
  }
  // Copies `count` bytes from the host, all of them `value`.
  Prediction Input(uint64_t address, size_t count, uint8_t value) {
    const std::vector<std::byte> data(count, std::byte{value});
    return Do(CopyToDevice{0, {address, count, count}, {count, 1, 1}}, 0, data);
  }
  Prediction Kernel(uint64_t function, uint64_t argument = 0, uint64_t lane = 0) {
    Launch op;
    op.function = function;
    op.parameters.resize(64);
    std::memcpy(op.parameters.data() + 8, &argument, sizeof(argument));
    return Do(op, lane);
  }
  Prediction Result(uint64_t address) { return Do(CopyToHost{0, {address, 4, 4}, {4, 1, 1}}); }
  void ExpectTruth() {
    EXPECT_EQ(follower_.made(), truth_);
    EXPECT_EQ(follower_.path(), predictor_.Path());
  }

  Predictor predictor_;
  Follower follower_;
  std::vector<Follower::Made> truth_;
  size_t bytes_ = 0;
};

TEST_F(PredictorTest, TheSecondInferenceNeedsNoOperationWhole) {
  for (int inference = 0; inference < 3; ++inference) {
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(Kernel(i) == Prediction::kNew, inference == 0);
    Result(64);
  }
  ExpectTruth();
  EXPECT_EQ(predictor_.Counters().unknown, 51u);
  EXPECT_EQ(predictor_.Counters().jumps, 1u);  // back to the first
  EXPECT_EQ(predictor_.Counters().hits, 101u);
}

TEST_F(PredictorTest, NewArgumentsTravelAsTheirBytes) {
  for (int i = 0; i < 3; ++i) {
    Kernel(1, 5);
    Kernel(2, 5);
  }
  bytes_ = 0;
  Kernel(1, 5);
  EXPECT_EQ(Kernel(2, 6), Prediction::kKnown);
  EXPECT_EQ(predictor_.Counters().changed, 1u);
  EXPECT_LT(bytes_, 12u);
  EXPECT_EQ(Kernel(1, 5), Prediction::kKnown);
  EXPECT_EQ(predictor_.Counters().jumps, 1u);  // only the one that closed the first round
  ExpectTruth();
}

TEST_F(PredictorTest, FewDataArePredictedToStayTheSame) {
  const auto inference = [&](uint8_t small, uint8_t large) {
    std::vector<Prediction> made = {Input(64, OperationTable::kMaxData + 1, large), Kernel(1), Input(8, 12, small)};
    Result(16);
    return made;
  };
  using enum Prediction;
  EXPECT_EQ(inference(1, 1), (std::vector{kNew, kNew, kNew}));
  EXPECT_EQ(inference(1, 1), (std::vector{kWithData, kKnown, kKnown}));
  EXPECT_EQ(inference(1, 2), (std::vector{kWithData, kKnown, kKnown}));
  EXPECT_EQ(predictor_.Counters().other_data, 0u);
  EXPECT_EQ(inference(2, 2), (std::vector{kWithData, kKnown, kWithData}));
  EXPECT_EQ(predictor_.Counters().other_data, 1u);
  EXPECT_EQ(inference(2, 2), (std::vector{kWithData, kKnown, kKnown}));
  ExpectTruth();
}

// A framework's allocator may hand out the same blocks in another order each time, and come round after a while.
TEST_F(PredictorTest, InferencesThatTakeTurnsArePredicted) {
  const auto inference = [&](uint64_t turn) {
    Kernel(100);
    for (uint64_t k = 0; k < 30; ++k) Kernel(k, k % 3 == 0 ? turn : 0);
    Result(8);
  };
  for (uint64_t i = 0; i < 10; ++i) inference(i % 5);
  const PredictionCounters before = predictor_.Counters();
  for (uint64_t i = 0; i < 20; ++i) inference(i % 5);
  EXPECT_EQ(predictor_.Counters().hits - before.hits, 20u * 32);
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
  for (uint64_t i = 0; i < OperationTable::kMaxOperations + 10; ++i) Do(SynchronizeStream{i});
  EXPECT_EQ(predictor_.Counters().forgotten, 1u);
  EXPECT_EQ(predictor_.KnownOperations(), 10u);
  EXPECT_EQ(follower_.made().size(), OperationTable::kMaxOperations + 10);
  EXPECT_EQ(follower_.made().back(), truth_.back());
}

TEST_F(PredictorTest, ThePathSaysWhatWasDoneAndByWhom) {
  Predictor another;
  const auto paths_agree = [&] { return predictor_.Path() == another.Path(); };
  const auto make = [&](Predictor& predictor, uint64_t event, uint64_t lane) {
    predictor.Perform(lane, RecordEvent::kNumber, Encode(RecordEvent{event, 0}), {});
  };
  make(predictor_, 1, 0);
  make(another, 1, 0);
  EXPECT_TRUE(paths_agree());
  make(predictor_, 1, 0);
  make(another, 2, 0);
  EXPECT_FALSE(paths_agree());
  make(predictor_, 2, 0);
  make(another, 1, 0);
  EXPECT_FALSE(paths_agree()) << "in another order";
  EXPECT_EQ(predictor_.Position(), another.Position());
}

TEST_F(PredictorTest, ThePathTellsThreadsApart) {
  Predictor another;
  const std::vector<std::byte> head = Encode(RecordEvent{1, 0});
  for (const uint64_t lane : {0, 1}) predictor_.Perform(lane, RecordEvent::kNumber, head, {});
  for (const uint64_t lane : {0, 0}) another.Perform(lane, RecordEvent::kNumber, head, {});
  EXPECT_NE(predictor_.Path(), another.Path());
}

// Whether a wait can be answered here depends on all that came since the last one.
TEST_F(PredictorTest, WhatWasSureOnOneWayIsNotOnAnother) {
  const auto wait = [&](bool server_is_sure) {
    Do(SynchronizeStream{0});
    const bool sure = predictor_.IsSure();
    predictor_.NoteWait();
    if (server_is_sure) predictor_.NoteSure(predictor_.LastPlace(), true);  // else its answer is still under way
    return sure;
  };
  bool sure = false;
  for (int i = 0; i < 4; ++i) {
    Kernel(1);
    sure = wait(true);
  }
  EXPECT_TRUE(sure);
  for (int i = 0; i < 4; ++i) {
    Kernel(2);
    Kernel(1);
    EXPECT_FALSE(wait(false)) << i;
  }
}

// Whatever the program does, the server makes the same operations of what it is told.
RC_GTEST_FIXTURE_PROP(PredictorTest, TheServerFollowsAnyProgram, ()) {
  const auto operations = *rc::gen::container<std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>>(
      rc::gen::tuple(rc::gen::inRange<uint64_t>(0, 6), rc::gen::inRange<uint64_t>(0, 3),
                     rc::gen::weightedElement<uint64_t>({{8, 0}, {1, 1}, {1, 2}})));
  for (const auto& [function, argument, lane] : operations) {
    if (function == 5) {
      Input(lane, lane == 2 ? OperationTable::kMaxData + 1 : lane * 8, static_cast<uint8_t>(argument));
    } else {
      Kernel(function, argument, lane);
    }
  }
  RC_ASSERT(follower_.made() == truth_);
  RC_ASSERT(follower_.path() == predictor_.Path());
}

}  // namespace
}  // namespace wharf::offload
