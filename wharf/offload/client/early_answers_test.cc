#include "wharf/offload/client/early_answers.h"

#include <gtest/gtest.h>

namespace wharf::offload {
namespace {

EarlyAnswer Answer(uint64_t deviations, size_t bytes = 0) {
  EarlyAnswer answer;
  answer.push.deviations = deviations;
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

TEST(EarlyAnswersTest, ADeviationVoidsWhatIsKeptAndWhatWasUnderWay) {
  EarlyAnswers answers;
  ASSERT_TRUE(answers.Add(7, Answer(0)).ok());
  ASSERT_TRUE(answers.Add(8, Answer(0)).ok());
  answers.Deviate(1);
  ASSERT_TRUE(answers.Add(9, Answer(0)).ok());
  EXPECT_EQ(answers.voided(), 3u);
  for (const uint64_t position : {7, 8, 9}) EXPECT_FALSE(answers.Take(position, 1).has_value());
  ASSERT_TRUE(answers.Add(10, Answer(1)).ok());
  EXPECT_TRUE(answers.Take(10, 1).has_value());
}

TEST(EarlyAnswersTest, BytesAreBounded) {
  EarlyAnswers answers;
  constexpr size_t kHalf = EarlyAnswers::kMaxBytes / 2;
  ASSERT_TRUE(answers.Add(1, Answer(0, kHalf)).ok());
  EXPECT_TRUE(answers.HasRoomFor(kHalf));
  EXPECT_FALSE(answers.HasRoomFor(kHalf + 1));
  ASSERT_TRUE(answers.Add(1, Answer(0, 1)).ok());  // in the place of the other
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes - 1));
  answers.Deviate(1);
  EXPECT_TRUE(answers.HasRoomFor(EarlyAnswers::kMaxBytes));
}

TEST(EarlyAnswersTest, TheirNumberIsBounded) {
  EarlyAnswers answers;
  for (uint64_t i = 0; i < EarlyAnswers::kMaxAnswers; ++i) ASSERT_TRUE(answers.Add(i, Answer(0)).ok());
  EXPECT_EQ(answers.Add(EarlyAnswers::kMaxAnswers, Answer(0)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(answers.Add(EarlyAnswers::kMaxAnswers, Answer(1)).ok()) << "is void anyway";
}

}  // namespace
}  // namespace wharf::offload
