#include "wharf/scene/visible.h"

#include <algorithm>
#include <limits>

namespace wharf::scene {
namespace {

struct Extent {
  size_t pixels = 0;
  int left = std::numeric_limits<int>::max(), top = left, right = 0, bottom = 0;

  void Add(int x, int y) {
    ++pixels;
    left = std::min(left, x);
    top = std::min(top, y);
    right = std::max(right, x + 1);
    bottom = std::max(bottom, y + 1);
  }
};

}  // namespace

Visible FindVisible(const std::vector<uint32_t>& objects, int width, const std::vector<ObjectClass>& classes) {
  std::vector<Extent> extents(classes.size());
  size_t dynamic = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] == 0) continue;
    ++dynamic;
    extents[objects[i] - 1].Add(static_cast<int>(i) % width, static_cast<int>(i) / width);
  }
  const auto pixels = static_cast<double>(objects.size());
  Visible visible;
  visible.dynamic_share = static_cast<double>(dynamic) / pixels;
  for (size_t i = 0; i < extents.size(); ++i) {
    const Extent& one = extents[i];
    if (one.pixels == 0 || static_cast<double>(one.pixels) < kHardlyAny * pixels) continue;
    visible.boxes.push_back({static_cast<float>(one.left), static_cast<float>(one.top), static_cast<float>(one.right),
                             static_cast<float>(one.bottom), classes[i], 1});
  }
  return visible;
}

}  // namespace wharf::scene
