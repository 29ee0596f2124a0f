// Signals that are no fault of a kernel.
#include "wharf/device/soft/runtime/fault.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace wharf::device::soft {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

// A process of its own, whose handlers of before are known.
class FaultDeathTest : public ::testing::Test {
 protected:
  FaultDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static void Install(void (*before)(int)) {
    signal(SIGSEGV, before);
    if (!InstallFaultHandlers().ok()) _exit(1);
  }
};

TEST_F(FaultDeathTest, TheFirstSignalSentByKillEndsTheProcess) {
  EXPECT_EXIT(
      {
        Install(SIG_DFL);
        kill(getpid(), SIGSEGV);
        _exit(2);
      },
      KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultDeathTest, ASignalSentWhileAKernelRunsIsNotTheKernels) {
  EXPECT_EXIT(
      {
        Install(SIG_DFL);
        FaultFrame frame;
        const ScopedFaultFrame scope(frame);
        frame.armed = true;  // without a context to restore
        raise(SIGSEGV);
        _exit(2);
      },
      KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultDeathTest, AHandlerOfBeforeIsCalled) {
  EXPECT_EXIT(
      {
        Install([](int) { _exit(3); });
        raise(SIGSEGV);
        _exit(2);
      },
      ExitedWithCode(3), "");
}

}  // namespace
}  // namespace wharf::device::soft
