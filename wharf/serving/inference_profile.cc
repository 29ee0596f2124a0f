#include "wharf/serving/inference_profile.h"

namespace wharf::serving {
namespace {

constexpr double kMaxMs = 60e3;

}  // namespace

absl::StatusOr<InferenceProfile> InferenceProfile::Make(std::string name, const std::map<int, double>& batch_ms) {
  if (batch_ms.empty() || batch_ms.begin()->first != 1) return InvalidArgument("a profile begins with batches of one");
  if (batch_ms.rbegin()->first > kMaxBatch) {
    return InvalidArgument("a profile of batches of {}; {} at most", batch_ms.rbegin()->first, kMaxBatch);
  }
  std::vector<double> seconds;
  for (const auto& [batch, ms] : batch_ms) {
    if (!(ms > 0 && ms <= kMaxMs)) return InvalidArgument("an inference does not take {} ms", ms);
    const auto measured = static_cast<int>(seconds.size());
    const double step = measured == 0 ? 0 : (ms / 1e3 - seconds.back()) / (batch - measured);
    while (static_cast<int>(seconds.size()) < batch - 1) seconds.push_back(seconds.back() + step);
    seconds.push_back(ms / 1e3);
  }
  return InferenceProfile(std::move(name), std::move(seconds));
}

InferenceProfile InferenceProfile::Stretched(double factor) const {
  InferenceProfile stretched = *this;
  for (double& seconds : stretched.seconds_) seconds *= factor;
  return stretched;
}

}  // namespace wharf::serving
