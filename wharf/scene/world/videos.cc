#include "wharf/scene/world/videos.h"

namespace wharf::scene {

std::string CategoryName(const Category& category) {
  return fmt::format("{}/{}", category.much_traffic ? 'H' : 'L', category.many_turns ? 'H' : 'L');
}

absl::StatusOr<Category> ParseCategory(std::string_view text) {
  for (const Category& category : kCategories) {
    if (text == CategoryName(category)) return category;
  }
  return InvalidArgument("there is no category {:?}; there are L/L, L/H, H/L and H/H", std::string(text));
}

absl::StatusOr<Split> ParseSplit(std::string_view text) {
  if (text == "training") return Split::kTraining;
  if (text == "calibration") return Split::kCalibration;
  if (text == "evaluation") return Split::kEvaluation;
  return InvalidArgument("there are no {} videos; there are training, calibration and evaluation ones",
                         std::string(text));
}

absl::StatusOr<Video> FindVideo(const Category& category, int number, Split split) {
  const int count = split == Split::kEvaluation ? kVideosPerCategory : 1000;
  if (number < 0 || number >= count) {
    return InvalidArgument("there is no video {} of {}; there are 0 to {}", number, CategoryName(category), count - 1);
  }
  const uint64_t range = (static_cast<uint64_t>(split) + 1) * 1'000'000;
  const uint64_t within = (category.much_traffic ? 2000u : 0u) + (category.many_turns ? 1000u : 0u);
  return Video{category, range + within + static_cast<uint64_t>(number)};
}

VideoMeasures MeasureVideo(const World& world, int stride) {
  VideoMeasures sum;
  int count = 0;
  for (int64_t index = 0; index < World::kFrames; index += stride, ++count) {
    const Truth truth = world.TruthAt(index, 208, 64);
    sum.dynamic_share += truth.dynamic_share;
    sum.angular_velocity += truth.angular_velocity.norm();
    sum.speed_mps += truth.velocity.norm();
  }
  return {sum.dynamic_share / count, sum.angular_velocity / count, sum.speed_mps / count};
}

bool IsOf(const Category& category, const VideoMeasures& measures) {
  const auto fits = [](bool high, double value, double low_end, double high_begin) {
    return high ? value > high_begin : value < low_end;
  };
  return fits(category.much_traffic, measures.dynamic_share, kLowShare, kHighShare) &&
         fits(category.many_turns, measures.angular_velocity, kLowAngularVelocity, kHighAngularVelocity);
}

}  // namespace wharf::scene
