// Odometry on videos of the synthetic world: what the tables of docs/benchmarks/ar.md are made from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/world/world.h"
#include "wharf/track/filter_trajectory.h"
#include "wharf/track/odometry.h"

namespace wharf::track {

inline constexpr int kOdometryWidth = 448, kOdometryHeight = 128;

// Poses and IMU samples of a whole video.
DriveRecord RecordOf(const scene::World& world);

// A depth map as a network might err on it: each value times exp(n), where n is noise of standard deviation
// `relative_sd` that changes smoothly over some 16 pixels. Unknown stays unknown.
scene::DepthMap WithNoise(scene::DepthMap depth, double relative_sd, uint64_t seed);

// The depth map that odometry is given for a frame, from its picture or from the truth.
using DepthSource =
    std::function<absl::StatusOr<scene::DepthMap>(const scene::Frame& frame, const scene::World& world)>;
DepthSource TrueDepth();
DepthSource NoisyDepth(double relative_sd, uint64_t seed);

// What odometry measured between frames k * stride and (k + 1) * stride of a video, or why not.
using MotionTable = std::map<std::pair<int64_t, int64_t>, absl::StatusOr<MotionEstimate>>;

// What odometry goes by.
enum class Landmarks {
  kAll,
  kOutsideBoxes,  // not by what is in the true boxes of vehicles and people
};

// One table a source, of all strides (increasing, each a multiple of the first), over the frames below `frames`; every
// picture is rendered once. Fails as a source does.
absl::StatusOr<std::vector<MotionTable>> MeasureMotions(const scene::World& world, std::span<const int> strides,
                                                        std::span<const DepthSource> sources, int64_t frames,
                                                        Landmarks landmarks, const OdometryOptions& options = {});

// For FilterTrajectory. kInternal for a pair that is not in the table, which must outlive it.
MeasureMotion From(const MotionTable& table);

// Odometry alone: the poses of frames 0, stride, ..., each from the one before; where nothing was found the motion
// before goes on.
std::vector<scene::Pose> Chained(const MotionTable& table, int stride, int64_t frames, const scene::Pose& start);

}  // namespace wharf::track
