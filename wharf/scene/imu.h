// What an inertial measurement unit in the camera says: the truth, and a consumer sensor's errors.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/scene/drive.h"
#include "wharf/scene/scene.h"

namespace wharf::scene {

inline constexpr int kImuPerFrame = 4;
inline constexpr double kImuHz = 240;
inline constexpr double kGravity = 9.81;  // m/s^2

// Of a sensor of a smartphone's kind, per axis. White noise: in the range that the data sheets of such parts give as
// typical (Bosch BMI160: 0.007 deg/s/sqrt(Hz) and 180 ug/sqrt(Hz); InvenSense MPU-9250: 0.01 and 300). Offsets: what is
// left after calibration at rest, a tenth of those sheets' zero-rate and zero-g offsets (3 deg/s, 40 mg) or less. The
// bias' random walk: data sheets do not give it; of the size that camera-IMU calibration commonly reports for such
// parts.
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
