// Recording allocates nothing once the rings are full, whether the program repeats itself or not.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "wharf/offload/search/sequence_finder.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

// Not inlined: one inlined without the other looks to the compiler like memory freed by another allocator.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace wharf::offload {
namespace {

// One inference: input, 20 kernels, output, wait. `variant` makes it another one.
void Infer(SequenceFinder& finder, uint64_t variant) {
  const uint64_t input[] = {1 << 12}, weights[] = {1 << 12, 2 << 12}, result[] = {3 << 12};
  finder.Add({OperatorClass::kHostToDevice, 1, 1, {}, input});
  for (uint64_t i = 0; i < 20; ++i) finder.Add({OperatorClass::kCompute, i, variant + i, weights, result});
  finder.Add({OperatorClass::kDeviceToHost, 2, 2, result, {}});
  finder.Add({OperatorClass::kSynchronize, 3, 3});
}

TEST(SequenceFinderAllocation, NoneWhileASequenceIsFollowed) {
  const auto finder = MakeSequenceFinder({});
  for (int i = 0; i < 5; ++i) Infer(*finder, 0);
  ASSERT_TRUE(finder->Current().has_value());
  const uint64_t before = allocations;
  ASSERT_GT(before, 0u);
  for (int i = 0; i < 50'000; ++i) Infer(*finder, 0);
  EXPECT_EQ(allocations, before);
}

TEST(SequenceFinderAllocation, NoneWhileNothingIsFound) {
  const auto finder = MakeSequenceFinder({});
  uint64_t variant = 0;
  for (int i = 0; i < 10'000; ++i) Infer(*finder, variant += 100);
  ASSERT_FALSE(finder->Current().has_value());
  const uint64_t before = allocations;
  ASSERT_GT(before, 0u);
  for (int i = 0; i < 50'000; ++i) Infer(*finder, variant += 100);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace wharf::offload
