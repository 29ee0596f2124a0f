#include "wharf/offload/server/frame_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"

namespace wharf::offload {
namespace {

using ::testing::ElementsAre;

FrameWorker::Frame Numbered(uint64_t tag, size_t bulk = 0) {
  FrameWorker::Frame frame;
  frame.header.tag = tag;
  frame.bulk.resize(bulk);
  return frame;
}

TEST(FrameWorkerTest, TakesInOrderAndIsIdleWhenAllIsTaken) {
  std::vector<uint64_t> taken;
  absl::Notification go, last;
  FrameWorker worker(1 << 20, [&](FrameWorker::Frame frame) {
    go.WaitForNotification();
    taken.push_back(frame.header.tag);
    if (frame.header.tag == 3) last.Notify();
    return absl::OkStatus();
  });
  EXPECT_TRUE(worker.IsIdle());
  for (uint64_t tag = 1; tag <= 3; ++tag) EXPECT_TRUE(worker.Add(Numbered(tag)));
  EXPECT_FALSE(worker.IsIdle());
  go.Notify();
  last.WaitForNotification();
  while (!worker.IsIdle()) std::this_thread::yield();
  EXPECT_THAT(taken, ElementsAre(1, 2, 3));
}

TEST(FrameWorkerTest, WhatWaitsIsBoundedWithTheFrameUnderWay) {
  absl::Notification begun, go;
  FrameWorker worker(3000, [&](const FrameWorker::Frame& frame) {
    if (frame.header.tag == 1) begun.Notify();
    go.WaitForNotification();
    return absl::OkStatus();
  });
  EXPECT_TRUE(worker.Add(Numbered(1, 2000)));
  begun.WaitForNotification();
  EXPECT_FALSE(worker.Add(Numbered(2, 2000)));
  EXPECT_TRUE(worker.Add(Numbered(3, 100)));
  go.Notify();
}

TEST(FrameWorkerTest, NothingIsTakenAfterAFailureOrAStop) {
  std::atomic<int> taken{0};
  FrameWorker failing(1 << 20, [&](const FrameWorker::Frame&) {
    ++taken;
    return Aborted("no more");
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(failing.Add(Numbered(1)));
  failing.Stop();
  EXPECT_LE(taken, 1);

  FrameWorker stopped(1 << 20, [&](const FrameWorker::Frame&) { return Internal("taken"); });
  stopped.Stop();
  EXPECT_TRUE(stopped.Add(Numbered(1)));
  stopped.Stop();
}

}  // namespace
}  // namespace wharf::offload
