#include "wharf/offload/client/error_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace wharf::offload {
namespace {

using device::CudaError;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CudaError kOk = CudaError::kSuccess;

class ErrorStateTest : public testing::Test {
 protected:
  void Latch(ReplyHeader header, bool include_own = false) { errors_.Latch(header, include_own); }
  CudaError OutcomeOf(CudaError own) {
    const auto request = std::make_shared<Request>();
    request->header.error = own;
    return errors_.Outcome(std::array{request});
  }

  std::vector<std::string> lost_;
  ErrorState errors_{[this](std::string_view reason) { lost_.emplace_back(reason); }};
};

TEST_F(ErrorStateTest, TheFirstPostedErrorIsReturnedOnce) {
  Latch({.posted_error = CudaError::kInvalidValue});
  Latch({.posted_error = CudaError::kOutOfMemory});
  EXPECT_TRUE(errors_.HasPending());
  EXPECT_EQ(OutcomeOf(CudaError::kNotReady), CudaError::kInvalidValue);
  EXPECT_EQ(OutcomeOf(CudaError::kNotReady), CudaError::kNotReady);
  EXPECT_EQ(OutcomeOf(kOk), kOk);
}

TEST_F(ErrorStateTest, ARequestsOwnErrorIsPendingOnlyIfNobodyWaits) {
  Latch({.error = CudaError::kInvalidValue});
  EXPECT_FALSE(errors_.HasPending());
  Latch({.error = CudaError::kInvalidValue}, /*include_own=*/true);
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
  EXPECT_EQ(errors_.TakePending(), kOk);
}

TEST_F(ErrorStateTest, WhatIsKeptDoesNotReplaceWhatIsPending) {
  EXPECT_TRUE(errors_.Keep(CudaError::kInvalidValue));
  EXPECT_FALSE(errors_.Keep(CudaError::kOutOfMemory));
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
}

TEST_F(ErrorStateTest, AFaultStaysAndComesBeforeEverythingElse) {
  Latch({.posted_error = CudaError::kInvalidValue, .fault = CudaError::kIllegalAddress, .message = "beyond the end"});
  EXPECT_EQ(errors_.Sticky(), CudaError::kIllegalAddress);
  EXPECT_EQ(errors_.StickyMessage(), "beyond the end");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(OutcomeOf(kOk), CudaError::kIllegalAddress);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(ErrorStateTest, TheLossIsToldOnceWithTheFirstReason) {
  errors_.Open();
  errors_.Lose("no sign of life");
  errors_.Lose("closed");
  EXPECT_EQ(errors_.Sticky(), CudaError::kRemoteLost);
  EXPECT_EQ(errors_.StickyMessage(), "no sign of life");
  EXPECT_THAT(lost_, ElementsAre("no sign of life"));
}

TEST_F(ErrorStateTest, TheServersOwnReasonIsTheBetterOne) {
  errors_.Open();
  errors_.NoteGoodbye("shutting down");
  errors_.Lose("closed by peer");
  EXPECT_THAT(lost_, ElementsAre("shutting down"));
}

TEST_F(ErrorStateTest, WhatEndsBeforeTheHandshakeOrOnPurposeIsNoLoss) {
  errors_.Lose("refused");
  errors_.Open();
  EXPECT_TRUE(errors_.Close());
  EXPECT_FALSE(errors_.Close());
  errors_.Lose("closed");
  EXPECT_EQ(errors_.Sticky(), CudaError::kRemoteLost);
  EXPECT_THAT(lost_, IsEmpty());
}

}  // namespace
}  // namespace wharf::offload
