// From a detector's maps to boxes: cells that score more than their neighbours are centres of objects, after Zhou et
// al., "Objects as Points", 2019; boxes that overlap a better one of their class are dropped.
#pragma once

#include <span>
#include <vector>

#include "wharf/scene/scene.h"

namespace wharf::perception {

// Of one image, over a grid of cells, row-major.
struct CellMaps {
  int rows = 0, columns = 0;
  std::span<const float> scores;  // kObjectClasses * rows * columns: of a centre of the class, 0 to 1
  std::span<const float> boxes;   // 4 * rows * columns: left, top, right, bottom in pixels of the image
};

struct DecodeOptions {
  float least_score = 0.35F;
  float most_overlap = 0.5F;  // IoU with a better box of the same class
  int most_boxes = 100;
};

// Clipped to the picture, best first; boxes without area and numbers that are none are left out. Any thread.
// O(cells + found^2). REQUIRES: the maps have the sizes said above.
std::vector<scene::Box> DecodeBoxes(const CellMaps& maps, int width, int height, const DecodeOptions& options);

}  // namespace wharf::perception
