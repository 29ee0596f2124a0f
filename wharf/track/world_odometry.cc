#include "wharf/track/world_odometry.h"

#include <cmath>
#include <optional>

#include "wharf/base/mersenne_random.h"
#include "wharf/base/status.h"

namespace wharf::track {
namespace {

using scene::DepthMap;
using scene::Frame;
using scene::Pose;
using scene::World;

constexpr int kNoiseCell = 16;  // pixels

// Noise on a lattice of cells, between whose corners it is interpolated.
class SmoothNoise {
 public:
  SmoothNoise(int width, int height, double sd, uint64_t seed) : columns_(width / kNoiseCell + 2) {
    MersenneRandom random(seed);
    for (int i = columns_ * (height / kNoiseCell + 2); i > 0; --i) values_.push_back(sd * random.Normal());
  }

  double At(int x, int y) const {
    const int column = x / kNoiseCell, row = y / kNoiseCell;
    const double a = (x % kNoiseCell + 0.5) / kNoiseCell, b = (y % kNoiseCell + 0.5) / kNoiseCell;
    const double left = (1 - b) * Corner(column, row) + b * Corner(column, row + 1);
    const double right = (1 - b) * Corner(column + 1, row) + b * Corner(column + 1, row + 1);
    // Interpolation lowers the deviation by sqrt(sum of squared weights).
    return ((1 - a) * left + a * right) / std::sqrt(((1 - a) * (1 - a) + a * a) * ((1 - b) * (1 - b) + b * b));
  }

 private:
  double Corner(int column, int row) const { return values_[static_cast<size_t>(row * columns_ + column)]; }

  int columns_;
  std::vector<double> values_;
};

// A frame that odometry has seen, with its depth by each source.
struct Seen {
  scene::Image image;
  std::vector<DepthMap> depths;
  std::vector<scene::Box> movable;
};

absl::StatusOr<Seen> See(const World& world, int64_t index, std::span<const DepthSource> sources, Landmarks landmarks) {
  Frame frame = world.FrameAt(index, kOdometryWidth, kOdometryHeight);
  Seen seen;
  if (landmarks == Landmarks::kOutsideBoxes) seen.movable = world.TruthAt(index, kOdometryWidth, kOdometryHeight).boxes;
  for (const DepthSource& source : sources) {
    WHARF_ASSIGN_OR_RETURN(DepthMap depth, source(frame, world));
    seen.depths.push_back(std::move(depth));
  }
  seen.image = std::move(frame.image);
  return seen;
}

}  // namespace

DriveRecord RecordOf(const World& world) {
  DriveRecord record;
  for (int64_t index = 0; index < World::kFrames; ++index) {
    record.truth.push_back(world.MotionAt(static_cast<double>(index) / World::kFramesPerSecond).pose);
    record.imu.push_back(world.ImuAt(index));
  }
  record.start_velocity = world.MotionAt(0).velocity;
  return record;
}

DepthMap WithNoise(DepthMap depth, double relative_sd, uint64_t seed) {
  const SmoothNoise noise(depth.width, depth.height, relative_sd, seed);
  for (int y = 0, i = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x, ++i) {
      depth.metres[static_cast<size_t>(i)] *= static_cast<float>(std::exp(noise.At(x, y)));
    }
  }
  return depth;
}

DepthSource TrueDepth() {
  return [](const Frame& frame, const World& world) -> absl::StatusOr<DepthMap> {
    return world.TruthAt(frame.index, frame.image.width, frame.image.height).depth;
  };
}

DepthSource NoisyDepth(double relative_sd, uint64_t seed) {
  return [relative_sd, seed](const Frame& frame, const World& world) -> absl::StatusOr<DepthMap> {
    return WithNoise(world.TruthAt(frame.index, frame.image.width, frame.image.height).depth, relative_sd,
                     seed + static_cast<uint64_t>(frame.index));
  };
}

absl::StatusOr<std::vector<MotionTable>> MeasureMotions(const World& world, std::span<const int> strides,
                                                        std::span<const DepthSource> sources, int64_t frames,
                                                        Landmarks landmarks, const OdometryOptions& options) {
  const scene::Intrinsics camera = World::Camera(kOdometryWidth, kOdometryHeight);
  std::vector<MotionTable> tables(sources.size());
  std::map<int64_t, Seen> seen;  // of the last of the longest strides
  for (int64_t to = 0; to < frames; to += strides.front()) {
    WHARF_ASSIGN_OR_RETURN(seen[to], See(world, to, sources, landmarks));
    for (const int stride : strides) {
      const int64_t from = to - stride;
      if (from < 0 || to % stride != 0) continue;
      for (size_t i = 0; i < sources.size(); ++i) {
        const Seen& first = seen[from];
        tables[i].emplace(std::pair(from, to),
                          EstimateMotion(first.image, first.depths[i], seen[to].image, camera, options, first.movable));
      }
    }
    seen.erase(seen.begin(), seen.upper_bound(to - strides.back()));
  }
  return tables;
}

MeasureMotion From(const MotionTable& table) {
  return [&table](int64_t from, int64_t to) -> absl::StatusOr<MotionEstimate> {
    const auto found = table.find({from, to});
    if (found == table.end()) return Internal("the motion from frame {} to {} was not measured", from, to);
    // Too little depth at the features is one more reason to find nothing.
    if (absl::IsFailedPrecondition(found->second.status())) return NotFound("{}", Message(found->second.status()));
    return found->second;
  };
}

std::vector<Pose> Chained(const MotionTable& table, int stride, int64_t frames, const Pose& start) {
  std::vector<Pose> poses{start};
  Pose motion;
  for (int64_t to = stride; to < frames; to += stride) {
    const auto measured = table.find({to - stride, to});
    if (measured != table.end() && measured->second.ok()) motion = measured->second->motion;
    poses.push_back(poses.back() * motion);
  }
  return poses;
}

}  // namespace wharf::track
