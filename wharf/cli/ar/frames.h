// Frames for `wharf ar client`, made ahead of time on a thread of their own and handed out when a camera would have
// them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::scene {
class Source;
struct Frame;
}  // namespace wharf::scene

namespace wharf::cli {

class PacedFrames {
 public:
  // `source` must outlive it.
  explicit PacedFrames(scene::Source& source);
  ~PacedFrames();

  // The next frame, not before its time; nullptr at the end. Fails as the source.
  absl::StatusOr<std::shared_ptr<const scene::Frame>> Next();
  // Frames that were not made in time and came when they were.
  int64_t Late() const { return late_; }

 private:
  void Loop();

  scene::Source& source_;
  absl::Mutex mutex_;
  std::deque<absl::StatusOr<std::shared_ptr<const scene::Frame>>> ready_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> due_;
  int64_t late_ = 0;
  std::thread thread_;
};

}  // namespace wharf::cli
