#include "wharf/wire/session_kind.h"

#include <gtest/gtest.h>

namespace wharf::wire {
namespace {

// Hello, Welcome and Goodbye of programs, models, pipelines and AR.
constexpr uint16_t kHellos[] = {1, 128, 160, 192};

TEST(SessionKindTest, AnAnswerOfAnotherServerNamesBoth) {
  EXPECT_EQ(
      CheckServer(194, 1),
      FailedPrecondition("what answers there is `wharf ar serve` or `wharf serve --ar`; this wants `wharf serve`"));
  EXPECT_EQ(CheckServer(3, 160),
            FailedPrecondition("what answers there is `wharf serve`; this wants `wharf pipeline serve`"));
}

TEST(SessionKindTest, AnswersOfTheSameServerAndOtherFramesAreNoConcern) {
  for (const uint16_t hello : kHellos) {
    for (const uint16_t frame : {0, 1, 2}) EXPECT_EQ(CheckServer(hello + frame, hello), absl::OkStatus());
    for (const uint16_t frame : {0, 4, 16, 100, 131, 163, 195, 65535})
      EXPECT_EQ(CheckServer(frame, hello), absl::OkStatus());
  }
  EXPECT_EQ(CheckServer(129, 1), absl::OkStatus());  // one server for both
}

TEST(SessionKindTest, AHelloForAnotherServerNamesBoth) {
  EXPECT_EQ(WrongHello(192, 1),
            InvalidArgument("its client wants `wharf ar serve` or `wharf serve --ar`, and this is `wharf serve`"));
  for (const uint16_t frame : {2, 16, 128, 65535}) {
    EXPECT_EQ(WrongHello(frame, 1), InvalidArgument("the first frame must be a Hello"));
  }
}

}  // namespace
}  // namespace wharf::wire
