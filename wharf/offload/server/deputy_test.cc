#include "wharf/offload/server/deputy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"

namespace wharf::offload {
namespace {

using ::testing::ElementsAre;

Deputy::Frame Numbered(uint64_t tag, size_t bulk = 0) {
  Deputy::Frame frame;
  frame.header.tag = tag;
  frame.bulk.resize(bulk);
  return frame;
}

TEST(DeputyTest, TakesInOrderAndIsIdleWhenAllIsTaken) {
  std::vector<uint64_t> taken;
  absl::Notification go, last;
  Deputy deputy(1 << 20, [&](Deputy::Frame frame) {
    go.WaitForNotification();
    taken.push_back(frame.header.tag);
    if (frame.header.tag == 3) last.Notify();
    return absl::OkStatus();
  });
  EXPECT_TRUE(deputy.IsIdle());
  for (uint64_t tag = 1; tag <= 3; ++tag) EXPECT_TRUE(deputy.Add(Numbered(tag)));
  EXPECT_FALSE(deputy.IsIdle());
  go.Notify();
  last.WaitForNotification();
  while (!deputy.IsIdle()) std::this_thread::yield();
  EXPECT_THAT(taken, ElementsAre(1, 2, 3));
}

TEST(DeputyTest, WhatWaitsIsBoundedWithTheFrameUnderWay) {
  absl::Notification begun, go;
  Deputy deputy(3000, [&](const Deputy::Frame& frame) {
    if (frame.header.tag == 1) begun.Notify();
    go.WaitForNotification();
    return absl::OkStatus();
  });
  EXPECT_TRUE(deputy.Add(Numbered(1, 2000)));
  begun.WaitForNotification();
  EXPECT_FALSE(deputy.Add(Numbered(2, 2000)));
  EXPECT_TRUE(deputy.Add(Numbered(3, 100)));
  go.Notify();
}

TEST(DeputyTest, NothingIsTakenAfterAFailureOrAStop) {
  std::atomic<int> taken{0};
  Deputy failing(1 << 20, [&](const Deputy::Frame&) {
    ++taken;
    return Aborted("no more");
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(failing.Add(Numbered(1)));
  failing.Stop();
  EXPECT_LE(taken, 1);

  Deputy stopped(1 << 20, [&](const Deputy::Frame&) { return Internal("taken"); });
  stopped.Stop();
  EXPECT_TRUE(stopped.Add(Numbered(1)));
  stopped.Stop();
}

}  // namespace
}  // namespace wharf::offload
