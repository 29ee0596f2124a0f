#include "wharf/split/timeline_error.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace wharf::split {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Event Computes(Resource resource, int op, double start_ms, double end_ms) {
  return {resource, op, {0, 4}, start_ms, end_ms, 0};
}
Event Travels(Resource resource, int op, double start_ms, double end_ms) {
  return {resource, op, {0, 4}, start_ms, end_ms, 100};
}

TEST(TimelineErrorTest, APlanCarriedOutToTheLetterHasNone) {
  const std::vector<Event> events = {Computes(Resource::kDevice, 1, 0, 5), Travels(Resource::kUplink, 1, 5, 9),
                                     Computes(Resource::kServer, 2, 10, 12), Travels(Resource::kDownlink, 2, 12, 13)};
  const TimelineError error = CompareTimelines(events, events);
  EXPECT_EQ(error.messages, 2);
  EXPECT_EQ(error.message_ms_worst, 0);
  EXPECT_EQ(error.unmatched, 0);
  EXPECT_EQ(error.planned_ms, error.measured_ms);
  EXPECT_EQ(error.planned_ms, (std::array<double, 4>{5, 4, 2, 1}));
  EXPECT_EQ(error.planned_end_ms, 13);
}

TEST(TimelineErrorTest, MessagesAreMatchedByOperatorAndDirection) {
  const std::vector<Event> planned = {Travels(Resource::kUplink, 1, 0, 4), Travels(Resource::kDownlink, 1, 0, 4),
                                      Travels(Resource::kUplink, 2, 4, 8)};
  const std::vector<Event> measured = {Travels(Resource::kUplink, 1, 0, 7), Travels(Resource::kUplink, 2, 7, 9)};
  const TimelineError error = CompareTimelines(planned, measured);
  EXPECT_EQ(error.messages, 2);
  EXPECT_DOUBLE_EQ(error.message_ms_mean, 2);
  EXPECT_DOUBLE_EQ(error.message_ms_worst, 3);
  EXPECT_EQ(error.unmatched, 1);
}

TEST(TimelineErrorTest, FramesOfOneMessageCountTogether) {
  const std::vector<Event> planned = {Travels(Resource::kUplink, 1, 0, 4)};
  const std::vector<Event> measured = {Travels(Resource::kUplink, 1, 0, 2), Travels(Resource::kUplink, 1, 2, 5)};
  const TimelineError error = CompareTimelines(planned, measured);
  EXPECT_EQ(error.messages, 1);
  EXPECT_DOUBLE_EQ(error.message_ms_worst, 1);
  EXPECT_EQ(error.unmatched, 0);
}

TEST(TimelineErrorTest, OperatorsMayBeComputedInOneGo) {
  const std::vector<Event> planned = {Computes(Resource::kServer, 1, 0, 2), Computes(Resource::kServer, 2, 2, 3)};
  const std::vector<Event> measured = {Computes(Resource::kServer, 2, 0, 4)};
  const TimelineError error = CompareTimelines(planned, measured);
  EXPECT_DOUBLE_EQ(error.planned_ms[2], 3);
  EXPECT_DOUBLE_EQ(error.measured_ms[2], 4);
  EXPECT_EQ(error.unmatched, 0);
}

TEST(TimelineErrorTest, WhatNeverEndsIsLeftOut) {
  const std::vector<Event> planned = {Travels(Resource::kUplink, 1, 0, kNever)};
  const TimelineError error = CompareTimelines(planned, {});
  EXPECT_EQ(error.planned_ms[1], 0);
  EXPECT_EQ(error.unmatched, 0);
}

}  // namespace
}  // namespace wharf::split
