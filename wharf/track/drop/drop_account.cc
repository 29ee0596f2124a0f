#include "wharf/track/drop/drop_account.h"

#include <algorithm>
#include <cmath>

namespace wharf::track {
namespace {

constexpr size_t kMostOpen = 600;    // of a server that does not answer: older frames are settled by the last result
constexpr double kMostResults = 40;  // that a mean goes back, about

}  // namespace

double DropAccount::LossOf(double stride) const {
  if (seen_.stride <= 0) return 0;
  const auto drop = [&](double of) { return seen_.drop * std::pow(of / seen_.stride, exponent_); };
  return drop(stride) - drop(reference_stride_);
}

void DropAccount::SettleFirst() {
  settled_ += LossOf(open_.front().stride);
  ++settled_frames_;
  open_.pop_front();
}

void DropAccount::Show(int64_t frame, double stride) {
  open_.push_back({frame, stride});
  if (open_.size() > kMostOpen) SettleFirst();
}

void DropAccount::LearnExponent(const SeenDrop& near, const SeenDrop& far) {
  results_ = std::min(results_ + 1, kMostResults);
  near_.AddToMean(near, 1 / results_);
  far_.AddToMean(far, 1 / results_);
  if (near_.drop <= 0) return;
  const double seen = std::log(far_.drop / near_.drop) / std::log(far_.stride / near_.stride);
  exponent_ =
      (expected_results_ * expected_exponent_ + results_ * std::clamp(seen, 0.0, 1.0)) / (expected_results_ + results_);
}

void DropAccount::Settle(int64_t frame, const SeenDrop& near, const SeenDrop& far, double reference_stride) {
  if (!AreSeenDrops(near, far)) return;
  LearnExponent(near, far);
  seen_ = near;
  reference_stride_ = reference_stride;
  while (!open_.empty() && open_.front().frame <= frame) SettleFirst();
}

double DropAccount::Lost() const {
  double lost = settled_;
  for (const Shown& shown : open_) lost += LossOf(shown.stride);
  return lost;
}

}  // namespace wharf::track
