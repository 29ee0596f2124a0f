// Contender: one system on one video: its client, its server halves, and what its results are worth.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "wharf/multitask/experiment/experiment.h"
#include "wharf/multitask/experiment/known_depth.h"
#include "wharf/multitask/virtual_workers.h"

namespace wharf::multitask {

// Pairs of numbers that should be alike.
class Comparison {
 public:
  void Add(double estimate, double actual);
  double MeanError() const;  // of the absolute difference
  double MeanActual() const;
  double Correlation() const;  // Pearson's; 0 if one side does not vary

 private:
  int64_t count_ = 0;
  double error_ = 0, x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;  // sums
};

class Contender {
 public:
  // What is shared by all of a video; outlives the contenders.
  struct Stage {
    const scene::World& world;
    const Calibration& calibration;
    const ExperimentOptions& options;
    Sight& sight;
    const scene::Truth& truth;  // of the frame at hand
    VirtualClock& clock;
  };
  static absl::StatusOr<std::unique_ptr<Contender>> Make(const System& system, const Stage& stage);
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  absl::Status OnFrame(const FramePointer& frame);
  // kFailedPrecondition: the way was too short for t_err.
  absl::StatusOr<SystemResult> Finish(const std::vector<scene::Pose>& truth);

 private:
  Contender(const Stage& stage, const SystemPolicy& policy);
  std::vector<Task*> Tasks();
  std::vector<TaskServer*> Servers();
  absl::Status Start(const System& system);
  absl::Status CompareEstimates(const FramePointer& frame, const TaskReport& depth, double abs_rel);
  void Record(const FrameReport& report, double abs_rel);

  const Stage stage_;
  const SystemPolicy policy_;
  OdometryTask odometry_;
  DepthTask depth_;
  KnownDepth known_depth_;  // the same, for systems that know what it loses
  BoxesTask boxes_;
  DepthServer depth_server_;
  OdometryServer odometry_server_;
  BoxesServer boxes_server_;
  std::unique_ptr<VirtualOffloader> offloader_;
  std::unique_ptr<VirtualBackground> background_;
  std::optional<Client> client_;

  int64_t frames_ = 0, depth_frames_ = 0, odometry_frames_ = 0, lite_frames_ = 0;  // the middle two: with an answer
  Score sums_;
  Comparison tracker_, lite_;
  double tracker_lost_ = -1, lite_lost_ = -1;  // on the frame at hand, as Timeline has them
  std::vector<scene::Pose> poses_;
  std::deque<int> last_offloads_;
  std::deque<double> last_errors_;
  Timeline timeline_;
};

}  // namespace wharf::multitask
