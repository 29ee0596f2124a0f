#include "wharf/multitask/experiment/world_start.h"

#include <algorithm>

namespace wharf::multitask {

OdometryTaskOptions OdometryIn(const scene::World& world, const scene::ImuErrors& imu,
                               const track::OdometryAccuracyModel& accuracy) {
  OdometryTaskOptions options;
  options.filter.gravity = {0, 0, -scene::kGravity};
  options.filter.noise = {.gyroscope = imu.gyroscope_noise,
                          .accelerometer = imu.accelerometer_noise,
                          .gyroscope_bias_walk = imu.gyroscope_walk,
                          .accelerometer_bias_walk = imu.accelerometer_walk};
  const scene::Truth truth = world.MotionAt(0);
  options.start.pose = truth.pose;
  options.start.velocity = truth.velocity;
  options.start.gyroscope_bias_sd = imu.gyroscope_bias;
  options.start.accelerometer_bias_sd = imu.accelerometer_bias;
  options.accuracy = accuracy;
  options.frame_s = 1.0 / scene::World::kFramesPerSecond;
  return options;
}

track::SegmentOptions SegmentsOf(int64_t frames) {
  track::SegmentOptions options;
  const double share = std::min(1.0, static_cast<double>(frames) / scene::World::kFrames);
  for (double& length : options.lengths_m) length *= share;
  return options;
}

}  // namespace wharf::multitask
