// Experiment: videos of the synthetic world seen by many systems at once, and how good what each had for every frame
// was (thesis 2.8). Time is virtual: offloads and accuracy models take what a profile says, while networks, trackers
// and models run for real on every frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/multitask/client.h"
#include "wharf/multitask/experiment/calibration.h"
#include "wharf/multitask/experiment/sight.h"
#include "wharf/scene/world/world.h"

namespace wharf::multitask {

struct System {
  std::string policy;           // as ParseSystemPolicy takes it
  std::vector<double> weights;  // of the tasks, where the policy plans by them; else empty
  OffloadProfile profile;
};

struct SystemPolicy {
  Policy policy;
  bool depth_known = false;  // estimates of depth are the truth (known_depth.h)
  bool uncorrected = false;  // the lite network's drop is estimated as in the thesis
  bool depth_fused = false;  // with the lite network's map, between answers
};
// As ParsePolicy; "+known" behind: with depth_known, "-published": uncorrected, "+fusion": depth_fused.
// kInvalidArgument also for "-published" of what uses no estimates.
absl::StatusOr<SystemPolicy> ParseSystemPolicy(std::string_view name, int tasks);

// What one system did on one video. Drops and errors are fractions; 0 where nothing was measured.
struct Score {
  double abs_rel = 0;                            // of depth, mean over frames
  double t_err = 0;                              // of odometry
  double box_error = 0;                          // 1 - mean IoU, mean over frames; with three tasks
  double depth_stride = 0, odometry_stride = 0;  // mean over frames, as the client has them
  double depth_share = 0, odometry_share = 0;    // of the offloads
  double lite_share = 0;                         // of the frames, that the lite network served
  // Accuracy models against what was lost in truth, on sampled frames: mean absolute error, mean of what was lost, and
  // Pearson's correlation. Of systems that use them.
  double tracker_estimate_error = 0, tracker_drop = 0, tracker_correlation = 0;
  double lite_estimate_error = 0, lite_drop = 0, lite_correlation = 0;
  double decision_us = 0, decision_us_most = 0;  // real time
  double lost = 0, refused = 0, failed_results = 0;
};
struct ScoreField {
  const char* name;
  double Score::*value;
};
// Every one, by the name it has in outputs.
const std::vector<ScoreField>& ScoreFields();

// Of one system, frame by frame (thesis, Figure 2.15).
struct Timeline {
  std::vector<double> depth_rate, odometry_rate;  // estimated drop rates
  std::vector<double> tracker_drop, lite_drop;    // of depth, estimated
  // The same in truth, not below 0; -1 on frames that were not sampled, and of a tracker whose result was not used.
  std::vector<double> tracker_lost, lite_lost;
  std::vector<double> offload_ratio;  // depth's over odometry's among the last 8 offloads; -1 before the first 8
  std::vector<double> lite;           // 1 where the lite network served
  std::vector<double> abs_rel;        // mean of the last 16 frames
  std::vector<scene::Pose> poses;
};

struct SystemResult {
  Score score;
  Timeline timeline;  // empty unless asked for
};

struct ExperimentOptions {
  int width = 448, height = 128;
  int64_t frames = scene::World::kFrames;
  int tasks = 2;  // depth and odometry; 3: and boxes
  bool oracle = false;
  bool timelines = false;
  int64_t estimate_every = 8;  // frames, at which accuracy models are held against the truth
};

// All of `systems` on the first frames of `world`, side by side. Fails as the networks do, and where a system is none.
absl::StatusOr<std::vector<SystemResult>> RunVideo(const scene::World& world, const std::vector<System>& systems,
                                                   const Networks& networks, const Calibration& calibration,
                                                   const ExperimentOptions& options);

}  // namespace wharf::multitask
