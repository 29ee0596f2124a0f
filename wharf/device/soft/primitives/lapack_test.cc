// LAPACK's routines on the software device.
#include "wharf/device/lapack_testing.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device {

absl::Status RunRoutine(const Lapack& lapack) {
  WHARF_RETURN_IF_ERROR(soft::CheckLimits(lapack));
  soft::RunPrimitive(lapack);
  return absl::OkStatus();
}

namespace {

TEST(SoftLapackTest, WhatIsTooLargeIsRefused) {
  Lapack l;
  l.routine = LapackRoutine::kSyevd;
  l.n = 20'001;
  l.operands[0] = {4096, 20'001, 0}, l.operands[1] = {4096, 1, 0};
  ASSERT_EQ(CheckPrimitive(l, IsMapped), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(soft::CheckLimits(l)), CudaError::kNotSupported);
  l.routine = LapackRoutine::kPotrf;
  EXPECT_EQ(soft::CheckLimits(l), absl::OkStatus());
}

}  // namespace
}  // namespace wharf::device
