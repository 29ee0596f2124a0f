#include "wharf/server/process/fair_share.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <thread>

namespace wharf::server {
namespace {

std::shared_ptr<SharedPage> MakePage(uint32_t slots) {
  auto page = *SharedPage::Create();
  for (uint32_t slot = 0; slot < slots; ++slot) OpenSlot(page->Page(), slot);
  return page;
}

void Use(FairShare& share, Nanoseconds time) {
  share.Begin();
  share.End(time);
}

TEST(SharedPageTest, WhoGetsTheDescriptorSeesTheSameAccounts) {
  const auto page = MakePage(2);
  const auto mapped = SharedPage::Map(fcntl(page->Descriptor(), F_DUPFD_CLOEXEC, 0));
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  FairShare share(*mapped, 1);
  Use(share, std::chrono::milliseconds(3));
  share.Idle();
  EXPECT_EQ(TotalsOf(page->Page(), 1).used_nanoseconds, 3'000'000);
  EXPECT_EQ(TotalsOf(page->Page(), 0).used_nanoseconds, 0);
}

TEST(SharedPageTest, CannotBeCutShort) {
  const auto page = MakePage(1);
  EXPECT_EQ(ftruncate(page->Descriptor(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedPageTest, WhatIsNoPageIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(SharedPage::Map(ends[0]).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedPage::Map(ends[1]).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedPage::Map(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FairShareTest, NobodyWaitsForWhoIsIdle) {
  const auto page = MakePage(2);
  FairShare busy(page, 0), idle(page, 1);
  Use(idle, std::chrono::microseconds(1));
  idle.Idle();
  for (int i = 0; i < 1000; ++i) Use(busy, std::chrono::seconds(1));
  busy.Idle();
  EXPECT_EQ(TotalsOf(page->Page(), 0).used_nanoseconds, 1'000'000'000'000);
  EXPECT_EQ(TotalsOf(page->Page(), 0).waited_nanoseconds, 0);
}

TEST(FairShareTest, WhoIsAheadWaitsUntilTheOtherIsIdle) {
  const auto page = MakePage(2);
  FairShare ahead(page, 0), behind(page, 1);
  ahead.Begin();
  behind.Begin();
  ahead.End(std::chrono::hours(1));
  auto done = std::async(std::launch::async, [&] { ahead.Begin(); });
  while (page->Page().waiting.load() == 0) std::this_thread::yield();
  behind.Idle();
  done.get();
  EXPECT_GT(TotalsOf(page->Page(), 0).waited_nanoseconds, 0);
  EXPECT_EQ(TotalsOf(page->Page(), 1).waited_nanoseconds, 0);
}

TEST(FairShareTest, ASlotBeginsAnew) {
  const auto page = MakePage(1);
  FairShare first(page, 0);
  Use(first, std::chrono::seconds(1));
  first.Idle();
  OpenSlot(page->Page(), 0);
  EXPECT_EQ(TotalsOf(page->Page(), 0).used_nanoseconds, 0);
}

}  // namespace
}  // namespace wharf::server
