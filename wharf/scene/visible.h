// What a picture shows of the things that move, from which of them each pixel shows.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/scene/scene.h"

namespace wharf::scene {

// A box whose object shows fewer of the picture's pixels is dropped: 14 at 448 x 128, 53 at 832 x 256.
inline constexpr double kHardlyAny = 1.0 / 4000;

struct Visible {
  std::vector<Box> boxes;    // in the order of the objects; each just around its object's pixels
  double dynamic_share = 0;  // of the pixels that show any object
};
// `objects`: row-major, `width` a row; 0 is none, k is the object whose class is classes[k - 1].
Visible FindVisible(const std::vector<uint32_t>& objects, int width, const std::vector<ObjectClass>& classes);

}  // namespace wharf::scene
