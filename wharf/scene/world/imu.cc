#include "wharf/scene/world/imu.h"

#include <cmath>

#include "wharf/base/random.h"

namespace wharf::scene {
namespace {

Eigen::Vector3d Noise(Random& random, double sigma) {
  const double x = random.Normal(), y = random.Normal(), z = random.Normal();
  return Eigen::Vector3d(x, y, z) * sigma;
}

}  // namespace

ImuSample PerfectImuSample(const Drive& drive, double time_s) {
  const Eigen::Vector3d gravity(0, 0, -kGravity);
  return {time_s, drive.AngularVelocity(time_s),
          drive.PoseAt(time_s).rotation.conjugate() * (drive.Acceleration(time_s) - gravity)};
}

std::vector<ImuSample> MeasureImu(const Drive& drive, const ImuErrors& errors, size_t count, uint64_t seed) {
  Random random(seed, 51);
  const double root = std::sqrt(kImuHz);  // noise of a density, sampled so often; a walk's steps are as much smaller
  Eigen::Vector3d gyroscope = Noise(random, errors.gyroscope_bias);
  Eigen::Vector3d accelerometer = Noise(random, errors.accelerometer_bias);
  std::vector<ImuSample> samples;
  samples.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    ImuSample& sample = samples.emplace_back(PerfectImuSample(drive, static_cast<double>(i) / kImuHz));
    sample.angular_velocity += gyroscope + Noise(random, errors.gyroscope_noise * root);
    sample.specific_force += accelerometer + Noise(random, errors.accelerometer_noise * root);
    gyroscope += Noise(random, errors.gyroscope_walk / root);
    accelerometer += Noise(random, errors.accelerometer_walk / root);
  }
  return samples;
}

}  // namespace wharf::scene
