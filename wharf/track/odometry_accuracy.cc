#include "wharf/track/odometry_accuracy.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::track {
namespace {

struct Fit {
  double intercept = 0;
  double loss = 0;
};

// For lines of one slope: the best intercept and the loss with it.
class SlopeLoss {
 public:
  SlopeLoss(std::span<const double> x, std::span<const double> y, double quantile)
      : x_(x), y_(y), quantile_(quantile), residuals_(x.size()), rank_(Rank(x.size(), quantile)) {}

  Fit At(double slope) {
    for (size_t i = 0; i < x_.size(); ++i) residuals_[i] = y_[i] - slope * x_[i];
    std::nth_element(residuals_.begin(), residuals_.begin() + rank_, residuals_.end());
    const double intercept = residuals_[rank_];
    double loss = 0;
    for (const double residual : residuals_) {
      const double r = residual - intercept;
      loss += r >= 0 ? quantile_ * r : (quantile_ - 1) * r;
    }
    return {intercept, loss};
  }

 private:
  // Of the smallest residual that at least quantile * n are not above.
  static ptrdiff_t Rank(size_t n, double quantile) {
    return std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(std::ceil(quantile * n - 1e-9)) - 1, 0, n - 1);
  }

  std::span<const double> x_, y_;
  double quantile_;
  std::vector<double> residuals_;
  ptrdiff_t rank_;
};

// An optimal line passes through two points, so its slope is no steeper than this.
double SteepestSlope(std::span<const double> x, std::span<const double> y) {
  std::vector<double> sorted(x.begin(), x.end());
  std::sort(sorted.begin(), sorted.end());
  double nearest = sorted.back() - sorted.front();
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) nearest = std::min(nearest, sorted[i] - sorted[i - 1]);
  }
  const auto [least, most] = std::minmax_element(y.begin(), y.end());
  return (*most - *least) / nearest;
}

absl::Status Check(std::span<const double> x, std::span<const double> y, double quantile) {
  if (x.size() != y.size()) return InvalidArgument("{} values of x, but {} of y", x.size(), y.size());
  if (x.size() < 2) return InvalidArgument("a line takes two points, not {}", x.size());
  if (!(quantile > 0 && quantile < 1)) return InvalidArgument("quantile {} is not between 0 and 1", quantile);
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::all_of(x.begin(), x.end(), finite) || !std::all_of(y.begin(), y.end(), finite)) {
    return InvalidArgument("a point is not finite");
  }
  if (std::all_of(x.begin(), x.end(), [&](double v) { return v == x[0]; })) {
    return FailedPrecondition("all {} points have x = {}", x.size(), x[0]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Line> FitQuantile(std::span<const double> x, std::span<const double> y, double quantile) {
  WHARF_RETURN_IF_ERROR(Check(x, y, quantile));
  SlopeLoss loss(x, y, quantile);
  double high = SteepestSlope(x, y), low = -high;
  // Thirds of the interval; convex, so the minimum is never in the third beyond the worse of the two. 200 steps shrink
  // any interval of doubles that matters below its rounding.
  for (int step = 0; step < 200 && low < high; ++step) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (loss.At(a).loss <= loss.At(b).loss) {
      high = b;
    } else {
      low = a;
    }
  }
  const double slope = low + (high - low) / 2;
  return Line{.intercept = loss.At(slope).intercept, .slope = slope};
}

double MeanAngularVelocity(std::span<const scene::Pose> poses, double frame_s) {
  if (poses.size() < 2) return 0;
  double angle = 0;
  for (size_t i = 1; i < poses.size(); ++i) angle += poses[i - 1].rotation.angularDistance(poses[i].rotation);
  return angle / (static_cast<double>(poses.size() - 1) * frame_s);
}

double OdometryAccuracyModel::DropRate(double mean_angular_velocity) const {
  return std::max(0.0, bound.At(mean_angular_velocity)) / (stride - base_stride);
}

}  // namespace wharf::track
