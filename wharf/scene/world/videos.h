// The videos that AccuMO is judged by: four categories, by how much of a picture moves and how fast the camera turns
// (the thesis, §2.8.1), and the seeds of each.
//
// Evaluation videos must never be trained or calibrated on: networks are trained on those of kTraining, accuracy models
// and thresholds are fitted on those of kCalibration, and reported figures are of kEvaluation. Their seeds are apart.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "wharf/base/status.h"
#include "wharf/scene/world/world.h"

namespace wharf::scene {

enum class Split : uint8_t { kTraining, kCalibration, kEvaluation };

// Written L/L, L/H, H/L and H/H: first the share of pixels that show things that can move, then the angular velocity.
struct Category {
  bool much_traffic = false, many_turns = false;
};
inline constexpr std::array<Category, 4> kCategories = {{{false, false}, {false, true}, {true, false}, {true, true}}};
inline constexpr int kVideosPerCategory = 20;

std::string CategoryName(const Category& category);
absl::StatusOr<Category> ParseCategory(std::string_view text);
absl::StatusOr<Split> ParseSplit(std::string_view text);  // training, calibration, evaluation

// `number` counts from 0; below kVideosPerCategory for evaluation, below 1000 otherwise.
// kInvalidArgument: it does not.
struct Video {
  Category category;
  uint64_t seed = 0;
  WorldOptions Options() const {
    return {.much_traffic = category.much_traffic, .many_turns = category.many_turns, .imu = {}};
  }
};
absl::StatusOr<Video> FindVideo(const Category& category, int number, Split split);

// Means over a video. What is between the thresholds is neither low nor high, and no video's.
struct VideoMeasures {
  double dynamic_share = 0;     // of the pixels
  double angular_velocity = 0;  // rad/s
  double speed_mps = 0;
};
inline constexpr double kLowShare = 0.06, kHighShare = 0.12;
inline constexpr double kLowAngularVelocity = 0.09, kHighAngularVelocity = 0.2;  // rad/s: 5 and 11 degrees/s

inline constexpr int kMeasuringStride = 12;

// Renders every `stride`th frame's truth at 208 x 64.
VideoMeasures MeasureVideo(const World& world, int stride);
// Whether they lie on the sides of the thresholds that the category says.
bool IsOf(const Category& category, const VideoMeasures& measures);

}  // namespace wharf::scene
