// For tests: a task whose model says how bright a picture is, and whose tracker adds as much with each frame.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "wharf/ar/model_task/tracker.h"

namespace wharf::ar::testing {

inline graph::Constant Number(float value) {
  return graph::Constant::Of<float>(graph::ElementType::kFloat, {1}, std::span<const float>(&value, 1));
}

// Adds what it was told to, each frame; loses the difference.
class Counter final : public Tracker<double> {
 public:
  explicit Counter(double step) : step_(step) {}
  absl::StatusOr<double> Read(const Outputs& outputs, const scene::Frame&) override {
    if (outputs.size() != 1 || outputs[0].type.Elements() != 1) return InvalidArgument("no single number");
    return outputs[0].As<float>()[0];
  }
  absl::StatusOr<double> Track(const double& result, const scene::Frame& from, const scene::Frame& to) override {
    jumps.push_back(to.index - from.index);
    if (lost) return NotFound("it is out of sight");
    return result + step_ * static_cast<double>(to.index - from.index);
  }
  double Loss(const double& tracked, const double& fresh) const override { return std::abs(tracked - fresh); }
  bool HasLocalAlgorithm() const override { return local.has_value(); }
  absl::StatusOr<double> RunLocalAlgorithm(const scene::Frame&) override { return *local; }

  std::vector<int64_t> jumps;  // of the frames between the two that Track was given
  bool lost = false;
  std::optional<double> local;

 private:
  const double step_;
};

}  // namespace wharf::ar::testing
