#include "wharf/multitask/offload_profile.h"

#include <algorithm>
#include <cmath>

#include "wharf/base/status.h"

namespace wharf::multitask {
namespace {

// Measured in the thesis (2.8.3): end to end, and of that on the GPU.
constexpr double kDepthMs = 70.98, kDepthGpuMs = 50.39, kOdometryMs = 61.05, kOdometryGpuMs = 53.73;
constexpr double kFlowMs = 66.15;  // the depth tracker's accuracy model, on the phone; odometry's takes next to nothing
// 2.8.6: the same on an A40.
constexpr double kDepthA40Ms = 39.66, kOdometryA40Ms = 50.56;
// 2.8.1, 2.7: what 5G mmWave takes longer than 802.11ac: round trips of 14 ms instead of 3, and a raw frame of 448 x
// 128 (12 bits a pixel) at 152 Mbit/s up instead of 550. Down, both were limited by the 550 of 802.11ac.
constexpr double kFrameMbit = 448 * 128 * 12 / 1e6;
constexpr double kFiveGMs = (14 - 3) + 1e3 * kFrameMbit * (1 / 152.0 - 1 / 550.0);
// Detection is not in the thesis's chapter: the median inference of Meta's detection models, which 2.2 quotes, and the
// network's share of odometry, which sends a frame and little back.
constexpr double kBoxesMs = 52.5 + kOdometryMs - kOdometryGpuMs;

OffloadProfile Profile(std::string name, std::string source, double depth_ms, double odometry_ms, double boxes_ms) {
  return {std::move(name),
          std::move(source),
          {{"depth", depth_ms, kFlowMs}, {"odometry", odometry_ms, 0}, {"boxes", boxes_ms, 0}}};
}

std::vector<OffloadProfile> Profiles() {
  return {
      Profile("thesis", "802.11ac and RTX 2080 Ti, measured by the thesis (2.8.3)", kDepthMs, kOdometryMs, kBoxesMs),
      Profile("thesis-5g", "5G mmWave and RTX 2080 Ti, derived from the thesis's 2.8.1 and 2.8.3", kDepthMs + kFiveGMs,
              kOdometryMs + kFiveGMs, kBoxesMs + kFiveGMs),
      Profile("thesis-a40", "802.11ac and A40, derived from the thesis's 2.8.3 and 2.8.6",
              kDepthMs - kDepthGpuMs + kDepthA40Ms, kOdometryMs - kOdometryGpuMs + kOdometryA40Ms, kBoxesMs)};
}

}  // namespace

const TaskLatency* OffloadProfile::Find(std::string_view task) const {
  const auto found = std::find_if(tasks.begin(), tasks.end(), [&](const TaskLatency& one) { return one.task == task; });
  return found == tasks.end() ? nullptr : &*found;
}

absl::StatusOr<OffloadProfile> NamedProfile(std::string_view name) {
  for (OffloadProfile& profile : Profiles()) {
    if (profile.name == name) return std::move(profile);
  }
  return NotFound("no latencies are called \"{}\"; there are {}", name, fmt::join(ProfileNames(), ", "));
}

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const OffloadProfile& profile : Profiles()) names.push_back(profile.name);
  return names;
}

int LatencyFrames(double ms, double frames_per_s) {
  return std::max(1, static_cast<int>(std::ceil(ms * frames_per_s / 1e3 - 1e-9)));
}

}  // namespace wharf::multitask
