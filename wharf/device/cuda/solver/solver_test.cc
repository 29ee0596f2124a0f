// LAPACK's routines through cuSOLVER's functions, on the fake one.
#include "wharf/device/cuda/solver/solver.h"

#include "wharf/device/lapack_testing.h"

namespace wharf::device {

absl::Status RunRoutine(const Lapack& lapack) {
  static auto* const memory = new std::vector<std::byte>(1 << 20);
  const auto workspace_of = [](void*, uint64_t bytes) -> absl::StatusOr<DeviceAddress> {
    if (bytes > memory->size()) return CudaStatus(CudaError::kOutOfMemory, "a workspace of {} bytes", bytes);
    return reinterpret_cast<DeviceAddress>(memory->data());
  };
  WHARF_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::Solver> solver,
                         cuda::Solver::Create(workspace_of, {"libcusolver.so.of-no-release", WHARF_FAKE_CUSOLVER}));
  return solver->Run(lapack, nullptr);
}

namespace {

TEST(SolverTest, WithoutItsLibraryThereIsNone) {
  const auto none = cuda::Solver::Create({}, {"libcusolver.so.of-no-release"});
  EXPECT_EQ(CudaErrorOf(none.status()), CudaError::kNotSupported);
}

TEST(SolverTest, InfoNeedNotBeWanted) {
  float a[4] = {4, 2, 2, 5};
  Lapack l;
  l.n = 2;
  l.operands[0] = {reinterpret_cast<DeviceAddress>(a), 2, 0};
  ASSERT_EQ(RunRoutine(l), absl::OkStatus());
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(a[3], 2);
}

// Neither function takes them so.
TEST(SolverTest, SymmetricSystemsNeedWidePivots) {
  float a[1] = {1}, b[1] = {1};
  int32_t pivots[1] = {1};
  Lapack l;
  l.routine = LapackRoutine::kSytrs;
  l.operands = {LapackOperand{reinterpret_cast<DeviceAddress>(a), 1, 0},
                {reinterpret_cast<DeviceAddress>(pivots), 1, 0},
                {reinterpret_cast<DeviceAddress>(b), 1, 0},
                {}};
  EXPECT_EQ(CudaErrorOf(RunRoutine(l)), CudaError::kNotSupported);
}

}  // namespace
}  // namespace wharf::device
