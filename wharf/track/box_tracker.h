// The detection task's local tracker: boxes moved along with what is inside them, by Lucas-Kanade optical flow (ARISE,
// thesis section 3.6.2).
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

struct BoxTrackerOptions {
  int points_per_box = 24;     // corners looked for inside a box; a grid of 9 besides where there are few
  int least_points = 4;        // of them, found again; with fewer a box is lost
  double round_trip_px = 1.0;  // a point tracked forth and back must return this near
};

// Keeps the last frame and the boxes on it. A result that arrives late is caught up with by Start on the frame that it
// is for, which the caller has kept, and Track on the frame of now: one step over any stride.
// Not thread-safe; different trackers are independent.
class BoxTracker {
 public:
  explicit BoxTracker(BoxTrackerOptions options = {});
  ~BoxTracker();
  BoxTracker(BoxTracker&&) noexcept;
  BoxTracker& operator=(BoxTracker&&) noexcept;

  // Forgets what was tracked; `boxes` are on `image` (one with a coordinate
  // that is not finite is left out). kInvalidArgument if the image's pixels are not of its size.
  absl::Status Start(const scene::Image& image, std::vector<scene::Box> boxes);

  // The boxes on the next frame, clipped to it: each scaled by the median of the ratios of its points' distances, and
  // moved by the median of what is left of their motion (class and score stay). Lost boxes are dropped for good: those
  // with too few points found again, and those whose centre has left the picture. kFailedPrecondition before Start;
  // kInvalidArgument for a frame of another size than the one before.
  absl::StatusOr<std::vector<scene::Box>> Track(const scene::Image& next);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wharf::track
