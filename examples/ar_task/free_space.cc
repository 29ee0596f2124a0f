#include "free_space.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using wharf::scene::Image;

constexpr int kMostShift = 40;    // columns between two frames, either way
constexpr int kMostRows = 6;      // rows
constexpr int kAround = 8;        // rows above and below the end of the free space that are compared
constexpr float kRowPrice = 0.5;  // of a grey value, for each row: where nothing is seen nothing moves

float Grey(const Image& image, int x, int y) {
  const uint8_t* const pixel = &image.rgb[3 * (static_cast<size_t>(y) * image.width + x)];
  return (pixel[0] + 2.0f * pixel[1] + pixel[2]) / 4;
}

// Every third row's mean grey by column.
std::vector<float> Columns(const Image& image) {
  std::vector<float> means(image.width);
  for (int y = 0; y < image.height; y += 3) {
    for (int x = 0; x < image.width; ++x) means[x] += Grey(image, x, y) * 3 / static_cast<float>(image.height);
  }
  return means;
}

// Mean grey by row, of the columns from `left` on.
std::vector<float> Rows(const Image& image, int left, int columns) {
  left = std::clamp(left, 0, image.width - columns);
  std::vector<float> means(image.height);
  for (int y = 0; y < image.height; ++y) {
    for (int x = left; x < left + columns; ++x) means[y] += Grey(image, x, y) / static_cast<float>(columns);
  }
  return means;
}

// How many columns further to the left things are in `to`.
int ShiftOf(const Image& from, const Image& to) {
  const std::vector<float> before = Columns(from), after = Columns(to);
  float least = std::numeric_limits<float>::infinity();
  int best = 0;
  for (int shift = -kMostShift; shift <= kMostShift; ++shift) {
    float difference = 0;
    const int begin = std::max(0, -shift), end = std::min(from.width, from.width - shift);
    for (int x = begin; x < end; ++x) difference += std::abs(after[x] - before[x + shift]);
    difference /= static_cast<float>(end - begin);
    if (difference < least) {
      least = difference;
      best = shift;
    }
  }
  return best;
}

// How many rows further down what was around `row` is.
int RowsDown(const std::vector<float>& before, const std::vector<float>& after, int row) {
  const int rows = static_cast<int>(before.size());
  float least = std::numeric_limits<float>::infinity();
  int best = 0;
  for (int down = -kMostRows; down <= kMostRows; ++down) {
    float difference = 0;
    for (int y = row - kAround; y <= row + kAround; ++y)
      difference += std::abs(after[std::clamp(y + down, 0, rows - 1)] - before[std::clamp(y, 0, rows - 1)]);
    difference = difference / (2 * kAround + 1) + kRowPrice * static_cast<float>(std::abs(down));
    if (difference < least) {
      least = difference;
      best = down;
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<FreeSpace> FreeSpaceTracker::Read(const wharf::ar::Outputs& outputs, const wharf::scene::Frame& frame) {
  const bool fits = outputs.size() == 1 && outputs[0].type.element == wharf::graph::ElementType::kFloat &&
                    outputs[0].type.Rank() == 2 && outputs[0].type.shape[0] == 1 && outputs[0].type.shape[1] >= 1 &&
                    outputs[0].type.shape[1] <= frame.image.width;
  if (!fits) return wharf::InvalidArgument("the server's model finds no free space");
  const auto values = outputs[0].As<float>();
  FreeSpace free(values.begin(), values.end());
  for (float& share : free) share = std::isfinite(share) ? std::clamp(share, 0.0f, 1.0f) : 0;
  return free;
}

absl::StatusOr<FreeSpace> FreeSpaceTracker::Track(const FreeSpace& result, const wharf::scene::Frame& from,
                                                  const wharf::scene::Frame& to) {
  const int strips = static_cast<int>(result.size()), columns = to.image.width / strips, height = to.image.height;
  const int shift = ShiftOf(from.image, to.image);
  FreeSpace tracked(strips);
  for (int strip = 0; strip < strips; ++strip) {
    // Where this strip was, between two strips of before.
    const float place = std::clamp(static_cast<float>(strip) + static_cast<float>(shift) / static_cast<float>(columns),
                                   0.0f, static_cast<float>(strips - 1));
    const int left = static_cast<int>(place), right = std::min(left + 1, strips - 1);
    const float share = result[left] + (result[right] - result[left]) * (place - static_cast<float>(left));
    const int row = std::clamp(static_cast<int>((1 - share) * static_cast<float>(height)), 0, height - 1);
    const int down =
        RowsDown(Rows(from.image, strip * columns + shift, columns), Rows(to.image, strip * columns, columns), row);
    tracked[strip] = std::clamp(share - static_cast<float>(down) / static_cast<float>(height), 0.0f, 1.0f);
  }
  return tracked;
}

double FreeSpaceTracker::Loss(const FreeSpace& tracked, const FreeSpace& fresh) const {
  if (tracked.size() != fresh.size()) return 1;
  double both = 0, either = 0;
  for (size_t i = 0; i < fresh.size(); ++i) {
    both += std::min(tracked[i], fresh[i]);
    either += std::max(tracked[i], fresh[i]);
  }
  return either > 0 ? 1 - both / either : 0;
}
