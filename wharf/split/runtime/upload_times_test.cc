#include "wharf/split/runtime/upload_times.h"

#include <gtest/gtest.h>

namespace wharf::split {
namespace {

Event Sent(int op, double start_ms, double bytes) { return {Resource::kUplink, op, {0, 1}, start_ms, start_ms, bytes}; }
Event Computed(int op) { return {Resource::kDevice, op, {0, 1}, 0, 1, 0}; }
Arrival Came(double start_ms, double end_ms) {
  return {1000, static_cast<uint64_t>(start_ms * 1e6), static_cast<uint64_t>(end_ms * 1e6)};
}

TEST(UploadTimes, AreFromSendingToArrivalWithBeginsOwnWayTakenOff) {
  const std::vector<Event> recorded = {Computed(1), Sent(1, 3, 1000), Sent(2, 5, 500)};
  const UploadTimes times = TimeUploads(recorded, std::vector<Arrival>{Came(4, 8), Came(8, 12)}, 1);
  ASSERT_EQ(times.sent.size(), 2u);
  EXPECT_DOUBLE_EQ(times.sent[0].start_ms, 3);
  EXPECT_DOUBLE_EQ(times.sent[0].end_ms, 9);
  EXPECT_DOUBLE_EQ(times.sent[1].start_ms, 9) << "behind the first";
  EXPECT_DOUBLE_EQ(times.sent[1].end_ms, 13);
  EXPECT_DOUBLE_EQ(times.bytes, 1500);
  EXPECT_DOUBLE_EQ(times.busy_ms.value(), 10);
}

TEST(UploadTimes, AMessageTakesAtLeastWhatItsBytesTookToComeIn) {
  const UploadTimes times = TimeUploads(std::vector<Event>{Sent(1, 3, 1000)}, std::vector<Arrival>{Came(0.5, 6)}, 0);
  EXPECT_DOUBLE_EQ(times.busy_ms.value(), 5.5);
}

TEST(UploadTimes, SayNothingOfTheLinkWhenBeginWasHeldUpWithTheRows) {
  // The link stood still until both had been sent: then both came at once.
  const UploadTimes times = TimeUploads(std::vector<Event>{Sent(1, 300, 1000)}, std::vector<Arrival>{Came(0, 1)}, 0);
  EXPECT_EQ(times.busy_ms, std::nullopt);
  EXPECT_DOUBLE_EQ(times.sent[0].end_ms, 300);
}

TEST(UploadTimes, StayWithinReasonWhateverThePeerSays) {
  const Arrival absurd{1000, UINT64_MAX, UINT64_MAX}, backwards{1000, UINT64_MAX, 2'000'000};
  EXPECT_DOUBLE_EQ(TimeUploads(std::vector<Event>{Sent(1, 0, 1)}, std::vector<Arrival>{absurd}, 0).busy_ms.value(),
                   3600e3);
  EXPECT_DOUBLE_EQ(TimeUploads(std::vector<Event>{Sent(1, 0, 1)}, std::vector<Arrival>{backwards}, 0).busy_ms.value(),
                   2);
}

TEST(UploadTimes, KnowOnlyOfWhatHasArrived) {
  const UploadTimes times =
      TimeUploads(std::vector<Event>{Sent(1, 1, 1000), Sent(2, 2, 500)}, std::vector<Arrival>{Came(1, 4)}, 0);
  EXPECT_EQ(times.sent.size(), 1u);
  EXPECT_DOUBLE_EQ(times.bytes, 1000);
  EXPECT_EQ(TimeUploads({}, {}, 0).busy_ms, std::nullopt);
}

}  // namespace
}  // namespace wharf::split
