// InferenceProfile: how long a server's network takes for a batch of each size.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::serving {

inline constexpr int kMaxBatch = 256;

class InferenceProfile {
 public:
  // Of whole batches, by their sizes, decoding and encoding included if the server does them one after the other; sizes
  // in between that were not measured are interpolated. `name` says what was measured, and where. kInvalidArgument:
  // the sizes do not begin with 1 or go beyond kMaxBatch, or a time is not above 0 and at most a minute.
  static absl::StatusOr<InferenceProfile> Make(std::string name, const std::map<int, double>& batch_ms);

  const std::string& name() const { return name_; }
  int MaxBatch() const { return static_cast<int>(seconds_.size()); }
  // REQUIRES: 1 <= batch <= MaxBatch(), of these three.
  double Seconds(int batch) const { return seconds_[batch - 1]; }
  Nanoseconds Latency(int batch) const { return FromSeconds(Seconds(batch)); }
  double Throughput(int batch) const { return batch / Seconds(batch); }  // requests/s
  // One request on a server of its own, what accuracy is held against: as measured, however busy the engine is now.
  double SecondsAlone() const { return alone_s_; }
  // Of an engine that takes so many times as long. REQUIRES: factor > 0.
  InferenceProfile Stretched(double factor) const;

 private:
  InferenceProfile(std::string name, std::vector<double> seconds)
      : name_(std::move(name)), seconds_(std::move(seconds)), alone_s_(seconds_.front()) {}
  std::string name_;
  std::vector<double> seconds_;
  double alone_s_;
};

}  // namespace wharf::serving
