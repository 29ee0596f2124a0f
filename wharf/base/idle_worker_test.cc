#include "wharf/base/idle_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"

namespace wharf {
namespace {

TEST(IdleWorkerTest, TasksRunInOrder) {
  std::vector<int> ran;
  absl::Notification done;
  IdleWorker worker;
  for (int i = 0; i < 5; ++i) worker.Push([&ran, i] { ran.push_back(i); });
  worker.Push([&done] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_THAT(ran, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(IdleWorkerTest, TheEndWaitsForTheTaskThatRuns) {
  absl::Notification begun, go_on;
  bool ran = false;
  auto worker = std::make_unique<IdleWorker>();
  worker->Push([&] {
    begun.Notify();
    go_on.WaitForNotification();
    ran = true;
  });
  begun.WaitForNotification();
  std::thread end([&] { worker.reset(); });
  go_on.Notify();
  end.join();
  EXPECT_TRUE(ran);
}

TEST(IdleWorkerTest, WithoutTasksThereIsNothingToWaitFor) { IdleWorker worker; }

}  // namespace
}  // namespace wharf
