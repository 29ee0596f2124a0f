#include "wharf/device/soft/processor/rounded_double.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace wharf::device::soft {
namespace {

double Rounded(DoubleOperation operation, Rounding rounding, double x, double y = 0, double z = 0) {
  return RoundedDouble(static_cast<uint32_t>(operation), static_cast<uint32_t>(rounding), x, y, z);
}

constexpr double kTiny = std::numeric_limits<double>::denorm_min();
constexpr double kUlp = std::numeric_limits<double>::epsilon();  // of 1

TEST(RoundedDoubleTest, SumsGoWhereTheModeSays) {
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kNearest, 1, kTiny), 1);
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kUp, 1, kTiny), 1 + kUlp);
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kDown, 1, kTiny), 1);
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kDown, 1, -kTiny), 1 - kUlp / 2);
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kZero, 1, -kTiny), 1 - kUlp / 2);
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kZero, -1, kTiny), -(1 - kUlp / 2));
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kUp, -1, kTiny), -(1 - kUlp / 2));
  EXPECT_EQ(Rounded(DoubleOperation::kAdd, Rounding::kZero, -1, -kTiny), -1);
}

TEST(RoundedDoubleTest, TheOthersToo) {
  // (1 + ulp)^2 = 1 + 2 ulp + ulp^2
  EXPECT_EQ(Rounded(DoubleOperation::kMul, Rounding::kDown, 1 + kUlp, 1 + kUlp), 1 + 2 * kUlp);
  EXPECT_EQ(Rounded(DoubleOperation::kMul, Rounding::kUp, 1 + kUlp, 1 + kUlp), 1 + 3 * kUlp);
  EXPECT_EQ(Rounded(DoubleOperation::kFma, Rounding::kDown, 1 + kUlp, 1 + kUlp, -1 - 2 * kUlp), kUlp * kUlp);
  EXPECT_EQ(Rounded(DoubleOperation::kFma, Rounding::kUp, 1, 1, kTiny), 1 + kUlp);
  const double third = 1.0 / 3;  // to nearest, which is below
  EXPECT_EQ(Rounded(DoubleOperation::kDiv, Rounding::kNearest, 1, 3), third);
  EXPECT_EQ(Rounded(DoubleOperation::kDiv, Rounding::kDown, 1, 3), third);
  EXPECT_EQ(Rounded(DoubleOperation::kDiv, Rounding::kZero, 1, 3), third);
  EXPECT_EQ(Rounded(DoubleOperation::kDiv, Rounding::kUp, 1, 3), std::nextafter(third, 1));
  const double root = Rounded(DoubleOperation::kSqrt, Rounding::kDown, 2);
  EXPECT_EQ(Rounded(DoubleOperation::kSqrt, Rounding::kZero, 2), root);
  EXPECT_EQ(Rounded(DoubleOperation::kSqrt, Rounding::kUp, 2), std::nextafter(root, 2));
  EXPECT_EQ(std::bit_cast<uint64_t>(root), 0x3ff6a09e667f3bccU);
}

TEST(RoundedDoubleTest, TheModeIsAsBefore) {
  volatile double one = 1, tiny = kTiny;
  (void)Rounded(DoubleOperation::kAdd, Rounding::kUp, 1, 1);
  EXPECT_EQ(one + tiny, 1);
}

}  // namespace
}  // namespace wharf::device::soft
