// AgreedTask: a task of an application's own with an agreed accuracy (ARISE), for ar::CoordinatedClient, as ModelTask
// is one for ar::Client, which plans by itself. The server promises it: wharf ar serve --task NAME=MODEL.onnx --promise
// NAME. What it has lost is what Tracker::Loss says.
//
//   FreeSpace tracker;
//   ar::AgreedTask<Profile> free_space(*ar::TaskCalibration::Load("free_space.json"), tracker);
//   ar::AgreeOn(free_space, config);                       // before CoordinatedClient::Open
//   … client->OnFrame(frame);                              // then free_space.result() is that of `frame`
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "wharf/ar/client/coordinated_client.h"
#include "wharf/ar/model_task/task_calibration.h"
#include "wharf/ar/model_task/tracker.h"

namespace wharf::ar {

// Carries a result on by the application's tracker, from frame to frame; that before the newest answer by one step, to
// frames that are offloaded.
class TrackedModel final : public TrackerOf<AnyResult> {
 public:
  // `tracker` must outlive it.
  explicit TrackedModel(AnyTracker& tracker) : tracker_(tracker) {}

 private:
  struct Known {
    FramePointer frame;
    AnyResult result;
  };
  absl::Status Observe(const FramePointer&) override { return absl::OkStatus(); }
  absl::StatusOr<AnyResult> Decode(const FramePointer& frame, std::vector<std::byte> found) override;
  // kInvalidArgument: the tracker's loss is none.
  absl::StatusOr<double> Drop(const AnyResult& tracked, const AnyResult& found) const override;
  absl::Status Begin(const FramePointer& frame, AnyResult found) override;
  absl::StatusOr<AnyResult> Track(const FramePointer& frame) override;
  absl::StatusOr<AnyResult> TrackOlder(const FramePointer& frame) override;
  absl::StatusOr<AnyResult> CarryOn(Known& known, const FramePointer& frame);

  AnyTracker& tracker_;
  Known newest_, older_;
};

// What all of them share.
class AnyAgreedTask {
 public:
  // `tracker` must outlive it, and the client.
  AnyAgreedTask(TaskCalibration calibration, AnyTracker& tracker);
  const TaskCalibration& calibration() const { return calibration_; }
  // What expects to lose rate * stride^exponent until results show otherwise.
  CoordinatedTask ForClient() const;

 protected:
  const AnyResult& AnyResultNow() const { return tracked_->result(); }

 private:
  const TaskCalibration calibration_;
  const std::shared_ptr<TrackedModel> tracked_;
};

template <typename Result>
class AgreedTask final : public AnyAgreedTask {
 public:
  AgreedTask(TaskCalibration calibration, Tracker<Result>& tracker) : AnyAgreedTask(std::move(calibration), tracker) {}

  // Of the frame that the client was given last, or of an older one where its status was not OK; nullptr before the
  // first answer.
  const Result* result() const { return static_cast<const Result*>(AnyResultNow().get()); }
};

// Has the client do it, and nothing else.
void AgreeOn(const AnyAgreedTask& task, CoordinatedClientConfig& config);

}  // namespace wharf::ar
