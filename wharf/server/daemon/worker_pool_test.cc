// Pools of scripts.
#include "wharf/server/daemon/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "wharf/server/daemon/worker_pool_testing.h"

namespace wharf::server {
namespace {

class WorkerPoolTest : public ::testing::Test {
 protected:
  WorkerPoolTest() : connection_(dup(STDERR_FILENO)) {}
  ~WorkerPoolTest() override {
    pool_.reset();
    close(connection_);
  }
  void Make(const std::string& program, const std::string& model_program, const WorkerLimits& limits = {}) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    loop_ = *PollLoop::Create();
    ASSERT_EQ(loop_->WatchSignals(signals,
                                  [this](int) {
                                    pool_->Reap([this](const WorkerProcess& worker, int status) {
                                      ended_[worker.Pid()] = status;
                                    });
                                  }),
              absl::OkStatus());
    pool_ = std::make_unique<WorkerPool>(
        WorkerPoolConfig{.program = program, .model_program = model_program, .limits = limits}, *loop_,
        [](WorkerProcess&, const ControlMessage&) {}, [this](pid_t from, pid_t to) { moved_[from] = to; });
  }
  // Turns the loop until the worker has ended: its status.
  int AwaitEnd(pid_t worker) {
    while (!ended_.contains(worker)) loop_->Turn(-1);
    return ended_[worker];
  }
  pid_t Assign(WorkerKind kind) {
    const absl::StatusOr<pid_t> worker = pool_->Assign(kind, wharf::server::Assign{}, connection_);
    EXPECT_TRUE(worker.ok()) << worker.status();
    return worker.ok() ? *worker : -1;
  }
  size_t Busy() const {
    size_t count = 0;
    pool_->ForEachBusy([&](WorkerProcess&) { ++count; });
    return count;
  }

  const WorkerScripts scripts_;
  const int connection_;
  std::map<pid_t, int> ended_;
  std::map<pid_t, pid_t> moved_;
  std::unique_ptr<PollLoop> loop_;
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(WorkerPoolTest, EachConnectionHasAWorkerOfItsOwn) {
  Make(scripts_.Obedient(), scripts_.Obedient());
  pool_->KeepIdle();
  EXPECT_FALSE(pool_->Empty());
  EXPECT_EQ(Busy(), 0u);
  const std::set<pid_t> workers = {Assign(WorkerKind::kPrograms), Assign(WorkerKind::kPrograms),
                                   Assign(WorkerKind::kModels)};
  EXPECT_EQ(workers.size(), 3u);
  EXPECT_EQ(Busy(), 3u);
  for (const pid_t worker : workers) EXPECT_NE(pool_->Find(worker), nullptr);
  EXPECT_EQ(pool_->Find(1), nullptr);
}

TEST_F(WorkerPoolTest, WhoEndsIsReapedOnce) {
  Make(scripts_.Obedient(), "");
  const pid_t first = Assign(WorkerKind::kPrograms), second = Assign(WorkerKind::kPrograms);
  pool_->Kill(first);
  const int status = AwaitEnd(first);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(pool_->Find(first), nullptr);
  EXPECT_NE(pool_->Find(second), nullptr);
  pool_->KillAll();
  AwaitEnd(second);
  EXPECT_TRUE(pool_->Empty());
}

TEST_F(WorkerPoolTest, IdleWorkersEndWhenTheyAreStopped) {
  Make(scripts_.Obedient(), "");
  pool_->KeepIdle();
  const pid_t busy = Assign(WorkerKind::kPrograms);
  pool_->KeepIdle();
  pool_->StopIdle();
  while (ended_.empty()) loop_->Turn(-1);
  EXPECT_EQ(WTERMSIG(ended_.begin()->second), SIGKILL) << "it might not be ready to be told";
  EXPECT_FALSE(ended_.contains(busy));
  pool_->TryAgain();
  pool_->KeepIdle();  // none any more
  pool_->Kill(busy);
  AwaitEnd(busy);
  EXPECT_TRUE(pool_->Empty());
}

TEST_F(WorkerPoolTest, AfterAnIdleOneCrashedNoneIsStartedUntilItIsTriedAgain) {
  Make(scripts_.Crashing(), "");
  pool_->KeepIdle();
  while (ended_.empty()) loop_->Turn(-1);
  EXPECT_EQ(WEXITSTATUS(ended_.begin()->second), 7);
  pool_->KeepIdle();
  EXPECT_TRUE(pool_->Empty());
  pool_->TryAgain();
  pool_->KeepIdle();
  EXPECT_FALSE(pool_->Empty());
}

TEST_F(WorkerPoolTest, WhatAWorkerDidNotTakeAnotherGets) {
  Make(scripts_.DeadlyOnce(), "");
  const pid_t first = Assign(WorkerKind::kPrograms);
  EXPECT_EQ(WEXITSTATUS(AwaitEnd(first)), 7);
  ASSERT_TRUE(moved_.contains(first));
  EXPECT_NE(pool_->Find(moved_[first]), nullptr);
  EXPECT_EQ(Busy(), 1u);
}

TEST_F(WorkerPoolTest, AConnectionThatKillsItsWorkersIsGivenUp) {
  Make(scripts_.Deadly(), "");
  Assign(WorkerKind::kPrograms);
  while (!pool_->Empty()) loop_->Turn(-1);
  EXPECT_EQ(moved_.size(), 2u);
  EXPECT_EQ(ended_.size(), 3u);
}

TEST_F(WorkerPoolTest, WhatAWorkerLeavesBehindKeepsNobodyWaiting) {
  Make(scripts_.LeavesOneBehind(), "");
  pool_->KeepIdle();
  while (ended_.empty()) loop_->Turn(-1);
  EXPECT_EQ(ended_.begin()->second, 0);
  EXPECT_TRUE(pool_->Empty());
}

TEST_F(WorkerPoolTest, WhoeverIsKilledForAReasonKeepsItsConnection) {
  Make(scripts_.Obedient(), "");
  const pid_t worker = Assign(WorkerKind::kPrograms);
  pool_->Kill(worker);
  AwaitEnd(worker);
  EXPECT_TRUE(moved_.empty());
  EXPECT_TRUE(pool_->Empty());
}

TEST_F(WorkerPoolTest, WhoUsesMoreThanItMayIsEnded) {
  for (const WorkerLimits& limits : {WorkerLimits{.program_memory = 0}, WorkerLimits{.threads = 0}}) {
    Make(scripts_.Obedient(), scripts_.Obedient(), limits);
    pool_->KeepIdle();
    const pid_t worker = Assign(WorkerKind::kPrograms);
    pool_->KeepIdle();
    pool_->EndGreedy();
    EXPECT_EQ(WTERMSIG(AwaitEnd(worker)), SIGKILL);
    EXPECT_FALSE(pool_->Empty());  // who is idle has read nothing of anybody's
    pool_.reset();
  }
}

}  // namespace
}  // namespace wharf::server
