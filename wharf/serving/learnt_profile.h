// LearntProfile: an engine's profile as it keeps to it at present. What was measured on a quiet machine is not what a
// busy or hot one takes, and a plan that fills the engine to the brim by it is late ever after.
#pragma once

#include "wharf/serving/inference_profile.h"

namespace wharf::serving {

class LearntProfile {
 public:
  explicit LearntProfile(const InferenceProfile& measured) : measured_(measured), now_(measured) {}

  // The engine begins a batch; it has done the one that it began.
  void Begin(int batch, TimePoint now) { batch_ = batch, begun_ = now; }
  void End(TimePoint now) { Add(batch_, now - begun_); }
  // A batch of this size took so long. Ignored if that is no size of the profile's, or no time.
  void Add(int batch, Nanoseconds took);
  // The measured profile, all times longer or shorter by what batches took lately on average.
  const InferenceProfile& Now() const { return now_; }

 private:
  const InferenceProfile measured_;
  InferenceProfile now_;
  double stretch_ = 1;  // running mean
  int batch_ = 0;
  TimePoint begun_;
};

}  // namespace wharf::serving
