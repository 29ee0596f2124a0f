// What an inertial measurement unit in the camera says: the truth, and a consumer sensor's errors.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/drive.h"

namespace wharf::scene {

inline constexpr int kImuPerFrame = 4;
inline constexpr double kImuHz = 240;
inline constexpr double kGravity = 9.81;  // m/s^2

// Of a sensor of a smartphone's kind, per axis. White noise: of the size that data sheets of such parts (Bosch's
// BMI160, InvenSense's MPU-9250) give as typical: some 0.01 deg/s/sqrt(Hz) and 200 to 300 ug/sqrt(Hz). Offsets: what is
// left after calibration at rest, a tenth or less of the degrees per second and tens of mg that such sheets allow
// without. The bias' random walk: data sheets do not give it; of the size that calibration of camera and IMU finds for
// such parts.
struct ImuErrors {
  double gyroscope_noise = 1.7e-4;      // rad/s/sqrt(Hz)
  double gyroscope_bias = 2e-3;         // rad/s, standard deviation at the start
  double gyroscope_walk = 2e-5;         // rad/s^2/sqrt(Hz)
  double accelerometer_noise = 2.5e-3;  // m/s^2/sqrt(Hz)
  double accelerometer_bias = 0.02;     // m/s^2
  double accelerometer_walk = 3e-4;     // m/s^3/sqrt(Hz)
};
inline constexpr ImuErrors kPerfectImu = {0, 0, 0, 0, 0, 0};

// Exact: the rate of turn and the acceleration less gravity at this instant.
ImuSample PerfectImuSample(const Drive& drive, double time_s);
// At 0, 1 / kImuHz, ...: `count` samples.
std::vector<ImuSample> MeasureImu(const Drive& drive, const ImuErrors& errors, size_t count, uint64_t seed);

}  // namespace wharf::scene
