#include "wharf/serving/learnt_profile.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {
namespace {

constexpr double kNewest = 1.0 / 32;               // of the running mean
constexpr double kLeastStretch = 0.25, kMost = 4;  // of one batch: what is beyond says nothing of the next
constexpr double kSteps = 100;                     // of 1: smaller changes are not worth other plans

}  // namespace

void LearntProfile::Add(int batch, Nanoseconds took) {
  if (batch < 1 || batch > measured_.MaxBatch() || took <= Nanoseconds::zero()) return;
  const double before = std::round(kSteps * stretch_);
  const double seen = std::clamp(Seconds(took) / measured_.Seconds(batch), kLeastStretch, kMost);
  stretch_ += kNewest * (seen - stretch_);
  if (std::round(kSteps * stretch_) != before) now_ = measured_.Stretched(std::round(kSteps * stretch_) / kSteps);
}

}  // namespace wharf::serving
