// ResultTracker: one task between answers, and what tracking costs it: what was tracked to a frame held against the
// server's answer for it (thesis 3.4.3), from the newest answer and from the one before it. Several frames may be on
// their way at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/track/box_tracker.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::ar {

using multitask::FramePointer;

// What an answer shows of tracking: to its frame from the newest answer that there was, and from the one before that.
struct SeenDrops {
  track::SeenDrop near, far;
};

// Not thread-safe.
class ResultTracker {
 public:
  virtual ~ResultTracker() = default;
  // The camera's next frame: the result is of this one now, if a server has ever answered. An error leaves the one
  // before.
  virtual absl::Status OnFrame(const FramePointer& frame) = 0;
  // The frame given last goes to the server.
  virtual void Offloaded() = 0;
  // What a server found in `frame`. Gives what this shows of tracking; nullopt where fewer than two answers were there
  // when the frame was offloaded. kInvalidArgument: it is nothing such, and changes nothing. kNotFound: nobody waits
  // for it any more.
  virtual absl::StatusOr<std::optional<SeenDrops>> Accept(int64_t frame, std::vector<std::byte> found) = 0;
  // Frames since the one that was answered last; -1 before the first.
  virtual int Stride() const = 0;
};

// What all have in common. A task of an application's own is in ar/model_task: its Found is std::shared_ptr<const
// void>.
template <typename Found>
class TrackerOf : public ResultTracker {
 public:
  absl::Status OnFrame(const FramePointer& frame) final;
  void Offloaded() final;
  absl::StatusOr<std::optional<SeenDrops>> Accept(int64_t frame, std::vector<std::byte> found) final;
  int Stride() const final { return newest_ && frame_ ? static_cast<int>(frame_->index - newest_->index) : -1; }
  // Of the frame given last; of the one before that where OnFrame failed.
  const Found& result() const { return result_; }

 protected:
  virtual absl::Status Observe(const FramePointer& frame) = 0;
  // The frame observed last is offloaded.
  virtual void Mark() {}
  // What was found in `frame`.
  virtual absl::StatusOr<Found> Decode(const FramePointer& frame, std::vector<std::byte> found) = 0;
  // How far what was tracked is from what was found.
  virtual absl::StatusOr<double> Drop(const Found& tracked, const Found& found) const = 0;
  // What is tracked from now on; what was so far becomes the older one.
  virtual absl::Status Begin(const FramePointer& frame, Found found) = 0;
  virtual absl::StatusOr<Found> Track(const FramePointer& frame) = 0;
  // The older one, to a frame that is offloaded: there is one.
  virtual absl::StatusOr<Found> TrackOlder(const FramePointer& frame) = 0;

 private:
  // Tracked to a frame that was offloaded, `stride` frames from an answer.
  struct Tracked {
    Found found;
    int stride = 0;
  };
  struct Asked {
    FramePointer frame;
    std::optional<Tracked> near, far;  // by the newest answer and the one before
  };
  absl::StatusOr<std::optional<SeenDrops>> Compare(const Asked& asked, const Found& found) const;

  FramePointer frame_, newest_, older_;  // newest_: that was answered; older_: before it
  std::deque<Asked> asked_;              // ascending
  Found result_{};
  bool tracks_ = false;  // result_ is of frame_
};

// Depth, warped by the motion that the IMU tells. That drifts by centimetres between two answers (docs/ar.md) if the
// velocity is known; so that it is, features are followed from each picture that was answered to the next, at the
// depths that the server found: some 9 ms for an answer.
class TrackedDepth final : public TrackerOf<multitask::DepthPointer> {
 public:
  TrackedDepth(const scene::Intrinsics& camera, DepthCoding coding, const multitask::OdometryTaskOptions& motion)
      : camera_(camera), coding_(coding), features_(multitask::FeatureMotion(camera)), motion_(motion) {}

 private:
  absl::Status Observe(const FramePointer& frame) override;
  void Mark() override { motion_.Offloaded(); }
  absl::StatusOr<multitask::DepthPointer> Decode(const FramePointer&, std::vector<std::byte> found) override;
  absl::StatusOr<double> Drop(const multitask::DepthPointer& tracked,
                              const multitask::DepthPointer& found) const override;
  absl::Status Begin(const FramePointer& frame, multitask::DepthPointer found) override;
  absl::StatusOr<multitask::DepthPointer> Track(const FramePointer& frame) override;
  absl::StatusOr<multitask::DepthPointer> TrackOlder(const FramePointer& frame) override;

  struct Source {
    FramePointer frame;
    multitask::DepthPointer depth;
  };
  absl::StatusOr<multitask::DepthPointer> WarpFrom(const Source& source) const;
  void MeasureMotion();

  const scene::Intrinsics camera_;
  const DepthCoding coding_;
  const multitask::MotionEstimator features_;
  multitask::OdometryTask motion_;
  Source newest_source_, older_source_;
};

class TrackedBoxes final : public TrackerOf<std::vector<scene::Box>> {
 private:
  absl::Status Observe(const FramePointer&) override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<scene::Box>> Decode(const FramePointer&, std::vector<std::byte> found) override;
  absl::StatusOr<double> Drop(const std::vector<scene::Box>& tracked,
                              const std::vector<scene::Box>& found) const override;
  absl::Status Begin(const FramePointer& frame, std::vector<scene::Box> found) override;
  absl::StatusOr<std::vector<scene::Box>> Track(const FramePointer& frame) override;
  // From where it was when the newest answer came: a step over all frames since.
  absl::StatusOr<std::vector<scene::Box>> TrackOlder(const FramePointer& frame) override;

  track::BoxTracker tracker_, older_tracker_;
};

}  // namespace wharf::ar
