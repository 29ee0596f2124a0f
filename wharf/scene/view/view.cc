#include "wharf/scene/view/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace wharf::scene {
namespace {

// Red, green, blue, as pictures are laid out here.
const cv::Scalar kText(225, 228, 232), kDim(150, 156, 165), kBackground(24, 26, 30), kPanel(36, 39, 45);
const cv::Scalar kGreen(70, 200, 90), kOrange(255, 150, 30), kBlue(90, 170, 255), kRed(240, 70, 60);
const std::array<cv::Scalar, 4> kTasks = {kBlue, {255, 190, 60}, {150, 230, 120}, {230, 120, 200}};
const cv::Vec3b kSky(84, 88, 96);
constexpr float kFarthestShown = 80, kNearestShown = 3;  // metres
constexpr double kScheduleSeconds = 10;

constexpr int kWidth = 1280, kMargin = 8, kPicture = (kWidth - 3 * kMargin) / 2;
constexpr int kHeader = 44, kCaption = 26, kScale = 40, kLower = 300;

int PictureHeight(int width, int height) { return std::max(1, kPicture * height / width); }

cv::Mat Over(const Image& image) {
  return {image.height, image.width, CV_8UC3, const_cast<uint8_t*>(image.rgb.data())};
}

void Write(cv::Mat canvas, const std::string& text, cv::Point at, double size = 0.5, const cv::Scalar& colour = kText) {
  cv::putText(canvas, text, at, cv::FONT_HERSHEY_SIMPLEX, size, colour, 1, cv::LINE_AA);
}
int WidthOf(const std::string& text, double size) {
  return cv::getTextSize(text, cv::FONT_HERSHEY_SIMPLEX, size, 1, nullptr).width;
}
// Ending at, and in the middle of, `at`.
void WriteBefore(cv::Mat canvas, const std::string& text, cv::Point at, double size, const cv::Scalar& colour) {
  Write(canvas, text, {at.x - WidthOf(text, size), at.y}, size, colour);
}
void WriteAround(cv::Mat canvas, const std::string& text, cv::Point at, double size, const cv::Scalar& colour) {
  Write(canvas, text, {at.x - WidthOf(text, size) / 2, at.y}, size, colour);
}

// 0 at the farthest that is shown, 1 at the nearest: by the inverse, as near differences matter most.
float Nearness(float metres) {
  const float near =
      (1 / std::max(metres, kNearestShown) - 1 / kFarthestShown) / (1 / kNearestShown - 1 / kFarthestShown);
  return std::sqrt(std::clamp(near, 0.0f, 1.0f));
}
// From blue over cyan, green and yellow to red.
cv::Vec3b ColourOf(float nearness) {
  const float hue = 4 * nearness;
  const auto part = [](float value) { return static_cast<uint8_t>(255 * std::clamp(value, 0.0f, 1.0f)); };
  return {part(hue - 2), part(std::min(hue, 4 - hue)), part(2 - hue)};
}

void DrawFrame(cv::Mat panel, const ViewContent& content) {
  const Image& frame = *content.frame;
  cv::resize(Over(frame), panel, panel.size(), 0, 0, cv::INTER_LINEAR);
  const double x = static_cast<double>(panel.cols) / frame.width, y = static_cast<double>(panel.rows) / frame.height;
  for (const Box& box : content.boxes) {
    const auto within = [](double at, double end) { return static_cast<int>(std::clamp(at, -2.0, end + 2)); };
    const cv::Point from(within(box.left * x, panel.cols), within(box.top * y, panel.rows));
    const cv::Point to(within(box.right * x, panel.cols) - 1, within(box.bottom * y, panel.rows) - 1);
    cv::rectangle(panel, from, to, box.object_class == ObjectClass::kVehicle ? kOrange : kGreen, 2, cv::LINE_AA);
  }
}

void DrawColourBar(cv::Mat strip) {
  constexpr int kHigh = 12;
  const int left = 40, right = strip.cols - 150;
  for (int x = left; x < right; ++x) {
    const float nearness = 1 - static_cast<float>(x - left) / static_cast<float>(right - left - 1);
    cv::line(strip, {x, 4}, {x, 4 + kHigh}, cv::Scalar(cv::Vec3d(ColourOf(nearness))));
  }
  for (const float metres : {3.0f, 5.0f, 10.0f, 20.0f, 40.0f, 80.0f}) {
    const int x = left + static_cast<int>(std::lround((1 - Nearness(metres)) * static_cast<float>(right - left - 1)));
    cv::line(strip, {x, 4 + kHigh}, {x, 7 + kHigh}, kText);
    WriteAround(strip, fmt::format("{:g} m", metres), {x, 33}, 0.42, kText);
  }
  cv::rectangle(strip, {right + 24, 4}, {right + 44, 4 + kHigh}, cv::Scalar(cv::Vec3d(kSky)), cv::FILLED);
  Write(strip, "sky", {right + 50, 15}, 0.42);
}

// A length that is 1, 2 or 5 times a power of ten.
double RoundLength(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power <= most) return factor * power;
  }
  return power;
}

// Both ways to one scale, as large as they can be, north up.
class Map {
 public:
  Map(cv::Mat panel, const ViewContent& content) : panel_(std::move(panel)), content_(content) {}

  void Draw() {
    if (!Fit()) {
      Write(panel_, content_.pose_state.empty() ? "no pose is asked for" : "the pose is beyond all measure", {12, 30},
            0.5, kDim);
      return;
    }
    DrawWay(content_.truth, kGreen, 3);
    DrawWay(content_.estimated, kBlue, 2);
    const Eigen::Vector3d& here = content_.estimated.back().position;
    const int radius = static_cast<int>(std::min(2000.0, content_.position_sd_m * scale_));
    if (radius > 4) cv::circle(panel_, Place(here), radius, kDim, 1, cv::LINE_AA);
    cv::circle(panel_, Place(here), 5, content_.pose_good ? kBlue : kRed, cv::FILLED, cv::LINE_AA);
    cv::drawMarker(panel_, Place(content_.estimated.front().position), kText, cv::MARKER_CROSS, 10, 1);
    DrawScale();
    Legend();
  }

 private:
  bool Fit() {
    if (content_.estimated.empty()) return false;
    constexpr double kLeastExtent = 10;  // metres
    Eigen::Vector2d low = Eigen::Vector2d::Constant(1e12), high = -low;
    for (const auto* way : {&content_.estimated, &content_.truth}) {
      for (const Pose& pose : *way) {
        if (!pose.position.allFinite() || pose.position.norm() > 1e6) return false;
        low = low.cwiseMin(pose.position.head<2>());
        high = high.cwiseMax(pose.position.head<2>());
      }
    }
    const Eigen::Vector2d room(panel_.cols - 60, panel_.rows - 110);
    scale_ = (room.array() / (high - low).array().max(kLeastExtent)).minCoeff();
    middle_ = (low + high) / 2;
    return true;
  }
  cv::Point Place(const Eigen::Vector3d& position) const {
    const Eigen::Vector2d from_middle = (position.head<2>() - middle_) * scale_;
    return {static_cast<int>(std::lround(panel_.cols / 2.0 + from_middle.x())),
            static_cast<int>(std::lround(panel_.rows / 2.0 - 12 - from_middle.y()))};
  }
  void DrawWay(const std::vector<Pose>& way, const cv::Scalar& colour, int thickness) {
    for (size_t i = 1; i < way.size(); ++i)
      cv::line(panel_, Place(way[i - 1].position), Place(way[i].position), colour, thickness, cv::LINE_AA);
  }
  void DrawScale() {
    const double metres = RoundLength(panel_.cols / 4.0 / scale_);
    const int length = static_cast<int>(std::lround(metres * scale_)), y = panel_.rows - 16;
    cv::line(panel_, {16, y}, {16 + length, y}, kText, 2);
    for (const int x : {16, 16 + length}) cv::line(panel_, {x, y - 4}, {x, y + 4}, kText, 2);
    Write(panel_, fmt::format("{:g} m", metres), {24 + length, y + 5}, 0.45);
  }
  void Legend() {
    int x = panel_.cols - 16;
    const auto entry = [&](const char* name, const cv::Scalar& colour) {
      const int y = panel_.rows - 16, width = WidthOf(name, 0.45);
      Write(panel_, name, {x - width, y + 5}, 0.45);
      cv::line(panel_, {x - width - 32, y}, {x - width - 8, y}, colour, 3);
      x -= width + 52;
    };
    entry("estimate", kBlue);
    if (!content_.truth.empty()) entry("truth", kGreen);
    double way = 0;
    for (size_t i = 1; i < content_.estimated.size(); ++i)
      way += (content_.estimated[i].position - content_.estimated[i - 1].position).norm();
    std::string text = fmt::format("{:.0f} m driven, known to +-{:.1f} m", way, content_.position_sd_m);
    if (!content_.truth.empty()) {
      const double off = (content_.estimated.back().position - content_.truth.back().position).norm();
      text += fmt::format(", off by {:.1f} m", off);
    }
    Write(panel_, text, {12, 22}, 0.45);
    Write(panel_, "+: start", {12, 42}, 0.42, kDim);
    if (!content_.pose_why.empty()) Write(panel_, content_.pose_why, {100, 42}, 0.45, kRed);
  }

  cv::Mat panel_;
  const ViewContent& content_;
  double scale_ = 1;
  Eigen::Vector2d middle_ = Eigen::Vector2d::Zero();
};

// The last seconds from left to right; a line is at this frame.
void DrawSchedule(cv::Mat panel, const ViewContent& content) {
  constexpr int kBottom = 46;
  int left = 0;
  for (const ScheduleRow& row : content.schedule) left = std::max(left, WidthOf(row.name, 0.5));
  left += 24;
  const int right = panel.cols - 90, rows = std::max(1, static_cast<int>(content.schedule.size()));
  const int height = std::min(60, (panel.rows - kBottom - 40) / rows);
  const auto shown = static_cast<int64_t>(kScheduleSeconds * content.frames_per_s);
  const double now = content.time_s, first = std::max(0.0, now - kScheduleSeconds);
  const auto place = [&](double time) {
    return left + static_cast<int>(std::lround((right - left) * (time - first) / kScheduleSeconds));
  };
  const int bottom = 34 + rows * height;
  for (double second = std::ceil(first); second <= first + kScheduleSeconds + 1e-9; second += 1) {
    cv::line(panel, {place(second), 34}, {place(second), bottom + 4}, kDim);
    WriteAround(panel, fmt::format("{:.0f} s", second), {place(second), bottom + 20}, 0.42, kDim);
  }
  WriteBefore(panel, "a second", {panel.cols - 10, 24}, 0.42, kDim);
  for (size_t row = 0; row < content.schedule.size(); ++row) {
    const auto& [name, offloaded] = content.schedule[row];
    const int top = 34 + static_cast<int>(row) * height;
    cv::rectangle(panel, {left, top + 5}, {right, top + height - 5}, kBackground, cv::FILLED);
    Write(panel, name, {12, top + height / 2 + 5}, 0.5);
    const auto frames = static_cast<int64_t>(offloaded.size());
    int64_t sent = 0;
    for (int64_t i = std::max<int64_t>(0, frames - shown); i < frames; ++i) {
      if (!offloaded[static_cast<size_t>(i)]) continue;
      ++sent;
      const int x = place(now - static_cast<double>(frames - 1 - i) / content.frames_per_s);
      cv::rectangle(panel, {x - 1, top + 5}, {x + 1, top + height - 5}, kTasks[row % kTasks.size()], cv::FILLED);
    }
    const double seconds = static_cast<double>(std::min(shown, frames)) / content.frames_per_s;
    WriteBefore(panel, fmt::format("{:.1f}", seconds > 0 ? static_cast<double>(sent) / seconds : 0),
                {panel.cols - 10, top + height / 2 + 5}, 0.5, kText);
  }
  cv::line(panel, {place(now), 34}, {place(now), bottom}, kText);
  if (!content.agreement.empty()) Write(panel, content.agreement, {12, panel.rows - 12}, 0.5);
}

}  // namespace

std::vector<bool> SkyIn(const Image& frame) {
  const int width = frame.width, height = frame.height;
  const auto at = [&](int x, int y) {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  };
  const auto light = [&](size_t pixel) {
    const uint8_t* rgb = &frame.rgb[3 * pixel];
    return (rgb[0] + 2 * rgb[1] + rgb[2]) / 4;
  };
  const auto like_sky = [&](size_t pixel) {
    const uint8_t* rgb = &frame.rgb[3 * pixel];
    // Blue, or white as clouds are.
    return light(pixel) > 120 && (rgb[2] >= rgb[0] + 12 || (light(pixel) > 205 && rgb[2] + 6 >= rgb[0]));
  };
  std::vector<bool> sky(static_cast<size_t>(width) * static_cast<size_t>(height), false);
  std::vector<std::pair<int, int>> open;
  const auto visit = [&](int x, int y) {
    sky[at(x, y)] = true;
    open.emplace_back(x, y);
  };
  for (int x = 0; x < width; ++x) {
    if (like_sky(at(x, 0))) visit(x, 0);
  }
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    for (const auto& [dx, dy] : {std::pair(1, 0), std::pair(-1, 0), std::pair(0, 1), std::pair(0, -1)}) {
      const int to_x = x + dx, to_y = y + dy;
      if (to_x < 0 || to_y < 0 || to_x >= width || to_y >= height || sky[at(to_x, to_y)]) continue;
      if (like_sky(at(to_x, to_y)) && std::abs(light(at(to_x, to_y)) - light(at(x, y))) < 10) visit(to_x, to_y);
    }
  }
  return sky;
}

Image DepthPicture(const DepthMap& depth, const Image& frame) {
  Image picture{depth.width, depth.height, std::vector<uint8_t>(3 * depth.metres.size())};
  const std::vector<bool> sky = SkyIn(frame);
  for (size_t i = 0; i < depth.metres.size(); ++i) {
    const cv::Vec3b colour = depth.metres[i] > 0 && !sky[i] ? ColourOf(Nearness(depth.metres[i])) : kSky;
    std::copy(colour.val, colour.val + 3, picture.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i));
  }
  return picture;
}

ViewSize SizeOfView(int frame_width, int frame_height) {
  const int height = kHeader + 2 * kCaption + PictureHeight(frame_width, frame_height) + kScale + kLower + kMargin;
  return {kWidth, height + height % 2};  // video coders want even numbers
}

Image DrawView(const ViewContent& content) {
  const ViewSize size = SizeOfView(content.frame->width, content.frame->height);
  Image view{size.width, size.height, {}};
  view.rgb.resize(static_cast<size_t>(view.width) * static_cast<size_t>(view.height) * 3);
  cv::Mat canvas = Over(view);
  canvas.setTo(kBackground);
  const int high = PictureHeight(content.frame->width, content.frame->height), second = 2 * kMargin + kPicture;
  const int pictures = kHeader + kCaption, lower = pictures + high + kScale + kCaption;

  Write(canvas, content.title, {12, 29}, 0.7);
  // A title that is too long ends before the pose's state.
  cv::rectangle(canvas, {kWidth - 480, 0}, {kWidth, kHeader - 1}, kBackground, cv::FILLED);
  const std::string when = fmt::format("frame {}   {:.2f} s", content.index, content.time_s);
  WriteBefore(canvas, when, {kWidth - 12, 29}, 0.6, kText);
  if (!content.pose_state.empty()) {
    const std::string state = "pose: " + content.pose_state;
    const int left = kWidth - 300 - WidthOf(state, 0.55);
    cv::circle(canvas, {left - 16, 24}, 7, content.pose_good ? kGreen : kRed, cv::FILLED, cv::LINE_AA);
    Write(canvas, state, {left, 29}, 0.55);
  }
  Write(canvas, "camera", {12, pictures - 8});
  Write(canvas, "vehicle", {kPicture - 160, pictures - 8}, 0.45, kOrange);
  Write(canvas, "person", {kPicture - 70, pictures - 8}, 0.45, kGreen);
  DrawFrame(canvas(cv::Rect(kMargin, pictures, kPicture, high)), content);
  Write(canvas, content.depth != nullptr ? "depth" : "depth: not asked for, or none yet", {second + 4, pictures - 8});
  cv::Mat depth = canvas(cv::Rect(second, pictures, kPicture, high));
  depth.setTo(kPanel);
  if (content.depth != nullptr) {
    const Image picture = DepthPicture(*content.depth, *content.frame);
    cv::resize(Over(picture), depth, depth.size(), 0, 0, cv::INTER_LINEAR);
    DrawColourBar(canvas(cv::Rect(second, pictures + high, kPicture, kScale)));
  }
  Write(canvas, "way from above", {12, lower - 8});
  cv::Mat map = canvas(cv::Rect(kMargin, lower, kPicture, kLower));
  map.setTo(kPanel);
  Map(map, content).Draw();
  Write(canvas, "frames sent to the server", {second + 4, lower - 8});
  cv::Mat schedule = canvas(cv::Rect(second, lower, kPicture, kLower));
  schedule.setTo(kPanel);
  DrawSchedule(schedule, content);
  return view;
}

}  // namespace wharf::scene
