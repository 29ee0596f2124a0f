#include "wharf/device/soft/runtime/child_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace wharf::device::soft {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kGrow = 0x100, kShrink = 0x200, kBare = 0x300, kHuge = 0x400;
const LaunchConfig kOnce{{1}, {1}};

class ChildLaunchesTest : public ::testing::Test {
 protected:
  // Launches `kernel` with this argument.
  CudaError Launch(uint64_t kernel, uint32_t argument, uint64_t stream = 0) {
    const DeviceAddress at = children_.Prepare(kernel, kOnce);
    if (at == 0) return children_.LastError(/*take=*/false);
    std::memcpy(reinterpret_cast<void*>(at), &argument, sizeof(argument));
    return children_.Launch(at, stream);
  }
  // The next one's argument; 0 if there is none.
  uint32_t Next() {
    const std::optional<ChildWork> next = children_.Next();
    uint32_t argument = 0;
    if (next) std::memcpy(&argument, std::get<ChildLaunch>(*next).parameters.data(), sizeof(argument));
    return argument;
  }
  // Of all that are left, if none launches any.
  std::vector<uint32_t> Rest() {
    std::vector<uint32_t> rest;
    while (const uint32_t next = Next()) rest.push_back(next);
    return rest;
  }

  std::unique_ptr<Memory> memory_ = *Memory::Create(uint64_t{64} << 20);
  DeviceHeap heap_{*memory_};
  const DeviceProperties properties_;
  const ChildKernels kernels_{
      {kGrow, {"grow", 4}}, {kShrink, {"shrink", 4000}}, {kBare, {"bare", 0}}, {kHuge, {"huge", uint32_t{3} << 30}}};
  ChildLaunches children_{kernels_, properties_, heap_};
};

TEST_F(ChildLaunchesTest, HasNothingBeforeAnyLaunch) { EXPECT_FALSE(children_.Next().has_value()); }

TEST_F(ChildLaunchesTest, TakesKernelShapeAndParameters) {
  const DeviceAddress at = children_.Prepare(kGrow, {{7, 2, 1}, {32, 4, 1}, 96});
  ASSERT_NE(at, 0u);
  EXPECT_EQ(at % 16, 0u);
  std::memcpy(reinterpret_cast<void*>(at), "abcd", 4);
  ASSERT_EQ(children_.Launch(at, 0), CudaError::kSuccess);
  const std::optional<ChildWork> work = children_.Next();
  ASSERT_TRUE(work.has_value());
  const auto* const next = std::get_if<ChildLaunch>(&*work);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->kernel->name, "grow");
  EXPECT_EQ(next->config.grid, (Dim3{7, 2, 1}));
  EXPECT_EQ(next->config.block, (Dim3{32, 4, 1}));
  EXPECT_EQ(next->config.shared_bytes, 96u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(next->parameters.data()), 4), "abcd");
}

TEST_F(ChildLaunchesTest, AKernelWithoutParametersIsLaunchedToo) {
  const DeviceAddress at = children_.Prepare(kBare, kOnce);
  ASSERT_NE(at, 0u);
  ASSERT_EQ(children_.Launch(at, 0), CudaError::kSuccess);
  EXPECT_TRUE(std::get<ChildLaunch>(*children_.Next()).parameters.empty());
}

TEST_F(ChildLaunchesTest, RunInOrderAndTailsLast) {
  Launch(kGrow, 9, ChildLaunches::kTailLaunch);
  Launch(kGrow, 1);
  Launch(kGrow, 10, ChildLaunches::kTailLaunch);
  Launch(kGrow, 2, 12345);  // whatever the stream
  EXPECT_THAT(Rest(), ElementsAre(1, 2, 9, 10));
}

TEST_F(ChildLaunchesTest, WhatAChildLaunchesIsDoneBeforeTheNextChild) {
  Launch(kGrow, 1);
  Launch(kGrow, 5);
  Launch(kGrow, 6, ChildLaunches::kTailLaunch);
  EXPECT_EQ(Next(), 1u);
  Launch(kGrow, 4, ChildLaunches::kTailLaunch);
  Launch(kGrow, 2);
  EXPECT_EQ(Next(), 2u);
  Launch(kGrow, 3);
  EXPECT_THAT(Rest(), ElementsAre(3, 4, 5, 6));
}

TEST_F(ChildLaunchesTest, CopiesAndFillsComeInOrder) {
  Launch(kGrow, 1);
  EXPECT_EQ(children_.Add(ChildFill{1000, 64, 7}, ChildLaunches::kTailLaunch), CudaError::kSuccess);
  EXPECT_EQ(children_.Add(ChildCopy{2000, 3000, 32}, 0), CudaError::kSuccess);
  EXPECT_EQ(Next(), 1u);
  const std::optional<ChildWork> copy = children_.Next(), fill = children_.Next();
  EXPECT_EQ(std::get<ChildCopy>(*copy).from, 3000u);
  EXPECT_EQ(std::get<ChildFill>(*fill).value, 7);
  EXPECT_FALSE(children_.Next().has_value());
}

TEST_F(ChildLaunchesTest, NoMoreCopiesWaitThanHaveRoom) {
  uint64_t added = 0;
  while (children_.Add(ChildCopy{1, 2, 3}, 0) == CudaError::kSuccess) ++added;
  EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kLaunchPendingCountExceeded);
  EXPECT_LE(added * sizeof(ChildWork), ChildLaunches::kMostBytes);
}

TEST_F(ChildLaunchesTest, AddressesThatWerePreparedOnceAreLaunchedOnce) {
  const DeviceAddress at = children_.Prepare(kGrow, kOnce);
  EXPECT_EQ(children_.Launch(at + 16, 0), CudaError::kInvalidValue);
  EXPECT_EQ(children_.Launch(0, 0), CudaError::kInvalidValue);
  EXPECT_EQ(children_.Launch(at, 0), CudaError::kSuccess);
  EXPECT_EQ(children_.Launch(at, 0), CudaError::kInvalidValue);
  EXPECT_TRUE(children_.Next().has_value());
  EXPECT_FALSE(children_.Next().has_value());
}

TEST_F(ChildLaunchesTest, WhatIsNoKernelIsRefused) {
  EXPECT_EQ(children_.Prepare(kGrow + 1, kOnce), 0u);
  EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kInvalidDeviceFunction);
  EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kSuccess);
}

TEST_F(ChildLaunchesTest, ShapesOutOfRangeAreRefused) {
  const LaunchConfig wrong[] = {{{0}, {1}},      {{1, 0}, {1}},     {{1}, {0}},       {{1}, {1025}},
                                {{1}, {64, 32}}, {{1, 65536}, {1}}, {{1}, {1, 1, 65}}};
  for (const LaunchConfig& config : wrong) {
    EXPECT_EQ(children_.Prepare(kGrow, config), 0u);
    EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kInvalidConfiguration);
  }
  EXPECT_FALSE(children_.Next().has_value());
}

TEST_F(ChildLaunchesTest, NoMoreWaitThanHaveRoom) {
  uint64_t launched = 0;
  while (Launch(kShrink, 1) == CudaError::kSuccess) ++launched;
  EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kLaunchPendingCountExceeded);
  EXPECT_LE(launched * 4000, ChildLaunches::kMostBytes);
  EXPECT_GT(launched * 4100, ChildLaunches::kMostBytes * 9 / 10);
  EXPECT_EQ(Next(), 1u);
  EXPECT_EQ(Launch(kShrink, 1), CudaError::kSuccess);  // one has begun
}

TEST_F(ChildLaunchesTest, MoreParametersThanHaveRoomAreRefused) {
  EXPECT_EQ(children_.Prepare(kHuge, kOnce), 0u);
  EXPECT_EQ(children_.LastError(/*take=*/true), CudaError::kLaunchPendingCountExceeded);
}

TEST_F(ChildLaunchesTest, WhatWasPreparedAndFreedByTheKernelCountsOnce) {
  for (int i = 0; i < 100'000; ++i) {
    const DeviceAddress at = children_.Prepare(kShrink, kOnce);
    ASSERT_NE(at, 0u) << i;
    ASSERT_TRUE(heap_.Free(at));
  }
}

TEST_F(ChildLaunchesTest, ErrorsAreText) {
  const auto text = [&](uint32_t error) { return std::string(reinterpret_cast<const char*>(children_.TextOf(error))); };
  EXPECT_EQ(text(0), "no error");
  EXPECT_EQ(text(9), "CUDA error 9");
  EXPECT_EQ(children_.TextOf(9), children_.TextOf(9));
  for (uint32_t error = 0; error < 2000; ++error) children_.TextOf(error);
  EXPECT_EQ(children_.TextOf(1'000'000), 0u);
}

TEST_F(ChildLaunchesTest, WhatWasPreparedOnlyIsGivenBack) {
  DeviceAddress at = 0;
  {
    ChildLaunches children(kernels_, properties_, heap_);
    at = children.Prepare(kGrow, kOnce);
  }
  EXPECT_FALSE(heap_.Free(at));
}

}  // namespace
}  // namespace wharf::device::soft
