// ModelTask: a task of an application's own, beside depth, pose and boxes: a model that the server was given (wharf ar
// serve --task NAME=MODEL.onnx), a tracker of the application's (tracker.h), and what calibration says of both. The
// same scheduler decides for all of them.
//
//   FreeSpace tracker;
//   ar::ModelTask<Profile> free_space(*ar::TaskCalibration::Load("free_space.json"), tracker);
//   ar::AddTask(free_space, config);                       // before Client::Open
//   … client->OnFrame(frame);                              // then free_space.result() is that of `frame`
#pragma once

#include <optional>
#include <string_view>

#include "wharf/ar/client/client.h"
#include "wharf/ar/model_task/task_calibration.h"
#include "wharf/ar/model_task/tracker.h"

namespace wharf::ar {

// What all of them share.
class AnyModelTask : public multitask::Task {
 public:
  // `tracker` must outlive it.
  AnyModelTask(TaskCalibration calibration, AnyTracker& tracker);

  const TaskCalibration& calibration() const { return calibration_; }
  std::string_view name() const override { return calibration_.task; }
  bool has_local_algorithm() const override { return tracker_.HasLocalAlgorithm(); }
  absl::Status Observe(const multitask::FramePointer& frame) override;
  // kInvalidArgument: no model's answer. kNotFound: not asked for. Else what the tracker says of it.
  absl::Status Accept(int64_t frame, const multitask::Answer& answer) override;
  void Offloaded() override;
  // As calibrated, times what answers have lately shown in place of what was expected of them.
  multitask::AccuracyEstimate estimate() const override;
  // Before the first answer there is no result.
  absl::Status Track() override;
  absl::Status RunLocalAlgorithm() override;

  // The stride of the result: frames since the frame that the newest answer is about. -1: none yet.
  int64_t Stride() const;

 protected:
  const AnyResult& AnyResultNow() const { return result_; }

 private:
  struct Known {
    multitask::FramePointer frame;
    AnyResult result;
  };
  struct Asked {
    multitask::FramePointer frame;
    AnyResult tracked, local;  // of the frame by these, where it was made so
    int64_t stride = 0;
  };
  void Compare(const Asked& asked, const AnyResult& fresh);

  const TaskCalibration calibration_;
  AnyTracker& tracker_;
  multitask::FramePointer frame_;
  std::optional<Asked> asked_;
  std::optional<Known> tracked_;        // what tracking goes on from
  std::optional<int64_t> newest_;       // the newest answer's frame
  double expected_ = 0, measured_ = 0;  // what was lost in the last frames asked for, fading sums
  double local_drop_;
  AnyResult result_;
};

template <typename Result>
class ModelTask final : public AnyModelTask {
 public:
  ModelTask(TaskCalibration calibration, Tracker<Result>& tracker) : AnyModelTask(std::move(calibration), tracker) {}

  // Of the frame that was observed last, or of an older one where its status was not OK; nullptr before the first.
  const Result* result() const { return static_cast<const Result*>(AnyResultNow().get()); }
};

// Has the client do it, besides what it does already. The task must outlive the client.
void AddTask(AnyModelTask& task, ClientConfig& config);

}  // namespace wharf::ar
