// How a client begins a drive through the synthetic world: it knows where it is, and its IMU's data sheet.
#pragma once

#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/scene/world/world.h"
#include "wharf/track/metrics.h"

namespace wharf::multitask {

// Starts from the truth of frame 0, as after standing still; t_err compares motions, so that where it starts matters to
// nothing else. Noise and offsets are expected to be as the data sheet says.
OdometryTaskOptions OdometryIn(const scene::World& world, const scene::ImuErrors& imu,
                               const track::OdometryAccuracyModel& accuracy);

// KITTI's segments for as long a way as whole videos go; shorter for shorter ones, in proportion.
track::SegmentOptions SegmentsOf(int64_t frames);

}  // namespace wharf::multitask
