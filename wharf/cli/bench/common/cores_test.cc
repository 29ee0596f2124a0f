#include "wharf/cli/bench/common/cores.h"

#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

int Common(const cpu_set_t& a, const cpu_set_t& b) {
  cpu_set_t both;
  CPU_AND(&both, &a, &b);
  return CPU_COUNT(&both);
}

TEST(BenchCores, HalvesShareNothingUnlessThereIsButOne) {
  const CoreShares all = ShareCores(), halves = HalveCores();
  EXPECT_EQ(halves.separate, all.device_cores > 1);
  EXPECT_EQ(halves.device_cores, CPU_COUNT(&halves.device));
  if (!halves.separate) return;
  EXPECT_EQ(Common(halves.device, halves.client), 0);
  EXPECT_EQ(CPU_COUNT(&halves.device) + CPU_COUNT(&halves.client), all.device_cores);
  EXPECT_GE(CPU_COUNT(&halves.client), 1);
}

TEST(BenchCores, AThreadGetsItsCoresBack) {
  const CoreShares all = ShareCores(), halves = HalveCores();
  {
    const OnCores device(halves.device);
    EXPECT_EQ(ShareCores().device_cores, halves.device_cores);
  }
  EXPECT_EQ(ShareCores().device_cores, all.device_cores);
}

}  // namespace
}  // namespace wharf::cli
