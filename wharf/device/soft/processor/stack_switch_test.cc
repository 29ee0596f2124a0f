// What a switch keeps. Faults, which leave a stack for ever, are in executor_test.cc.
#include "wharf/device/soft/processor/stack_switch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wharf::device::soft {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr int kValues = 24;  // more than there are registers for

// Two stacks that switch to each other.
struct Pair {
  void* main = nullptr;
  void* other = nullptr;
  double sum = 0;
  uint64_t count = 0;
  bool aligned = false;
};

__attribute__((noinline)) void ToOther(Pair& pair) { wharf_switch_stack(&pair.main, pair.other); }
__attribute__((noinline)) void ToMain(Pair& pair) { wharf_switch_stack(&pair.other, pair.main); }

// Integers and doubles that live across switches: `step` makes those of the two stacks differ. At -O2, so that they are
// in the registers that a function keeps for its caller.
template <typename Leave>
__attribute__((noinline, optimize("O2"))) double Mix(uint64_t seed, int rounds, Leave leave) {
  uint64_t whole[kValues];
  double real[kValues];
  for (int i = 0; i < kValues; ++i) {
    whole[i] = seed * 977 + static_cast<uint64_t>(i);
    real[i] = static_cast<double>(seed) + i * 0.5;
  }
  for (int round = 0; round < rounds; ++round) {
    leave();
#pragma GCC unroll 32
    for (int i = 0; i < kValues; ++i) {
      whole[i] = whole[i] * 31 + seed;
      real[i] = real[i] * 0.75 + 1.25;
    }
  }
  double sum = 0;
  for (int i = 0; i < kValues; ++i) sum += real[i] + static_cast<double>(whole[i] >> 12);
  return sum;
}

void Other(void* argument) {
  auto& pair = *static_cast<Pair*>(argument);
  alignas(16) std::byte here[16];
  pair.aligned =
      reinterpret_cast<uintptr_t>(here) % 16 == 0 && reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % 16 == 0;
  pair.sum = Mix(3, 50, [&] {
    ++pair.count;
    ToMain(pair);
  });
  for (;;) ToMain(pair);
}

TEST(StackSwitchTest, BothStacksKeepWhatTheyWereComputing) {
  std::vector<std::byte> stack(kStackBytes);
  Pair pair;
  pair.other = FirstFrame(stack.data() + stack.size(), &Other, &pair);
  const double here = Mix(5, 60, [&] { ToOther(pair); });
  EXPECT_EQ(here, Mix(5, 60, [] {}));
  EXPECT_EQ(pair.sum, Mix(3, 50, [] {}));
  EXPECT_EQ(pair.count, 50U);
  EXPECT_TRUE(pair.aligned);
}

TEST(StackSwitchTest, AStackMayBeForgotten) {
  std::vector<std::byte> stack(kStackBytes);
  Pair pair;
  // The stack that restores is not saved, so it begins anew each time.
  const auto entry = [](void* argument) {
    auto& at = *static_cast<Pair*>(argument);
    ++at.count;
    wharf_restore_stack(at.main);
  };
  for (uint64_t time = 1; time <= 3; ++time) {
    pair.other = FirstFrame(stack.data() + stack.size(), entry, &pair);
    ToOther(pair);
    EXPECT_EQ(pair.count, time);
  }
}

}  // namespace
}  // namespace wharf::device::soft
