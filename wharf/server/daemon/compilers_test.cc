// Sessions whose compilers are scripts that take nothing they are given.
#include "wharf/server/daemon/compilers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "wharf/server/daemon/worker_pool_testing.h"

namespace wharf::server {
namespace {

class CompilersTest : public ::testing::Test {
 protected:
  void Make(const std::string& program) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    loop_ = *PollLoop::Create();
    ASSERT_EQ(loop_->WatchSignals(signals, [this](int) { Reap(); }), absl::OkStatus());
    const WorkerPoolConfig config{.program = program};
    files_ = *FileKeeper::Start(config);
    pool_ = std::make_unique<WorkerPool>(
        config, *loop_, [](WorkerProcess&, const ControlMessage&) {},
        [this](pid_t from, pid_t to) {
          moved_[from] = to;
          compilers_->OnMove(from, to);
        });
    compilers_ = std::make_unique<Compilers>(*pool_, *files_, *loop_);
  }
  void Reap() {
    pool_->Reap([this](const WorkerProcess& worker, int status) {
      ended_[worker.Pid()] = {status, compilers_->OnWorkerEnd(worker.Pid())};
    });
  }
  // Of a session with a socket to it: wanted from now on.
  pid_t CompilerOf(pid_t worker) {
    const auto busy = [this] {
      std::set<pid_t> pids;
      pool_->ForEachBusy([&](WorkerProcess& process) { pids.insert(process.Pid()); });
      return pids;
    };
    const std::set<pid_t> before = busy();
    absl::StatusOr<link::UniqueFd> socket = compilers_->Offer(worker, /*session=*/1, "whose");
    EXPECT_TRUE(socket.ok()) << socket.status();
    EXPECT_EQ(send(socket->get(), "x", 1, 0), 1);
    sessions_end_ = *std::move(socket);
    while (busy() == before) loop_->Turn(-1);
    for (const pid_t pid : busy()) {
      if (!before.contains(pid)) return pid;
    }
    return -1;
  }
  bool IsKeptFor(pid_t worker) const { return pool_->Find(worker)->TakeKeepersEnd().get() < 0; }

  struct End {
    int status = 0;
    bool with_its_session = false;
  };
  static constexpr pid_t kWorker = 1;  // of a session, where it matters to nobody but Compilers
  const WorkerScripts scripts_;
  std::map<pid_t, End> ended_;
  std::map<pid_t, pid_t> moved_;
  link::UniqueFd sessions_end_;
  std::unique_ptr<PollLoop> loop_;
  std::unique_ptr<FileKeeper> files_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Compilers> compilers_;
};

TEST_F(CompilersTest, ASessionsNextCompilerGetsFilesAndEndsWithItToo) {
  Make(scripts_.DeadlyOnce());
  const pid_t first = CompilerOf(kWorker);
  while (ended_.empty()) loop_->Turn(-1);
  ASSERT_TRUE(moved_.contains(first));
  const pid_t second = moved_[first];
  EXPECT_TRUE(IsKeptFor(second));
  EXPECT_FALSE(ended_[first].with_its_session);
  EXPECT_FALSE(compilers_->OnWorkerEnd(kWorker));
  while (!pool_->Empty()) loop_->Turn(-1);
  EXPECT_EQ(WTERMSIG(ended_[second].status), SIGKILL);
  EXPECT_TRUE(ended_[second].with_its_session);
}

TEST_F(CompilersTest, WhatItHasNotTakenNobodyGetsWhenItsSessionHasEnded) {
  Make(scripts_.Obedient());
  const pid_t compiler = CompilerOf(kWorker);
  EXPECT_TRUE(IsKeptFor(compiler));
  EXPECT_FALSE(compilers_->OnWorkerEnd(kWorker));
  while (!ended_.contains(compiler)) loop_->Turn(-1);
  EXPECT_TRUE(ended_[compiler].with_its_session);
  EXPECT_TRUE(moved_.empty());
  EXPECT_TRUE(pool_->Empty());
}

TEST_F(CompilersTest, NorWhenBothAreSeenToEndAtOnce) {
  Make(scripts_.Obedient());
  const absl::StatusOr<pid_t> worker = pool_->Assign(WorkerKind::kPrograms, Assign{}, STDERR_FILENO);
  ASSERT_TRUE(worker.ok()) << worker.status();
  const pid_t compiler = CompilerOf(*worker);
  pool_->Kill(*worker);
  kill(compiler, SIGKILL);
  for (const pid_t pid : {*worker, compiler}) {
    siginfo_t unused;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &unused, WEXITED | WNOWAIT), 0);
  }
  while (!pool_->Empty()) loop_->Turn(-1);
  EXPECT_TRUE(ended_[compiler].with_its_session);
  ASSERT_TRUE(moved_.contains(compiler));
  EXPECT_TRUE(ended_[moved_[compiler]].with_its_session);
}

TEST_F(CompilersTest, OneThatHasEndedIsForgotten) {
  Make(scripts_.Obedient());
  const pid_t compiler = CompilerOf(kWorker);
  pool_->Kill(compiler);
  while (!ended_.contains(compiler)) loop_->Turn(-1);
  EXPECT_FALSE(ended_[compiler].with_its_session);
  EXPECT_FALSE(compilers_->OnWorkerEnd(kWorker));
  EXPECT_FALSE(compilers_->OnWorkerEnd(compiler)) << "its number may be another's by now";
}

}  // namespace
}  // namespace wharf::server
