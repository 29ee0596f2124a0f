#include "wharf/scene/world/sin_cos.h"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace wharf::scene {

SineCosine SinCos(double angle) {
  const double quarter = std::floor(angle * (2 / std::numbers::pi) + 0.5);
  const double x = angle - quarter * (std::numbers::pi / 2), x2 = x * x;
  // Taylor's series: for |x| <= pi / 4 what they leave out is below 1e-12.
  const double sine =
      x * (1 + x2 * (-1.0 / 6 + x2 * (1.0 / 120 + x2 * (-1.0 / 5040 + x2 * (1.0 / 362880 - x2 / 39916800)))));
  const double cosine =
      1 + x2 * (-1.0 / 2 +
                x2 * (1.0 / 24 + x2 * (-1.0 / 720 + x2 * (1.0 / 40320 + x2 * (-1.0 / 3628800 + x2 / 479001600)))));
  switch (static_cast<int64_t>(quarter) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace wharf::scene
