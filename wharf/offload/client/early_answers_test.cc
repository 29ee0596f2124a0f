#include "wharf/offload/client/early_answers.h"

#include <gtest/gtest.h>

namespace wharf::offload {
namespace {

EarlyAnswer Answer(uint64_t path, size_t bytes = 0, uint64_t taken_back = 0) {
  EarlyAnswer answer;
  answer.push.path = path;
  answer.push.taken_back = taken_back;
  answer.bulk.resize(bytes);
  return answer;
}

TEST(EarlyAnswersTest, AnAnswerIsTakenOnce) {
  EarlyAnswers answers;
  ASSERT_TRUE(answers.Add(7, Answer(0, 3)).ok());
  EXPECT_FALSE(answers.Take(6, 0).has_value());
  ASSERT_TRUE(answers.Take(7, 0).has_value());
  EXPECT_FALSE(answers.Take(7, 0).has_value());
  EXPECT_EQ(answers.kept(), 1u);
  EXPECT_EQ(answers.voided(), 0u);
}

TEST(EarlyAnswersTest, AnAnswerIsOfWhatTheProgramDidOrVoid) {
  EarlyAnswers answers;
  ASSERT_TRUE(answers.Add(7, Answer(70)).ok());
  ASSERT_TRUE(answers.Add(8, Answer(80)).ok());
  EXPECT_FALSE(answers.Take(7, 71).has_value()) << "it did something else";
  EXPECT_TRUE(answers.Take(8, 80).has_value());
  EXPECT_EQ(answers.voided(), 1u);
  ASSERT_TRUE(answers.Add(8, Answer(80)).ok());
  EXPECT_FALSE(answers.Take(8, 80).has_value()) << "came too late";
  EXPECT_EQ(answers.voided(), 2u);
}

TEST(EarlyAnswersTest, WhatWasTakenBackIsVoidAndStaysSo) {
  EarlyAnswers answers;
  ASSERT_TRUE(answers.Add(7, Answer(70, 3)).ok());
  ASSERT_TRUE(answers.Add(8, Answer(80, 5)).ok());
  answers.NoteTakenBack(1);
  EXPECT_EQ(answers.voided(), 2u);
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes));
  ASSERT_TRUE(answers.Add(7, Answer(70, 0, 0)).ok());
  EXPECT_FALSE(answers.Take(7, 70).has_value());
  ASSERT_TRUE(answers.Add(8, Answer(80, 0, 2)).ok());
  EXPECT_TRUE(answers.Take(8, 80).has_value());
}

TEST(EarlyAnswersTest, WhatTheProgramHasPassedIsForgotten) {
  EarlyAnswers answers;
  ASSERT_TRUE(answers.Add(7, Answer(70, 100)).ok());
  EXPECT_FALSE(answers.Take(9, 90).has_value());
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes));
}

TEST(EarlyAnswersTest, BytesAreBounded) {
  EarlyAnswers answers;
  constexpr size_t kHalf = EarlyAnswers::kMaxBytes / 2;
  ASSERT_TRUE(answers.Add(1, Answer(0, kHalf)).ok());
  EXPECT_TRUE(answers.HasRoomFor(kHalf));
  EXPECT_FALSE(answers.HasRoomFor(kHalf + 1));
  ASSERT_TRUE(answers.Add(1, Answer(0, 1)).ok());  // in the place of the other
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes - 1));
  answers.NoteTakenBack(1);
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes));
}

TEST(EarlyAnswersTest, TheirNumberIsBounded) {
  EarlyAnswers answers;
  for (uint64_t i = 1; i <= EarlyAnswers::kMaxAnswers; ++i) ASSERT_TRUE(answers.Add(i, Answer(0)).ok());
  EXPECT_EQ(answers.Add(EarlyAnswers::kMaxAnswers + 1, Answer(0)).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::offload
