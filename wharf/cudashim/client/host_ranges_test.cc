#include "wharf/cudashim/client/host_ranges.h"

#include <gtest/gtest.h>

namespace wharf::client {
namespace {

void* At(uint64_t address) { return reinterpret_cast<void*>(address); }

TEST(HostRanges, FindsTheRangeAnAddressLiesIn) {
  HostRanges ranges;
  ASSERT_TRUE(ranges.Add(At(1000), 100, 3, true));
  EXPECT_EQ(ranges.Find(1099)->base, 1000u);
  EXPECT_EQ(ranges.Find(1099)->flags, 3u);
  EXPECT_FALSE(ranges.Find(1100));
  EXPECT_FALSE(ranges.Find(999));
}

TEST(HostRanges, ContainsOnlyWhatLiesWhollyInOneRange) {
  HostRanges ranges;
  ASSERT_TRUE(ranges.Add(At(1000), 100, 0, false));
  ASSERT_TRUE(ranges.Add(At(1100), 100, 0, false));
  EXPECT_TRUE(ranges.Contains(1000, 100));
  EXPECT_FALSE(ranges.Contains(1050, 100));
  EXPECT_FALSE(ranges.Contains(1050, UINT64_MAX));
}

TEST(HostRanges, RefusesOverlaps) {
  HostRanges ranges;
  ASSERT_TRUE(ranges.Add(At(1000), 100, 0, false));
  EXPECT_FALSE(ranges.Add(At(1099), 10, 0, false));
  EXPECT_FALSE(ranges.Add(At(990), 11, 0, false));
  EXPECT_TRUE(ranges.Add(At(990), 10, 0, false));
}

TEST(HostRanges, AllocatedAndRegisteredMemoryAreReleasedDifferently) {
  HostRanges ranges;
  ASSERT_TRUE(ranges.Add(At(1000), 100, 0, true));
  EXPECT_FALSE(ranges.Remove(At(1000), false));
  EXPECT_FALSE(ranges.Remove(At(1001), true));
  EXPECT_TRUE(ranges.Remove(At(1000), true));
  EXPECT_FALSE(ranges.Remove(At(1000), true));
}

TEST(HostRanges, BoundsTellMostOtherAddressesApart) {
  HostRanges ranges;
  EXPECT_FALSE(ranges.MayBeOwned(0x1000));
  ranges.Add(At(0x9000), 16, 0, /*owned=*/false);
  EXPECT_FALSE(ranges.MayBeOwned(0x9000));
  ranges.Add(At(0x2000), 16, 0, /*owned=*/true);
  ranges.Add(At(0x4000), 16, 0, /*owned=*/true);
  EXPECT_TRUE(ranges.MayBeOwned(0x2000));
  EXPECT_TRUE(ranges.MayBeOwned(0x400f));
  EXPECT_FALSE(ranges.MayBeOwned(0x4010));
  EXPECT_FALSE(ranges.MayBeOwned(0x1fff));
}

}  // namespace
}  // namespace wharf::client
