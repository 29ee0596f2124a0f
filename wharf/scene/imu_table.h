// imu.csv: time_s,wx,wy,wz,ax,ay,az, a header and a line a sample.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/scene/scene.h"

namespace wharf::scene {

// kInvalidArgument, with the line's number: a line is not seven finite numbers, or its time is not after the one
// before.
absl::StatusOr<std::vector<ImuSample>> ParseImuTable(std::string_view text);

}  // namespace wharf::scene
