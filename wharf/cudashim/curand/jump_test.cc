// Jumps against steps, and against each other.
#include "wharf/cudashim/curand/jump.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/cudashim/curand/engines.h"

namespace wharf::rng {
namespace {

// The state after `n` steps.
template <class Engine>
std::array<uint32_t, 8> Stepped(uint64_t seed, uint64_t n) {
  Engine engine;
  engine.Seed(seed);
  for (uint64_t i = 0; i < n; ++i) engine.Next();
  std::array<uint32_t, 8> state;
  engine.Save(state.data(), 1, 0);
  return state;
}
template <class Engine, class Jump>
std::array<uint32_t, 8> Jumped(uint64_t seed, const Jump& jump, uint64_t n) {
  Engine engine;
  engine.Seed(seed);
  engine.Jump(jump.words().data());
  if constexpr (std::is_same_v<Engine, Xorwow>) engine.weyl += static_cast<uint32_t>(n) * Xorwow::kWeyl;
  std::array<uint32_t, 8> state;
  engine.Save(state.data(), 1, 0);
  return state;
}

TEST(JumpTest, NoneAndOne) {
  EXPECT_EQ(XorwowJump::By(0).words(), XorwowJump::None().words());
  EXPECT_EQ(XorwowJump::By(1).words(), XorwowJump::ByPowerOf2(0).words());
  EXPECT_EQ(Mrg32k3aJump::By(0).words(), Mrg32k3aJump::None().words());
  EXPECT_EQ(Mrg32k3aJump::By(1).words(), Mrg32k3aJump::ByPowerOf2(0).words());
}

RC_GTEST_PROP(JumpTest, IsSoManySteps, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  const auto n = *rc::gen::inRange<uint64_t>(0, 2000);
  const auto xorwow = Jumped<Xorwow>(seed, XorwowJump::By(n), n);
  RC_ASSERT(xorwow == Stepped<Xorwow>(seed, n));
  const auto mrg32k3a = Jumped<Mrg32k3a>(seed, Mrg32k3aJump::By(n), n);
  RC_ASSERT(mrg32k3a == Stepped<Mrg32k3a>(seed, n));
}

RC_GTEST_PROP(JumpTest, OneBehindTheOtherIsTheSum, ()) {
  const auto a = *rc::gen::arbitrary<uint64_t>(), b = *rc::gen::arbitrary<uint64_t>();
  RC_PRE(a + b >= a);
  RC_ASSERT((XorwowJump::By(a) * XorwowJump::By(b)).words() == XorwowJump::By(a + b).words());
  RC_ASSERT((Mrg32k3aJump::By(a) * Mrg32k3aJump::By(b)).words() == Mrg32k3aJump::By(a + b).words());
}

TEST(JumpTest, PowersOf2GoOnBeyond64Bits) {
  EXPECT_EQ((XorwowJump::ByPowerOf2(66) * XorwowJump::ByPowerOf2(66)).words(), XorwowJump::ByPowerOf2(67).words());
  EXPECT_EQ(XorwowJump::ByPowerOf2(63).words(), XorwowJump::By(uint64_t{1} << 63).words());
  // Its period: 2^160 - 1.
  EXPECT_EQ(XorwowJump::ByPowerOf2(160).words(), XorwowJump::ByPowerOf2(0).words());
}

}  // namespace
}  // namespace wharf::rng
