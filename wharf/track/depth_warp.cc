#include "wharf/track/depth_warp.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

namespace wharf::track {
namespace {

using scene::DepthMap;
using scene::Image;
using scene::Intrinsics;
using scene::Pose;

constexpr float kMostGrowth = 8;   // pixels that one source pixel covers, a side
constexpr float kNearest = 1e-3f;  // metres; what is nearer to the camera, or behind it, is not seen

// What each pixel of the new picture shows.
struct Seen {
  float metres = 0;  // 0: nothing
  int source = 0;    // pixel of the old picture
};

// Projects old pixels into the new camera. With K the camera's matrix and p' = R p + t, the pixel (u, v) of depth z
// goes to z * (K R K^-1) (u, v, 1) + K t: one matrix and no division but the last.
class Projection {
 public:
  Projection(const Intrinsics& camera, const Pose& motion) {
    Eigen::Matrix3d k;
    k << camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1;
    Eigen::Matrix3d k_inverse;
    k_inverse << 1 / camera.fx, 0, -camera.cx / camera.fx, 0, 1 / camera.fy, -camera.cy / camera.fy, 0, 0, 1;
    const Pose old_to_new = motion.Inverse();
    ray_ = (k * old_to_new.rotation.toRotationMatrix() * k_inverse).cast<float>();
    shift_ = (k * old_to_new.position).cast<float>();
  }
  // (u' z', v' z', z').
  Eigen::Vector3f At(float u, float v, float z) const {
    return z * (ray_.col(0) * u + ray_.col(1) * v + ray_.col(2)) + shift_;
  }

 private:
  Eigen::Matrix3f ray_;
  Eigen::Vector3f shift_;
};

struct Span {
  int first, last;
};

// The pixels whose centres lie in an interval of length `growth` around x, and the nearest to x in any case; clipped to
// [0, size).
Span Covered(float x, float growth, int size) {
  const float nearest = std::floor(x + 0.5f);
  const float first = std::min(nearest, std::ceil(x - growth / 2)),
              last = std::max(nearest, std::ceil(x + growth / 2) - 1);
  return {static_cast<int>(std::max(first, 0.0f)), static_cast<int>(std::min(last, static_cast<float>(size - 1)))};
}

std::vector<Seen> Splat(const DepthMap& depth, const Intrinsics& camera, const Pose& motion) {
  const Projection projection(camera, motion);
  const int width = camera.width, height = camera.height;
  std::vector<Seen> seen(depth.metres.size());
  for (int v = 0, source = 0; v < height; ++v) {
    for (int u = 0; u < width; ++u, ++source) {
      const float z = depth.metres[source];
      if (!(z > 0) || !std::isfinite(z)) continue;
      const Eigen::Vector3f q = projection.At(static_cast<float>(u), static_cast<float>(v), z);
      if (!(q.z() > kNearest)) continue;
      const float x = q.x() / q.z(), y = q.y() / q.z(), growth = std::min(z / q.z(), kMostGrowth);
      if (!(x > -kMostGrowth && x < static_cast<float>(width) + kMostGrowth)) continue;
      if (!(y > -kMostGrowth && y < static_cast<float>(height) + kMostGrowth)) continue;
      const Span columns = Covered(x, growth, width), rows = Covered(y, growth, height);
      for (int row = rows.first; row <= rows.last; ++row) {
        for (int column = columns.first; column <= columns.last; ++column) {
          Seen& pixel = seen[static_cast<size_t>(row) * width + column];
          if (pixel.metres == 0 || q.z() < pixel.metres) pixel = {q.z(), source};
        }
      }
    }
  }
  return seen;
}

// False if the row shows nothing at all.
bool FillRow(Seen* row, int width) {
  int last_seen = -1;
  for (int x = 0; x <= width; ++x) {
    if (x < width && row[x].metres == 0) continue;
    const bool has_left = last_seen >= 0, has_right = x < width;
    if (!has_left && !has_right) return false;
    if (x - last_seen > 1) {
      const bool take_left = has_left && (!has_right || row[last_seen].metres >= row[x].metres);
      std::fill(row + last_seen + 1, row + x, row[take_left ? last_seen : x]);
    }
    last_seen = x;
  }
  return true;
}

void FillHoles(std::vector<Seen>& seen, int width, int height) {
  std::vector<int> full;
  for (int y = 0; y < height; ++y) {
    if (FillRow(&seen[static_cast<size_t>(y) * width], width)) full.push_back(y);
  }
  if (full.empty() || static_cast<int>(full.size()) == height) return;
  for (int y = 0; y < height; ++y) {
    const auto below = std::lower_bound(full.begin(), full.end(), y);
    if (below != full.end() && *below == y) continue;
    const bool take_below = below == full.begin() || (below != full.end() && *below - y < y - *(below - 1));
    const int from = take_below ? *below : *(below - 1);
    std::copy_n(seen.begin() + static_cast<ptrdiff_t>(from) * width, width,
                seen.begin() + static_cast<ptrdiff_t>(y) * width);
  }
}

DepthMap DepthOf(const std::vector<Seen>& seen, const Intrinsics& camera) {
  DepthMap depth{camera.width, camera.height, std::vector<float>(seen.size())};
  std::transform(seen.begin(), seen.end(), depth.metres.begin(), [](const Seen& pixel) { return pixel.metres; });
  return depth;
}

}  // namespace

DepthMap WarpDepth(const DepthMap& depth, const Intrinsics& camera, const Pose& motion) {
  std::vector<Seen> seen = Splat(depth, camera, motion);
  FillHoles(seen, camera.width, camera.height);
  return DepthOf(seen, camera);
}

WarpedImage WarpImage(const Image& image, const DepthMap& depth, const Intrinsics& camera, const Pose& motion) {
  std::vector<Seen> seen = Splat(depth, camera, motion);
  FillHoles(seen, camera.width, camera.height);
  WarpedImage warped{{camera.width, camera.height, std::vector<uint8_t>(image.rgb.size())}, DepthOf(seen, camera)};
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].metres == 0) continue;  // nothing is known: black
    std::copy_n(&image.rgb[3 * static_cast<size_t>(seen[i].source)], 3, &warped.image.rgb[3 * i]);
  }
  return warped;
}

}  // namespace wharf::track
