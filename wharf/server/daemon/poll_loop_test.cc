#include "wharf/server/daemon/poll_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace wharf::server {
namespace {

class PollLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = PollLoop::Create();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
    ASSERT_EQ(pipe(first_), 0);
    ASSERT_EQ(pipe(second_), 0);
  }
  void TearDown() override {
    for (const int fd : {first_[0], first_[1], second_[0], second_[1]}) close(fd);
  }
  static void Write(const int (&ends)[2]) { ASSERT_EQ(write(ends[1], "x", 1), 1); }
  static void Read(const int (&ends)[2]) {
    char byte = 0;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
  }

  std::unique_ptr<PollLoop> loop_;
  int first_[2], second_[2];
  std::string calls_;
};

TEST_F(PollLoopTest, CallsHandlersInTheOrderOfWatchingThenWhatWasPosted) {
  loop_->Watch(second_[0], [this] { calls_ += '2'; });
  loop_->Watch(first_[0], [this] { calls_ += '1'; });
  EXPECT_FALSE(loop_->Turn(0));
  loop_->Post([this] { calls_ += 'p'; });
  Write(first_);
  Write(second_);
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "21p");
  Read(second_);
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "21p1");
}

TEST_F(PollLoopTest, AHandlerMayForgetOthersAndItself) {
  loop_->Watch(first_[0], [this] {
    calls_ += '1';
    loop_->Forget(first_[0]);
    loop_->Forget(second_[0]);
  });
  loop_->Watch(second_[0], [this] { calls_ += '2'; });
  Write(first_);
  Write(second_);
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_FALSE(loop_->Turn(0));
  EXPECT_EQ(calls_, "1");
}

TEST_F(PollLoopTest, ADescriptorWatchedAgainBeginsAnew) {
  loop_->Watch(first_[0], [this] {
    loop_->Forget(second_[0]);
    loop_->Watch(second_[0], [this] { calls_ += 'n'; });
    loop_->Forget(first_[0]);
  });
  loop_->Watch(second_[0], [this] { calls_ += 'o'; });
  Write(first_);
  Write(second_);
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "");
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "n");
}

TEST_F(PollLoopTest, AnotherThreadsPostWakesIt) {
  std::thread other([this] { loop_->Post([this] { calls_ += 'p'; }); });
  EXPECT_TRUE(loop_->Turn(-1));
  other.join();
  EXPECT_EQ(calls_, "p");
}

TEST_F(PollLoopTest, WhatAnEventPostsRunsInTheNextTurn) {
  loop_->Post([this] { loop_->Post([this] { calls_ += 'p'; }); });
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "");
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(calls_, "p");
}

TEST_F(PollLoopTest, SignalsAreHandledInTurns) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigaddset(&signals, SIGUSR2);
  std::string seen;
  ASSERT_EQ(loop_->WatchSignals(signals, [&](int signal) { seen += signal == SIGUSR1 ? '1' : '2'; }), absl::OkStatus());
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(loop_->Turn(-1));
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(loop_->Turn(-1));
  EXPECT_EQ(seen, "12");
}

TEST_F(PollLoopTest, SignalsThatComeToAThreadOfALibraryAreNotLost) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer keeps a signal that comes right before a call waits until the call is over";
#endif
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  std::thread earlier([&] {  // blocks none, and the system prefers it
    char byte = 0;
    while (read(end[0], &byte, 1) < 0 && errno == EINTR) {
    }
  });
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM}) sigaddset(&signals, signal);
  std::vector<int> came;
  ASSERT_EQ(loop_->WatchSignals(signals, [&](int signal) { came.push_back(signal); }), absl::OkStatus());
  for (int i = 0; i < 100; ++i) {
    for (const int signal : {SIGCHLD, SIGTERM}) {
      kill(getpid(), signal);
      // The loop may wake for a signal that the other thread takes before it is read: a turn that finds nothing.
      while (came.empty() && loop_->Turn(60'000)) {
      }
      EXPECT_EQ(came, std::vector<int>{signal});
      came.clear();
    }
  }
  close(end[1]);
  earlier.join();
  close(end[0]);
  for (const int signal : {SIGCHLD, SIGTERM}) std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace
}  // namespace wharf::server
