// Processes that wait for a signal as servers do.
#include "wharf/server/front/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wharf::server {
namespace {

class SignalsTest : public ::testing::TestWithParam<int> {
 protected:
  // Waits for a signal, says which, and then `ends` or not.
  void Start(bool ends) {
    ASSERT_EQ(pipe(said_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    BlockEndingSignals();
    Say(0);
    Say(AwaitEndingSignal());
    if (ends) _exit(0);
    for (;;) pause();
  }
  void TearDown() override {
    close(said_[0]);
    close(said_[1]);
  }
  void Say(int what) const {
    const auto byte = static_cast<unsigned char>(what);
    if (write(said_[1], &byte, 1) != 1) _exit(1);
  }
  int Hear() const {
    unsigned char byte = 0;
    return read(said_[0], &byte, 1) == 1 ? byte : -1;
  }
  int AwaitEnd() const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return status;
  }

  int said_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST_P(SignalsTest, TheFirstIsWaitedForAndTheSecondEndsAtOnce) {
  Start(/*ends=*/false);
  EXPECT_EQ(Hear(), 0);
  kill(pid_, GetParam());
  EXPECT_EQ(Hear(), GetParam());
  kill(pid_, GetParam());
  const int status = AwaitEnd();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
}

TEST_P(SignalsTest, OneSignalIsAnOrderlyEnd) {
  Start(/*ends=*/true);
  EXPECT_EQ(Hear(), 0);
  kill(pid_, GetParam());
  EXPECT_EQ(Hear(), GetParam());
  const int status = AwaitEnd();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalsTest, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace wharf::server
