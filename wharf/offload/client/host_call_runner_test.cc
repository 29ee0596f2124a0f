#include "wharf/offload/client/host_call_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace wharf::offload {
namespace {

class HostCallRunnerTest : public testing::Test {
 protected:
  void WaitForDone(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_.size() >= count; };
    mutex_.Await(absl::Condition(&reached));
  }
  std::vector<uint64_t> Done() {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

  VirtualClock clock_;
  absl::Mutex mutex_;
  std::vector<uint64_t> done_ ABSL_GUARDED_BY(mutex_);
  absl::Notification idle_;
  HostCallRunner runner_{&clock_,
                         {.done =
                              [this](uint64_t call) {
                                absl::MutexLock lock(&mutex_);
                                done_.push_back(call);
                              },
                          .idle =
                              [this] {
                                if (!idle_.HasBeenNotified()) idle_.Notify();
                              }}};
};

TEST_F(HostCallRunnerTest, FunctionsRunOnceInTheOrderOfTheDevice) {
  int runs = 0;
  for (const uint64_t call : {1, 2, 3}) runner_.Add(call, [&runs] { ++runs; });
  runner_.Start();
  for (const uint64_t call : {2, 99, 2, 3, 1}) runner_.Run(call);
  WaitForDone(3);
  runner_.Stop();
  runner_.Join();
  EXPECT_THAT(Done(), testing::ElementsAre(2, 3, 1));
  EXPECT_EQ(runs, 3);
}

// Else a server that says so all the time would have the client keep it all.
TEST_F(HostCallRunnerTest, NothingIsKeptOfCallsThatAreNotKnownYet) {
  runner_.Run(3);
  runner_.Add(1, [this] { runner_.Add(1, [] { ADD_FAILURE() << "once too often"; }); });
  runner_.Add(2, [] {});
  runner_.Run(1);
  runner_.Run(1);
  runner_.Add(3, [] { ADD_FAILURE() << "the device has not got there"; });
  runner_.Run(2);
  runner_.Start();
  WaitForDone(2);
  runner_.Stop();
  runner_.Join();
  EXPECT_THAT(Done(), testing::ElementsAre(1, 2));
}

TEST_F(HostCallRunnerTest, StopWaitsForTheFunctionThatRunsAndBeginsNoOther) {
  absl::Notification began, go;
  runner_.Add(1, [&] {
    began.Notify();
    go.WaitForNotification();
  });
  runner_.Add(2, [] { ADD_FAILURE() << "after Stop"; });
  runner_.Start();
  runner_.Run(1);
  began.WaitForNotification();
  runner_.Run(2);
  runner_.Stop();
  go.Notify();
  runner_.Join();
  EXPECT_THAT(Done(), testing::ElementsAre(1));
}

TEST_F(HostCallRunnerTest, AnIdleRunnerSaysSo) {
  runner_.Start();
  while (!idle_.HasBeenNotified()) {
    clock_.Advance(HostCallRunner::kIdle);
    std::this_thread::yield();
  }
}

TEST_F(HostCallRunnerTest, ARunnerThatNeverStartedCanGo) { runner_.Stop(); }

}  // namespace
}  // namespace wharf::offload
