#include "wharf/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "wharf/base/mersenne_random.h"

namespace wharf {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// What `draw` gives `count` times.
template <typename Draw>
auto Draws(int count, Draw draw) {
  std::vector<std::invoke_result_t<Draw>> values;
  for (int i = 0; i < count; ++i) values.push_back(draw());
  return values;
}

// Plans, pictures of the synthetic world and published figures depend on these streams: they never change.

TEST(Random, MixesBits) {
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(MixBits(7), 0x63cbe1e459320dd7);
  EXPECT_EQ(MixBits(7, 9), 0x86296af7beb9f0f7);
}

TEST(Random, IsSplitMix64) {
  Random random(7), purpose(7, 11);
  EXPECT_THAT(Draws(4, [&] { return random.Next(); }),
              ElementsAre(0x63cbe1e459320dd7, 0x044c3cd7f43c661c, 0xe6984080bab12a02, 0x953aeb70673e29cb));
  EXPECT_THAT(Draws(4, [&] { return purpose.Next(); }),
              ElementsAre(0x63b90bf645004933, 0x11ffbc9bfe7b2737, 0xb81fa29b55eddbb5, 0xba69ee49eddfb7ef));
}

TEST(Random, KeepsItsStreamOfUniformNumbers) {
  Random random(7), wide(7);
  EXPECT_THAT(Draws(4, [&] { return random.Uniform(); }),
              ElementsAre(0x1.8f2f879164c82p-2, 0x1.130f35fd0f18p-6, 0x1.cd30810175625p-1, 0x1.2a75d6e0ce7c5p-1));
  EXPECT_THAT(Draws(4, [&] { return wide.Uniform(2, 4); }),
              ElementsAre(0x1.63cbe1e45932p+1, 0x1.044c3cd7f43c6p+1, 0x1.e6984080bab12p+1, 0x1.953aeb70673e2p+1));
}

TEST(Random, KeepsItsStreamsOfWholeNumbers) {
  Random below(7), between(7), scaled(7);
  EXPECT_THAT(Draws(8, [&] { return below.Below(10); }), ElementsAre(7, 4, 6, 3, 4, 5, 8, 2));
  EXPECT_THAT(Draws(8, [&] { return between.Between(-3, 8); }), ElementsAre(0, -3, 3, 0, 7, 6, 7, 3));
  EXPECT_THAT(Draws(8, [&] { return scaled.ScaledBelow(10); }), ElementsAre(3, 0, 9, 5, 4, 2, 4, 3));
}

TEST(Random, KeepsItsStreamsOfChancesAndSigns) {
  Random chance(7), sign(7);
  EXPECT_THAT(Draws(8, [&] { return chance.Chance(0.3); }),
              ElementsAre(false, true, false, false, false, true, false, false));
  EXPECT_THAT(Draws(8, [&] { return sign.Sign(); }), ElementsAre(1, 1, -1, -1, 1, 1, 1, 1));
}

TEST(Random, KeepsItsStreamOfNormalNumbers) {
  Random random(7);
  EXPECT_THAT(Draws(4, [&] { return random.Normal(); }),
              ElementsAre(-0x1.003e872f99a2ap+0, 0x1.5562e6c43d4bdp+0, 0x1.09a84ae14b5ffp-1, -0x1.c23cce405d684p-1));
}

TEST(MersenneRandom, KeepsItsStreams) {
  MersenneRandom next(7), uniform(7), below(7);
  EXPECT_THAT(Draws(4, [&] { return next.Next(); }),
              ElementsAre(0xc11f6531eb66d9a7, 0xf30567547a34c162, 0x1e0edcc1206967ce, 0xe4546c04d9ff7cf6));
  EXPECT_THAT(Draws(4, [&] { return uniform.Uniform(); }),
              ElementsAre(0x1.823eca63d6cdbp-1, 0x1.e60acea8f4698p-1, 0x1.e0edcc120696p-4, 0x1.c8a8d809b3fefp-1));
  EXPECT_THAT(Draws(8, [&] { return below.Below(10); }), ElementsAre(5, 0, 8, 6, 1, 8, 9, 8));
}

TEST(MersenneRandom, KeepsItsStreamsThroughLibm) {
  MersenneRandom exponential(7), normal(7);
  EXPECT_THAT(Draws(4, [&] { return exponential.Exponential(2.5); }),
              ElementsAre(DoubleNear(0x1.c146f68979576p+1, 1e-12), DoubleNear(0x1.dd18b3e7182adp+2, 1e-12),
                          DoubleNear(0x1.3fbe0be64dbe3p-2, 1e-12), DoubleNear(0x1.63f8a556e6713p+2, 1e-12)));
  EXPECT_THAT(Draws(4, [&] { return normal.BoxMuller(); }),
              ElementsAre(DoubleNear(0x1.9765fb74c31bep+0, 1e-12), DoubleNear(0x1.8e3ca64978f4bp-2, 1e-12),
                          DoubleNear(0x1.09d0f5cde98a5p-1, 1e-12), DoubleNear(0x1.88cb7c625b2adp+0, 1e-12)));
}

TEST(Random, HasItsMoments) {
  Random random(3);
  double sum = 0, squares = 0, uniform = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double one = random.Normal();
    sum += one;
    squares += one * one;
    uniform += random.Uniform(2, 4);
    const int below = random.ScaledBelow(7);
    ASSERT_GE(below, 0);
    ASSERT_LT(below, 7);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.03);
  EXPECT_NEAR(uniform / kDraws, 3, 0.02);
}

}  // namespace
}  // namespace wharf
