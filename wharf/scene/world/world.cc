#include "wharf/scene/world/world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "wharf/base/random.h"
#include "wharf/scene/visible.h"
#include "wharf/scene/world/city.h"
#include "wharf/scene/world/drive.h"
#include "wharf/scene/world/painter.h"
#include "wharf/scene/world/products.h"
#include "wharf/scene/world/rasterizer.h"
#include "wharf/scene/world/shadow.h"
#include "wharf/scene/world/sin_cos.h"
#include "wharf/scene/world/traffic.h"

namespace wharf::scene {
namespace {

using Eigen::Vector2f;
using Eigen::Vector3f;

constexpr double kFarthestMover = 220;  // metres

Weather MakeWeather(uint64_t seed) {
  Random random(seed, 61);
  const SineCosine around = SinCos(random.Uniform(0, 6.28)), up = SinCos(random.Uniform(0.55, 1.0));
  const auto light = [&](double low, double high) { return static_cast<float>(random.Uniform(low, high)); };
  Weather weather;
  weather.sun = Eigen::Vector3d(up.cosine * around.cosine, up.cosine * around.sine, up.sine).cast<float>();
  const float strength = light(0.35, 0.7);
  weather.sunlight = Tint(1.05f, 1.0f, 0.92f) * strength;
  weather.skylight = Tint(0.94f, 0.98f, 1.06f) * (1.0f - 0.6f * strength);
  weather.haze = Tint(196, 206, 216) * light(0.92, 1.05);
  weather.visibility = light(220, 420);
  return weather;
}

TrafficOptions MakeTraffic(bool much, uint64_t seed) {
  Random random(seed, 62);
  TrafficOptions options;
  options.oncoming_gap_s = much ? random.Uniform(1.4, 2.2) : random.Uniform(8, 14);
  options.beside = much ? 3 + random.ScaledBelow(3) : 0;
  options.leader = much;
  options.crossing_chance = much ? 0.7 : 0.15;
  options.walkers_per_100m = much ? random.Uniform(25, 45) : random.Uniform(2, 5);
  options.crossers_per_100m = much ? 0 : 0.4;
  options.parked_chance = much ? random.Uniform(0.15, 0.4) : random.Uniform(0.03, 0.08);
  return options;
}

Streets MakeStreets(bool many_turns, uint64_t seed) {
  return many_turns ? Streets(MixBits(seed, 63), 52, 88) : Streets(MixBits(seed, 63), 75, 135);
}

Route MakeRoute(const Streets& streets, bool many_turns, uint64_t seed) {
  const double metres = 13 * World::kSeconds + 150;
  if (many_turns) return PlanRoute(streets, {.lane = kOuterLane, .turns_per_junction = 0.62, .metres = metres}, seed);
  return PlanRoute(streets, {.lane = kOuterLane, .turns_per_junction = 0.15, .most_turns = 1, .metres = metres}, seed);
}

DriveOptions MakeDrive(bool many_turns, uint64_t seed) {
  Random random(seed, 65);
  return {.cruise_mps = many_turns ? random.Uniform(9, 11.5) : random.Uniform(9, 12), .glances = many_turns};
}

std::vector<Block> BuildBlocks(const Streets& streets, const Route& route, uint64_t seed, const Vector3f& sun) {
  std::vector<Block> blocks;
  for (int column = 0; column + 1 < Streets::kCount; ++column) {
    for (int row = 0; row + 1 < Streets::kCount; ++row) {
      double nearest = std::numeric_limits<double>::max();
      for (double station = 0; station < route.path.Length(); station += 15) {
        const Eigen::Vector2d at = route.path.At(station).position;
        const auto outside = [](double low, double x, double high) { return std::max({low - x, 0.0, x - high}); };
        const double x = outside(streets.Line(0, column), at.x(), streets.Line(0, column + 1));
        const double y = outside(streets.Line(1, row), at.y(), streets.Line(1, row + 1));
        nearest = std::min(nearest, x * x + y * y);
      }
      if (nearest < kFarthest * kFarthest) blocks.push_back(BuildBlock(streets, column, row, MixBits(seed, 66), sun));
    }
  }
  return blocks;
}

// A camera of `samples` times as many pixels along each axis.
Intrinsics Finer(int width, int height, int samples) { return World::Camera(width * samples, height * samples); }

}  // namespace

struct World::Parts {
  Parts(uint64_t world_seed, const WorldOptions& options);

  void Draw(Rasterizer& to, double time_s, bool shadows) const;
  std::vector<const Block*> FromNearToFar(const Vector3f& from) const;
  void DrawMover(Rasterizer& to, const Mover& mover, uint32_t object, double time_s, bool shadows) const;

  const uint64_t seed;
  const Weather weather;
  const Streets streets;
  const Route route;
  const Drive drive;
  const Painter painter;
  const std::vector<Block> blocks;
  const std::vector<Shape> shapes;
  const std::vector<Mover> movers;
  const std::vector<ImuSample> imu;
};

World::Parts::Parts(uint64_t world_seed, const WorldOptions& options)
    : seed(world_seed),
      weather(MakeWeather(seed)),
      streets(MakeStreets(options.many_turns, seed)),
      route(MakeRoute(streets, options.many_turns, seed)),
      drive(route, MakeDrive(options.many_turns, seed), kSeconds, seed),
      painter(streets, weather, seed),
      blocks(BuildBlocks(streets, route, seed, weather.sun)),
      shapes(BuildShapes(seed)),
      movers(PlanTraffic(route, drive, kOuterLane, MakeTraffic(options.much_traffic, seed), kSeconds, seed)),
      imu(MeasureImu(drive, options.imu, kFrames * kImuPerFrame, seed)) {}

void World::Parts::DrawMover(Rasterizer& to, const Mover& mover, uint32_t object, double time_s, bool shadows) const {
  const Vector3f at = Eigen::Vector3d(mover.x.At(time_s), mover.y.At(time_s), 0).cast<float>();
  if (SquaredNorm(at - to.Viewed().position) > kFarthestMover * kFarthestMover) return;
  size_t number = mover.shape;
  if (mover.stride_m > 0) {
    const double cycles = (time_s + 2) * mover.speed_mps / mover.stride_m;
    number += static_cast<size_t>(cycles * kSteps) % kSteps;
  }
  const Shape& shape = shapes[number];
  const float reach = std::max({shape.high.x(), -shape.low.x(), shape.high.y(), -shape.low.y()}) * 1.5f;
  const float high = shape.high.z();
  const Vector3f around = Vector3f::Constant(reach + (shadows ? high * 2 : 0));
  if (!to.MayBeSeen(at - around, at + around + Vector3f(0, 0, high))) return;
  const SineCosine heading = SinCos(mover.heading.At(time_s));
  for (const Face& face : shape.mesh.faces) {
    const Face placed = Placed(face, heading, at);
    to.Draw(placed, LightOn(weather, placed.normal), mover.tint, object);
  }
  if (!shadows) return;
  std::vector<Vector2f> corners;
  for (const auto& [x, y] : {std::pair{shape.low.x(), shape.low.y()},
                             {shape.high.x(), shape.low.y()},
                             {shape.high.x(), shape.high.y()},
                             {shape.low.x(), shape.high.y()}}) {
    const auto cosine = static_cast<float>(heading.cosine), sine = static_cast<float>(heading.sine);
    corners.emplace_back(at.x() + cosine * x - sine * y, at.y() + sine * x + cosine * y);
  }
  to.DrawShadow(ShadowOf(corners, high * 0.9f, weather.sun));
}

// Those near hide most of those far, which then need not be drawn.
std::vector<const Block*> World::Parts::FromNearToFar(const Vector3f& from) const {
  std::vector<std::pair<float, const Block*>> by_distance;
  for (const Block& block : blocks) {
    by_distance.emplace_back(SquaredNorm(from.cwiseMax(block.low).cwiseMin(block.high) - from), &block);
  }
  std::sort(by_distance.begin(), by_distance.end());
  std::vector<const Block*> sorted;
  for (const auto& [distance, block] : by_distance) sorted.push_back(block);
  return sorted;
}

void World::Parts::Draw(Rasterizer& to, double time_s, bool shadows) const {
  for (size_t i = 0; i < movers.size(); ++i) DrawMover(to, movers[i], static_cast<uint32_t>(i + 1), time_s, shadows);
  for (const Block* block : FromNearToFar(to.Viewed().position)) {
    const Vector3f reach = Vector3f(1, 1, 0) * (shadows ? 25.0f : 0.0f);
    if (!to.MayBeSeen(block->low - reach, block->high + reach)) continue;
    for (const Face& face : block->mesh.faces) to.Draw(face, LightOn(weather, face.normal), Tint::Ones(), 0);
    if (!shadows) continue;
    for (const auto& shadow : block->shadows) to.DrawShadow(shadow);
  }
}

World::World(uint64_t seed, const WorldOptions& options) : parts_(std::make_unique<Parts>(seed, options)) {}
World::~World() = default;
World::World(World&&) noexcept = default;

Intrinsics World::Camera(int width, int height) {
  return Resized({.width = 832, .height = 256, .fx = 416, .fy = 416, .cx = 415.5, .cy = 127.5}, width, height);
}

Frame World::FrameAt(int64_t index, int width, int height) const {
  const double time_s = static_cast<double>(index) / kFramesPerSecond;
  Frame frame{.index = index, .time_s = time_s};
  Rasterizer seen(View(Finer(width, height, kSamples), parts_->drive.PoseAt(time_s)), kHorizon);
  parts_->Draw(seen, time_s, true);
  Random random(parts_->seed, 67);
  const double slow = random.Uniform(0.15, 0.4), fast = random.Uniform(0.6, 1.1);
  const double gain =
      random.Uniform(0.92, 1.05) + 0.07 * SinCos(slow * time_s).sine + 0.02 * SinCos(fast * time_s).cosine;
  frame.image = parts_->painter.Paint(
      seen, {static_cast<float>(gain), MixBits(parts_->seed, static_cast<uint64_t>(index) + 1000)});
  frame.imu = ImuAt(index);
  return frame;
}

std::vector<ImuSample> World::ImuAt(int64_t index) const {
  const int64_t first = index == 0 ? 0 : (index - 1) * kImuPerFrame + 1;
  return {parts_->imu.begin() + first, parts_->imu.begin() + index * kImuPerFrame + 1};
}

Truth World::MotionAt(double time_s) const {
  const Drive& drive = parts_->drive;
  return {.pose = drive.PoseAt(time_s),
          .velocity = drive.Velocity(time_s),
          .angular_velocity = drive.AngularVelocity(time_s)};
}

Truth World::TruthAt(int64_t index, int width, int height) const {
  const double time_s = static_cast<double>(index) / kFramesPerSecond;
  Truth truth = MotionAt(time_s);
  Rasterizer seen(View(Camera(width, height), truth.pose), kHorizon);
  parts_->Draw(seen, time_s, false);
  const size_t pixels = seen.InverseDepths().size();
  truth.depth = {width, height, std::vector<float>(pixels)};
  std::vector<uint32_t> objects(pixels);
  for (size_t i = 0; i < pixels; ++i) {
    const float inverse = seen.InverseDepths()[i];
    truth.depth.metres[i] = inverse > 0 ? 1 / inverse : 0;
    objects[i] = seen.At(seen.SurfaceNumbers()[i]).object;
  }
  std::vector<ObjectClass> classes;
  for (const Mover& mover : parts_->movers) classes.push_back(mover.object_class);
  Visible visible = FindVisible(objects, width, classes);
  truth.boxes = std::move(visible.boxes);
  truth.dynamic_share = visible.dynamic_share;
  return truth;
}

}  // namespace wharf::scene
