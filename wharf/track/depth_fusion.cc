#include "wharf/track/depth_fusion.h"

#include <cmath>

namespace wharf::track {
namespace {

// Nearer than this share of the warped depth is much nearer. Chosen on videos of the calibration split, where shares of
// 0.67 and 0.74 are as good.
constexpr float kMuchNearer = 0.7F;

bool IsKnown(float metres) { return metres > 0 && std::isfinite(metres); }

}  // namespace

double DepthScale(const scene::DepthMap& server, const scene::DepthMap& lite) {
  double sum = 0;
  size_t known = 0;
  for (size_t i = 0; i < server.metres.size(); ++i) {
    if (!IsKnown(server.metres[i]) || !IsKnown(lite.metres[i])) continue;
    sum += std::log(server.metres[i] / lite.metres[i]);
    ++known;
  }
  return known == 0 ? 1 : std::exp(sum / static_cast<double>(known));
}

scene::DepthMap FuseDepth(scene::DepthMap warped, const scene::DepthMap& lite, double scale) {
  for (size_t i = 0; i < warped.metres.size(); ++i) {
    if (!IsKnown(lite.metres[i])) continue;
    const float now = lite.metres[i] * static_cast<float>(scale);
    if (!IsKnown(warped.metres[i]) || now < kMuchNearer * warped.metres[i]) warped.metres[i] = now;
  }
  return warped;
}

}  // namespace wharf::track
