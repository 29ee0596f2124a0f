#include "wharf/device/soft/check/shared_races.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace wharf::device::soft::check {
namespace {

constexpr uint8_t kAtomic = kReads | kWrites | kStrong, kVolatileRead = kReads | kStrong;

Access AccessOf(uint8_t flags, uint8_t bytes = 4) { return {.bytes = bytes, .alignment = bytes, .flags = flags}; }

class SharedRacesTest : public testing::Test {
 protected:
  SharedRacesTest() { races_.Start(64, 64); }
  // The site is the thread's number.
  std::optional<SharedRaces::Hazard> Touch(uint32_t thread, uint8_t flags, uint32_t offset = 0, uint8_t bytes = 4,
                                           uint32_t unchanged = 0) {
    return races_.Touch(thread, thread, offset, AccessOf(flags, bytes), unchanged);
  }
  SharedRaces races_;
};

TEST_F(SharedRacesTest, ReadsDoNotRace) {
  EXPECT_EQ(Touch(0, kReads), std::nullopt);
  EXPECT_EQ(Touch(40, kReads), std::nullopt);
}

TEST_F(SharedRacesTest, AReadRacesWithTheWriteBeforeIt) {
  EXPECT_EQ(Touch(3, kWrites), std::nullopt);
  EXPECT_EQ(Touch(3, kReads), std::nullopt) << "its own";
  EXPECT_EQ(Touch(40, kReads), (SharedRaces::Hazard{.offset = 0, .thread = 3, .site = 3, .flags = kWrites}));
}

TEST_F(SharedRacesTest, AWriteRacesWithEachReadBeforeIt) {
  Touch(5, kReads);
  Touch(6, kReads);
  races_.clocks().MeetInWarp(0, 1U << 5 | 1U << 7);
  EXPECT_EQ(Touch(7, kWrites), (SharedRaces::Hazard{.offset = 0, .thread = 6, .site = 6, .flags = kReads}));
}

TEST_F(SharedRacesTest, WritesOfOneValueAreNoHazard) {
  Touch(0, kWrites, 0, 4);
  EXPECT_EQ(Touch(1, kWrites, 0, 4, 0b1111), std::nullopt);
  EXPECT_EQ(Touch(2, kWrites, 0, 4, 0b1011), (SharedRaces::Hazard{.offset = 2, .thread = 1, .site = 1, .flags = 2}));
}

TEST_F(SharedRacesTest, AValueThatIsWrittenAgainStillRacesWithReads) {
  Touch(0, kReads);
  EXPECT_NE(Touch(1, kWrites, 0, 4, 0b1111), std::nullopt);
}

TEST_F(SharedRacesTest, AtomicsRaceWithOthersOnly) {
  EXPECT_EQ(Touch(0, kAtomic), std::nullopt);
  EXPECT_EQ(Touch(40, kAtomic), std::nullopt);
  const auto hazard = Touch(40, kReads);
  ASSERT_NE(hazard, std::nullopt) << "with the one before its own";
  EXPECT_EQ(hazard->thread, 0u);
}

TEST_F(SharedRacesTest, BytesCount) {
  Touch(0, kWrites, 4, 1);
  EXPECT_EQ(Touch(1, kWrites, 5, 1), std::nullopt);
  EXPECT_EQ(Touch(2, kReads, 6, 2), std::nullopt);
  const auto hazard = Touch(3, kReads, 0, 16);
  ASSERT_NE(hazard, std::nullopt);
  EXPECT_EQ(hazard->offset, 4u);
}

TEST_F(SharedRacesTest, BarriersOrder) {
  Touch(0, kWrites);
  races_.clocks().MeetAll();
  EXPECT_EQ(Touch(40, kReads), std::nullopt);
  EXPECT_EQ(Touch(0, kReads), std::nullopt);
  races_.Start(64, 64);  // the next block
  EXPECT_EQ(Touch(9, kWrites), std::nullopt);
}

TEST_F(SharedRacesTest, ALongLoopOfAWarpKeepsWhatItNeedsOnly) {
  for (uint32_t round = 0; round < 10'000; ++round) {
    for (uint32_t lane = 0; lane < 32; ++lane) Touch(lane, kReads);
    races_.clocks().MeetInWarp(0, ~0U);
  }
  const auto hazard = Touch(40, kWrites);
  ASSERT_NE(hazard, std::nullopt);
  EXPECT_EQ(hazard->thread, 0u);
}

// All accesses so far, with no cleverness.
struct Past {
  uint32_t thread, clock, interval, offset;
  uint8_t flags, bytes;
};

// Whether any access of the past, since it was last written over, races with this one.
bool Races(const std::vector<Past>& past, BlockClocks& clocks, const Past& now) {
  for (const Past& before : past) {
    const bool overlap = before.offset < now.offset + now.bytes && now.offset < before.offset + before.bytes;
    const bool conflict = ((before.flags | now.flags) & kWrites) != 0 && (before.flags & now.flags & kStrong) == 0;
    if (overlap && conflict && before.interval == clocks.interval() &&
        !clocks.IsOrdered(before.thread, before.clock, now.thread)) {
      return true;
    }
  }
  return false;
}

// Up to the first: what comes after a race is not defined.
RC_GTEST_PROP(SharedRaces, FindsTheFirstRaceWhereThereIsOne, ()) {
  constexpr uint32_t kThreads = 64, kBytes = 24;
  SharedRaces races;
  races.Start(kThreads, kBytes);
  std::vector<Past> past;
  const auto steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) {
    const auto what = *rc::gen::inRange(0, 10);
    const auto warp = *rc::gen::inRange<uint32_t>(0, 2);
    if (what == 0) {
      races.clocks().MeetAll();
    } else if (what < 4) {
      races.clocks().MeetInWarp(warp, *rc::gen::arbitrary<uint32_t>());
    } else {
      const auto flags = *rc::gen::elementOf(std::vector<uint8_t>{kReads, kReads, kWrites, kAtomic, kVolatileRead});
      const auto bytes = *rc::gen::elementOf(std::vector<uint8_t>{1, 2, 4, 8});
      const uint32_t offset = *rc::gen::inRange<uint32_t>(0, kBytes / bytes) * bytes;
      const auto thread = *rc::gen::inRange<uint32_t>(0, 4) * 9 + warp * 32;
      const Past now{thread, races.clocks().Now(thread), races.clocks().interval(), offset, flags, bytes};
      const bool expected = Races(past, races.clocks(), now);
      RC_ASSERT(races.Touch(thread, 0, offset, AccessOf(flags, bytes), 0).has_value() == expected);
      if (expected) return;
      past.push_back(now);
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::check
