#include "wharf/perception/box_decoder.h"

#include <algorithm>
#include <cmath>

#include "wharf/track/metrics.h"

namespace wharf::perception {
namespace {

using scene::Box;

// Of equal neighbours the first in memory is the peak.
bool IsPeak(std::span<const float> scores, int rows, int columns, int row, int column) {
  const int here = row * columns + column;
  for (int y = std::max(row - 1, 0); y <= std::min(row + 1, rows - 1); ++y) {
    for (int x = std::max(column - 1, 0); x <= std::min(column + 1, columns - 1); ++x) {
      const int there = y * columns + x;
      if (scores[there] > scores[here] || (scores[there] == scores[here] && there < here)) return false;
    }
  }
  return true;
}

// Any comparison with a number that is none fails, so such a box has no area.
bool HasArea(const Box& box) { return box.right > box.left && box.bottom > box.top; }

Box BoxAt(const CellMaps& maps, int cell, int width, int height) {
  const size_t cells = static_cast<size_t>(maps.rows) * maps.columns;
  const auto side = [&](size_t which, int most) {
    const float value = maps.boxes[which * cells + cell];
    return std::isnan(value) ? value : std::clamp(value, 0.F, static_cast<float>(most));
  };
  return {.left = side(0, width), .top = side(1, height), .right = side(2, width), .bottom = side(3, height)};
}

std::vector<Box> Peaks(const CellMaps& maps, int width, int height, float least_score) {
  const size_t cells = static_cast<size_t>(maps.rows) * maps.columns;
  std::vector<Box> peaks;
  for (int object_class = 0; object_class < scene::kObjectClasses; ++object_class) {
    const auto scores = maps.scores.subspan(object_class * cells, cells);
    for (int row = 0; row < maps.rows; ++row) {
      for (int column = 0; column < maps.columns; ++column) {
        const int cell = row * maps.columns + column;
        if (!(scores[cell] >= least_score) || !IsPeak(scores, maps.rows, maps.columns, row, column)) continue;
        Box box = BoxAt(maps, cell, width, height);
        box.object_class = static_cast<scene::ObjectClass>(object_class);
        box.score = scores[cell];
        if (HasArea(box)) peaks.push_back(box);
      }
    }
  }
  return peaks;
}

}  // namespace

std::vector<Box> DecodeBoxes(const CellMaps& maps, int width, int height, const DecodeOptions& options) {
  std::vector<Box> candidates = Peaks(maps, width, height, options.least_score);
  std::stable_sort(candidates.begin(), candidates.end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& candidate : candidates) {
    if (static_cast<int>(kept.size()) == options.most_boxes) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
      return better.object_class == candidate.object_class && track::Iou(better, candidate) > options.most_overlap;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace wharf::perception
