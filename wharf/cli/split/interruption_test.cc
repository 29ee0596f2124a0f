#include "wharf/cli/split/interruption.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace wharf::cli {
namespace {

using ::testing::ExitedWithCode;

// Until the process is ended, or else for long enough to see that nobody does.
void WaitForTheEnd() {
  alarm(60);
  for (;;) pause();
}

TEST(InterruptionDeathTest, EndsTheProcessUntilSignalsAreRemembered) {
  EXPECT_EXIT(
      {
        const Interruption interruption;
        raise(SIGTERM);
        WaitForTheEnd();
      },
      ExitedWithCode(128 + SIGTERM), "wharf: interrupted\n");
}

TEST(InterruptionDeathTest, RemembersOneSignalAndEndsTheProcessWithTheNext) {
  EXPECT_EXIT(
      {
        Interruption interruption;
        interruption.Remember();
        if (Interruption::By() != 0) _exit(1);
        raise(SIGINT);
        if (Interruption::By() != SIGINT) _exit(2);
        raise(SIGINT);
        WaitForTheEnd();
      },
      ExitedWithCode(128 + SIGINT), "wharf: interrupted\n");
}

TEST(InterruptionDeathTest, LeavesSignalsAsTheyWere) {
  EXPECT_EXIT(
      {
        { const Interruption interruption; }
        raise(SIGINT);
        WaitForTheEnd();
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace wharf::cli
