#include "wharf/scene/world/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "wharf/base/random.h"

namespace wharf::scene {
namespace {

constexpr int kWidth = 448, kHeight = 128;
constexpr WorldOptions kBusy = {.much_traffic = true, .many_turns = true, .imu = {}};
constexpr WorldOptions kQuiet = {};

const World& Busy() {
  static const World world(5, kBusy);
  return world;
}
const World& Quiet() {
  static const World world(6, kQuiet);
  return world;
}

uint64_t Hash(const std::vector<uint8_t>& bytes) {
  uint64_t hash = bytes.size();
  for (const uint8_t byte : bytes) hash = MixBits(hash ^ byte);
  return hash;
}
uint64_t Hash(const std::vector<float>& numbers) {
  uint64_t hash = numbers.size();
  for (const float number : numbers) hash = MixBits(hash ^ std::bit_cast<uint32_t>(number));
  return hash;
}
uint64_t Hash(const std::vector<double>& numbers) {
  uint64_t hash = numbers.size();
  for (const double number : numbers) hash = MixBits(hash ^ std::bit_cast<uint64_t>(number));
  return hash;
}
uint64_t HashOfBoxes(const Truth& truth) {
  std::vector<float> numbers;
  for (const Box& box : truth.boxes) {
    for (const float number : {box.left, box.top, box.right, box.bottom}) numbers.push_back(number);
    numbers.push_back(box.object_class == ObjectClass::kVehicle ? 0 : 1);
  }
  return Hash(numbers);
}
uint64_t HashOfMotion(const Truth& truth) {
  std::vector<double> numbers(truth.pose.rotation.coeffs().begin(), truth.pose.rotation.coeffs().end());
  for (const Eigen::Vector3d& vector : {truth.pose.position, truth.velocity, truth.angular_velocity}) {
    numbers.insert(numbers.end(), vector.begin(), vector.end());
  }
  numbers.push_back(truth.dynamic_share);
  return Hash(numbers);
}
uint64_t HashOfImu(const World& world) {
  std::vector<double> numbers;
  for (int64_t index = 0; index < World::kFrames; ++index) {
    for (const ImuSample& sample : world.ImuAt(index)) {
      numbers.push_back(sample.time_s);
      numbers.insert(numbers.end(), sample.angular_velocity.begin(), sample.angular_velocity.end());
      numbers.insert(numbers.end(), sample.specific_force.begin(), sample.specific_force.end());
    }
  }
  return Hash(numbers);
}

Eigen::Vector3d OnRay(const Intrinsics& camera, double x, double y, double z) {
  return {(x - camera.cx) / camera.fx * z, (y - camera.cy) / camera.fy * z, z};
}
float DepthAt(const DepthMap& depth, int x, int y) {
  return depth.metres[static_cast<size_t>(y) * static_cast<size_t>(depth.width) + static_cast<size_t>(x)];
}
Eigen::Vector3d InWorld(const Truth& truth, int x, int y) {
  const Intrinsics camera = World::Camera(truth.depth.width, truth.depth.height);
  return truth.pose.rotation * OnRay(camera, x, y, DepthAt(truth.depth, x, y)) + truth.pose.position;
}

// Networks are trained on this world: what it looks like is not to change, on any machine.
TEST(World, LooksAsItDidWhenNetworksWereTrainedOnIt) {
  EXPECT_EQ(Hash(Busy().FrameAt(0, kWidth, kHeight).image.rgb), 6117659419318338601u);
  EXPECT_EQ(Hash(Busy().FrameAt(1234, kWidth, kHeight).image.rgb), 187785914627401297u);
  EXPECT_EQ(Hash(Quiet().FrameAt(777, 832, 256).image.rgb), 12480541775857689584u);
}

TEST(World, IsTrueOfTheSameOnAnyMachine) {
  const Truth busy = Busy().TruthAt(1234, kWidth, kHeight), quiet = Quiet().TruthAt(777, 832, 256);
  EXPECT_EQ(Hash(busy.depth.metres), 1719053151407747404u);
  EXPECT_EQ(HashOfBoxes(busy), 17890732982954953593u);
  EXPECT_EQ(HashOfMotion(busy), 10045254534919586159u);
  EXPECT_EQ(HashOfImu(Busy()), 11557739348546200271u);
  EXPECT_EQ(Hash(quiet.depth.metres), 6905975956616622297u);
  EXPECT_EQ(HashOfBoxes(quiet), 11734772969894684947u);
  EXPECT_EQ(HashOfMotion(quiet), 16980759986360129993u);
  EXPECT_EQ(HashOfImu(Quiet()), 4748985665132546058u);
}

TEST(World, IsTheSameWhateverWasAskedBefore) {
  const World other(5, kBusy);
  const Frame late = other.FrameAt(900, kWidth, kHeight), early = other.FrameAt(30, kWidth, kHeight);
  EXPECT_EQ(Busy().FrameAt(30, kWidth, kHeight).image.rgb, early.image.rgb);
  EXPECT_EQ(Busy().FrameAt(900, kWidth, kHeight).image.rgb, late.image.rgb);
  EXPECT_EQ(Busy().TruthAt(900, kWidth, kHeight).depth.metres, other.TruthAt(900, kWidth, kHeight).depth.metres);
}

TEST(World, DiffersBySeed) {
  EXPECT_NE(World(7, kBusy).FrameAt(0, kWidth, kHeight).image.rgb, Busy().FrameAt(0, kWidth, kHeight).image.rgb);
}

TEST(World, GivesEveryImuSampleOnce) {
  double last = -1;
  size_t count = 0;
  for (int64_t index = 0; index < 100; ++index) {
    const auto samples = Busy().ImuAt(index);
    for (const ImuSample& sample : samples) {
      EXPECT_GT(sample.time_s, last);
      last = sample.time_s;
    }
    count += samples.size();
    EXPECT_NEAR(last, static_cast<double>(index) / World::kFramesPerSecond, 1e-9);
  }
  EXPECT_EQ(count, 1u + 99 * kImuPerFrame);
}

RC_GTEST_PROP(World, NothingLiesBelowTheGround, ()) {
  const Truth truth = Busy().TruthAt(*rc::gen::inRange<int64_t>(0, World::kFrames), kWidth, kHeight);
  for (int y = 0; y < kHeight; y += 3) {
    for (int x = 0; x < kWidth; x += 3) {
      if (DepthAt(truth.depth, x, y) > 0) RC_ASSERT(InWorld(truth, x, y).z() > -0.02);
    }
  }
}

// How pixels of one frame fare in a later one that sees nothing move: their points lie where that one's depth says, or
// behind it.
struct Agreement {
  int seen = 0, same = 0, in_front = 0;
};
Agreement Compare(const Truth& from, const Truth& to) {
  Agreement agreement;
  const Intrinsics camera = World::Camera(kWidth, kHeight);
  for (int y = 4; y < kHeight; y += 5) {
    for (int x = 4; x < kWidth; x += 5) {
      const float depth = DepthAt(from.depth, x, y);
      if (depth <= 0 || depth > 60) continue;
      const Eigen::Vector3d p = to.pose.rotation.conjugate() * (InWorld(from, x, y) - to.pose.position);
      const int u = static_cast<int>(std::round(p.x() / p.z() * camera.fx + camera.cx));
      const int v = static_cast<int>(std::round(p.y() / p.z() * camera.fy + camera.cy));
      if (p.z() < 0.5 || u < 1 || v < 1 || u >= kWidth - 1 || v >= kHeight - 1) continue;
      float nearest = 1e9f, farthest = 0;  // around, as the point is between pixels
      for (int i = -1; i <= 1; ++i) {
        for (int j = -1; j <= 1; ++j) {
          const float there = DepthAt(to.depth, u + i, v + j);
          nearest = std::min(nearest, there > 0 ? there : 1e9f);
          farthest = std::max(farthest, there > 0 ? there : 1e9f);
        }
      }
      ++agreement.seen;
      agreement.same += p.z() > nearest * 0.99 && p.z() < farthest * 1.01;
      agreement.in_front += p.z() < nearest * 0.99;
    }
  }
  return agreement;
}

TEST(World, DepthAgreesWithThePose) {
  Agreement sum;
  for (int64_t index = 20; index < World::kFrames - 20; index += 160) {
    const int64_t stride = 1 + index / 160 % 14;
    const Truth from = Quiet().TruthAt(index, kWidth, kHeight), to = Quiet().TruthAt(index + stride, kWidth, kHeight);
    const Agreement one = Compare(from, to);
    sum = {sum.seen + one.seen, sum.same + one.same, sum.in_front + one.in_front};
  }
  EXPECT_GT(sum.seen, 10'000);
  EXPECT_GT(sum.same, sum.seen * 0.95);      // the others are hidden now
  EXPECT_LT(sum.in_front, sum.seen * 0.02);  // have moved, or are at an edge
}

RC_GTEST_PROP(World, BoxesHoldWhatMoves, ()) {
  const Truth truth = Busy().TruthAt(*rc::gen::inRange<int64_t>(0, World::kFrames), kWidth, kHeight);
  double area = 0;
  for (const Box& box : truth.boxes) {
    RC_ASSERT(box.left >= 0 && box.top >= 0 && box.right <= kWidth && box.bottom <= kHeight);
    RC_ASSERT(box.left < box.right && box.top < box.bottom);
    area += static_cast<double>((box.right - box.left) * (box.bottom - box.top));
  }
  const double dropped = 0.02;  // objects of which hardly any is seen have no box
  RC_ASSERT(area / (kWidth * kHeight) > truth.dynamic_share - dropped);
}

RC_GTEST_PROP(World, VelocityIsThePositionsChange, ()) {
  const double time = *rc::gen::inRange(0, 3900) / 100.0, step = 1e-3;
  const Truth before = Busy().MotionAt(time - step), now = Busy().MotionAt(time), after = Busy().MotionAt(time + step);
  const Eigen::Vector3d velocity = (after.pose.position - before.pose.position) / (2 * step);
  RC_ASSERT((velocity - now.velocity).norm() < 1e-3);
  const Eigen::AngleAxisd turned(before.pose.rotation.conjugate() * after.pose.rotation);
  RC_ASSERT((turned.axis() * turned.angle() / (2 * step) - now.angular_velocity).norm() < 1e-3);
}

// The same camera resized sees the same: the depth along a ray does not depend on the size of the picture.
RC_GTEST_PROP(World, SeesTheSameAtEverySize, ()) {
  const auto index = *rc::gen::inRange<int64_t>(0, World::kFrames);
  const Truth small = Busy().TruthAt(index, kWidth, kHeight), large = Busy().TruthAt(index, 3 * kWidth, 3 * kHeight);
  int different = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {  // the middle of three pixels by three is this one's middle
      const float a = DepthAt(small.depth, x, y), b = DepthAt(large.depth, 3 * x + 1, 3 * y + 1);
      different += std::abs(a - b) > 0.001f * b;
    }
  }
  RC_ASSERT(different < kWidth * kHeight / 500);  // on edges, as numbers are rounded
}

TEST(World, PicturesOfTwoSizesLookAlike) {
  const Image small = Busy().FrameAt(500, 416, 128).image, large = Busy().FrameAt(500, 832, 256).image;
  double difference = 0;
  for (size_t y = 0; y < 128; ++y) {
    for (size_t x = 0; x < 416 * 3; ++x) {
      const size_t at = 2 * y * 832 * 3 + 2 * (x / 3) * 3 + x % 3;
      const double mean =
          (large.rgb[at] + large.rgb[at + 3] + large.rgb[at + 832 * 3] + large.rgb[at + 832 * 3 + 3]) / 4.0;
      difference += std::abs(mean - small.rgb[y * 416 * 3 + x]);
    }
  }
  EXPECT_LT(difference / (416 * 128 * 3), 8);
}

TEST(World, CameraHasAFieldOfViewOfNinetyDegrees) {
  for (const int width : {832, 448, 100}) {
    const Intrinsics camera = World::Camera(width, 64);
    EXPECT_NEAR(std::atan((camera.cx + 0.5) / camera.fx) * 4, std::acos(-1), 1e-9);
    EXPECT_NEAR(camera.cx, (width - 1) / 2.0, 1e-9);
  }
}

}  // namespace
}  // namespace wharf::scene
