#include "wharf/server/daemon/share_slots.h"

#include <gtest/gtest.h>

namespace wharf::server {
namespace {

TEST(ShareSlotsTest, ASlotIsOneSessionsUntilItIsReturned) {
  auto page = SharedPage::Create();
  ASSERT_TRUE(page.ok()) << page.status();
  ShareSlots slots(*page);
  const uint32_t first = slots.Take(), second = slots.Take();
  EXPECT_NE(first, second);
  slots.Return(first);
  slots.Return(first);
  EXPECT_EQ(slots.Take(), first);
  EXPECT_NE(slots.Take(), second);
}

TEST(ShareSlotsTest, WhoComesWhenThereIsNoneHasNone) {
  auto page = SharedPage::Create();
  ASSERT_TRUE(page.ok()) << page.status();
  ShareSlots slots(*page);
  for (uint32_t i = 0; i < kShareSlots; ++i) EXPECT_NE(slots.Take(), kNoShareSlot);
  EXPECT_EQ(slots.Take(), kNoShareSlot);
  slots.Return(kNoShareSlot);
  EXPECT_EQ(slots.Take(), kNoShareSlot);
  slots.Return(5);
  EXPECT_EQ(slots.Take(), 5u);
}

TEST(ShareSlotsTest, WithoutAPageThereAreNone) {
  ShareSlots slots(nullptr);
  EXPECT_EQ(slots.Descriptor(), -1);
  EXPECT_EQ(slots.Take(), kNoShareSlot);
  slots.Return(kNoShareSlot);
  EXPECT_EQ(slots.Totals(kNoShareSlot).used_nanoseconds, 0);
}

}  // namespace
}  // namespace wharf::server
