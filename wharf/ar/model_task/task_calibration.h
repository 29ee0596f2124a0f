// TaskCalibration: what calibration videos say of an application's own task: how much its tracker loses by the stride,
// the number of frames since the frame of the server's last answer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wharf/base/status.h"
#include "wharf/multitask/plan.h"

namespace wharf::ar {

struct TaskCalibration {
  std::string task;    // the name under which the server has the model
  std::string source;  // on what it was calibrated, for people
  // The tracker is taken to lose rate * stride^exponent. As it is here: nothing is known yet.
  double rate = 0.01, exponent = 1;
  double local_drop = multitask::kNoLocalAlgorithm;  // what the local algorithm loses
  double offload_ms = 60;                            // from sending a frame to its answer; until it is measured

  double DropAt(double stride) const;

  // One JSON object. kInvalidArgument: something else, or numbers that cannot be.
  static absl::StatusOr<TaskCalibration> Parse(std::string_view json);
  std::string Json() const;
  // Of a file. kNotFound and others by errno; kInvalidArgument, naming it.
  static absl::StatusOr<TaskCalibration> Load(const std::string& path);
};

// What was lost at a stride, on average over `samples`.
struct LossAtStride {
  double stride = 0, loss = 0, samples = 0;
};
struct PowerLaw {
  double rate = 0, exponent = 1;
  double At(double stride) const;
};
// The power law, of exponents from 0.05 to 2, whose losses are off by the least squares, weighed by their samples.
// kFailedPrecondition: fewer than two strides. REQUIRES: strides of at least 1, losses that are finite and not
// negative.
absl::StatusOr<PowerLaw> FitPowerLaw(std::span<const LossAtStride> losses);

}  // namespace wharf::ar
