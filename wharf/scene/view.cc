#include "wharf/scene/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace wharf::scene {
namespace {

using Rgb = std::array<uint8_t, 3>;

constexpr Rgb kWhite = {235, 235, 235}, kGreen = {70, 200, 90}, kOrange = {255, 150, 30}, kRed = {235, 50, 40};
constexpr Rgb kPanel = {24, 26, 30}, kRow = {52, 56, 64};
constexpr std::array<Rgb, 4> kTasks = {{{90, 170, 255}, {255, 190, 60}, {150, 230, 120}, {230, 120, 200}}};
constexpr float kFarthestShown = 80;  // metres

// A part of a picture; what is drawn beyond it is left out.
class Panel {
 public:
  Panel(Image& image, int left, int top, int width, int height)
      : image_(image), left_(left), top_(top), width_(width), height_(height) {}
  int Width() const { return width_; }
  int Height() const { return height_; }
  void Set(int x, int y, const Rgb& colour) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    const size_t at =
        static_cast<size_t>(top_ + y) * static_cast<size_t>(image_.width) + static_cast<size_t>(left_ + x);
    std::copy(colour.begin(), colour.end(), image_.rgb.begin() + static_cast<std::ptrdiff_t>(3 * at));
  }
  void Fill(int left, int top, int right, int bottom, const Rgb& colour) {
    for (int y = std::max(top, 0); y < std::min(bottom, height_); ++y) {
      for (int x = std::max(left, 0); x < std::min(right, width_); ++x) Set(x, y, colour);
    }
  }
  void Line(const Eigen::Vector2d& from, const Eigen::Vector2d& to, const Rgb& colour) {
    const double length = std::max(1.0, (to - from).cwiseAbs().maxCoeff());
    for (double step = 0; step <= length; ++step) {
      const Eigen::Vector2d at = from + (to - from) * (step / length);
      Set(static_cast<int>(std::lround(at.x())), static_cast<int>(std::lround(at.y())), colour);
    }
  }

 private:
  Image& image_;
  const int left_, top_, width_, height_;
};

void DrawImage(Panel panel, const Image& image) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const uint8_t* from =
          &image.rgb[3 * (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x))];
      panel.Set(x, y, {from[0], from[1], from[2]});
    }
  }
}

void DrawBoxes(Panel panel, const std::vector<Box>& boxes) {
  for (const Box& box : boxes) {
    const Rgb& colour = box.object_class == ObjectClass::kVehicle ? kOrange : kGreen;
    const auto within = [](float at, int end) { return std::clamp(static_cast<double>(at), -1.0, end + 1.0); };
    const double left = within(box.left, panel.Width()), right = within(box.right, panel.Width()) - 1;
    const double top = within(box.top, panel.Height()), bottom = within(box.bottom, panel.Height()) - 1;
    panel.Line({left, top}, {right, top}, colour);
    panel.Line({right, top}, {right, bottom}, colour);
    panel.Line({right, bottom}, {left, bottom}, colour);
    panel.Line({left, bottom}, {left, top}, colour);
  }
}

// From red over yellow and green to blue, by the inverse of the depth, as near differences matter most.
Rgb DepthColour(float metres) {
  if (!(metres > 0)) return {0, 0, 0};
  constexpr float kNearest = 3;
  const float near = (1 / std::max(metres, kNearest) - 1 / kFarthestShown) / (1 / kNearest - 1 / kFarthestShown);
  const float hue = 4 * std::sqrt(std::clamp(near, 0.0f, 1.0f));  // 0 blue, 1 cyan, 2 green, 3 yellow, 4 red
  const auto part = [](float value) { return static_cast<uint8_t>(255 * std::clamp(value, 0.0f, 1.0f)); };
  return {part(hue - 2), part(std::min(hue, 4 - hue)), part(2 - hue)};
}

void DrawDepth(Panel panel, const DepthMap& depth) {
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) {
      panel.Set(x, y,
                DepthColour(
                    depth.metres[static_cast<size_t>(y) * static_cast<size_t>(depth.width) + static_cast<size_t>(x)]));
    }
  }
}

// Both ways to one scale, north up.
void DrawWays(Panel panel, const std::vector<Pose>& estimated, const std::vector<Pose>& truth) {
  constexpr double kMargin = 6, kLeastExtent = 10;  // pixels; metres
  Eigen::Vector2d low = Eigen::Vector2d::Constant(1e12), high = -low;
  for (const auto* way : {&estimated, &truth}) {
    for (const Pose& pose : *way) {
      if (!pose.position.allFinite()) return;  // an estimate gone astray has no place on a map
      low = low.cwiseMin(pose.position.head<2>());
      high = high.cwiseMax(pose.position.head<2>());
    }
  }
  const Eigen::Vector2d room(panel.Width() - 2 * kMargin, panel.Height() - 2 * kMargin);
  const double scale = (room.array() / (high - low).array().max(kLeastExtent)).minCoeff();
  const auto place = [&](const Pose& pose) {
    const Eigen::Vector2d from_middle = (pose.position.head<2>() - (low + high) / 2) * scale;
    return Eigen::Vector2d(panel.Width() / 2.0 + from_middle.x(), panel.Height() / 2.0 - from_middle.y());
  };
  const auto draw = [&](const std::vector<Pose>& way, const Rgb& colour) {
    for (size_t i = 1; i < way.size(); ++i) panel.Line(place(way[i - 1]), place(way[i]), colour);
  };
  draw(truth, kGreen);
  draw(estimated, kWhite);
  if (estimated.empty()) return;
  const Eigen::Vector2d here = place(estimated.back());
  const int x = static_cast<int>(here.x()), y = static_cast<int>(here.y());
  panel.Fill(x - 2, y - 2, x + 3, y + 3, kRed);
}

void DrawSchedule(Panel panel, const std::vector<ScheduleRow>& rows) {
  if (rows.empty()) return;
  constexpr int kCell = 4;  // pixels a frame
  const int band = panel.Height() / static_cast<int>(rows.size()), frames = panel.Width() / kCell;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto& offloaded = rows[row].offloaded;
    const int top = static_cast<int>(row) * band;
    panel.Fill(0, top + 1, panel.Width(), top + band - 1, kRow);
    const int shown = std::min(frames, static_cast<int>(offloaded.size()));
    for (int i = 0; i < shown; ++i) {
      if (!offloaded[offloaded.size() - static_cast<size_t>(shown - i)]) continue;
      panel.Fill(i * kCell, top + 1, (i + 1) * kCell - 1, top + band - 1, kTasks[row % kTasks.size()]);
    }
  }
}

}  // namespace

Image DrawView(const ViewContent& content) {
  const int width = content.frame->width, height = content.frame->height, below = height / 2;
  Image view{2 * width, height + below, {}};
  view.rgb.resize(static_cast<size_t>(view.width) * static_cast<size_t>(view.height) * 3);
  Panel(view, 0, 0, view.width, view.height).Fill(0, 0, view.width, view.height, kPanel);
  DrawImage(Panel(view, 0, 0, width, height), *content.frame);
  DrawBoxes(Panel(view, 0, 0, width, height), content.boxes);
  if (content.depth != nullptr) DrawDepth(Panel(view, width, 0, width, height), *content.depth);
  if (!content.estimated.empty() || !content.truth.empty()) {
    DrawWays(Panel(view, 0, height, width, below), content.estimated, content.truth);
  }
  DrawSchedule(Panel(view, width, height, width, below), content.schedule);
  return view;
}

}  // namespace wharf::scene
