#include "wharf/ar/result_coding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wharf::ar {
namespace {

constexpr int kWidth = 64, kHeight = 32;

// A slope from 1 m at the bottom to 60 m, and a thing that stands 4 m away.
scene::DepthMap Street() {
  scene::DepthMap depth{kWidth, kHeight, {}};
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool thing = x > 20 && x < 30 && y > 8 && y < 24;
      depth.metres.push_back(thing ? 4.0f : 60.0f / static_cast<float>(y + 1));
    }
  }
  return depth;
}

double MeanRelativeError(const scene::DepthMap& a, const scene::DepthMap& truth) {
  double sum = 0;
  for (size_t i = 0; i < a.metres.size(); ++i) sum += std::abs(a.metres[i] - truth.metres[i]) / truth.metres[i];
  return sum / static_cast<double>(a.metres.size());
}

absl::StatusCode CodeOfDepth(std::vector<std::byte> bytes, DepthCoding coding, int width = kWidth) {
  return DecodeDepth(std::move(bytes), coding, width, kHeight).status().code();
}

std::vector<std::byte> Cut(std::vector<std::byte> bytes, size_t by) {
  bytes.resize(bytes.size() - by);
  return bytes;
}

TEST(DepthCoding, HalvesKeepElevenBits) {
  const scene::DepthMap street = Street();
  const auto depth = DecodeDepth(EncodeDepth(street, DepthCoding::kHalf), DepthCoding::kHalf, kWidth, kHeight);
  ASSERT_TRUE(depth.ok()) << ToString(depth.status());
  for (size_t i = 0; i < street.metres.size(); ++i)
    EXPECT_LE(std::abs(depth->metres[i] - street.metres[i]), street.metres[i] / 2048) << i;
}

TEST(DepthCoding, AJpegIsSmallerAndNearlyRight) {
  const scene::DepthMap street = Street();
  const auto bytes = EncodeDepth(street, DepthCoding::kJpeg);
  EXPECT_LT(bytes.size(), sizeof(uint16_t) * street.metres.size());
  const auto depth = DecodeDepth(bytes, DepthCoding::kJpeg, kWidth, kHeight);
  ASSERT_TRUE(depth.ok()) << ToString(depth.status());
  EXPECT_LT(MeanRelativeError(*depth, street), 0.03);
}

TEST(DepthCoding, WhatIsUnknownStaysUnknown) {
  scene::DepthMap nothing{kWidth, kHeight, std::vector<float>(kWidth * kHeight)};
  for (const DepthCoding coding : {DepthCoding::kHalf, DepthCoding::kJpeg}) {
    const auto depth = DecodeDepth(EncodeDepth(nothing, coding), coding, kWidth, kHeight);
    ASSERT_TRUE(depth.ok()) << ToString(depth.status());
    EXPECT_EQ(depth->metres, nothing.metres);
  }
}

TEST(DepthCoding, RefusesWhatIsNoMap) {
  for (const DepthCoding coding : {DepthCoding::kHalf, DepthCoding::kJpeg}) {
    const auto bytes = EncodeDepth(Street(), coding);
    EXPECT_EQ(CodeOfDepth({}, coding), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(CodeOfDepth(std::vector<std::byte>(700, std::byte{7}), coding), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(CodeOfDepth(bytes, coding, 2 * kWidth), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(CodeOfDepth(Cut(EncodeDepth(Street(), DepthCoding::kHalf), 1), DepthCoding::kHalf),
            absl::StatusCode::kInvalidArgument);
  for (const float wrong : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    scene::DepthMap map = Street();
    map.metres[100] = wrong;
    EXPECT_EQ(CodeOfDepth(EncodeDepth(map, DepthCoding::kHalf), DepthCoding::kHalf),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(BoxCoding, ComesBackAsItWas) {
  const std::vector<scene::Box> boxes = {{1, 2, 3.5f, 4, scene::ObjectClass::kPerson, 0.25f}, {}};
  const auto back = DecodeBoxes(EncodeBoxes(boxes));
  ASSERT_TRUE(back.ok()) << ToString(back.status());
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].right, 3.5f);
  EXPECT_EQ((*back)[0].object_class, scene::ObjectClass::kPerson);
  EXPECT_EQ((*back)[0].score, 0.25f);
}

TEST(BoxCoding, RefusesWhatIsNoBoxes) {
  const auto bytes = EncodeBoxes(std::vector<scene::Box>(2));
  EXPECT_EQ(DecodeBoxes(Cut(bytes, 1)).status().code(), absl::StatusCode::kInvalidArgument);
  auto unknown_class = bytes;
  unknown_class.back() = std::byte{9};
  EXPECT_EQ(DecodeBoxes(unknown_class).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<scene::Box> endless = {{.right = std::numeric_limits<float>::infinity()}};
  EXPECT_EQ(DecodeBoxes(EncodeBoxes(endless)).status().code(), absl::StatusCode::kInvalidArgument);
}

graph::Constant Numbers(graph::Shape shape, const std::vector<float>& values) {
  return graph::Constant::Of<float>(graph::ElementType::kFloat, std::move(shape), values);
}

TEST(OutputsCoding, ComeBackBitForBit) {
  std::vector<float> values;
  for (int i = 0; i < 600; ++i) values.push_back(std::sin(static_cast<float>(i) / 10));
  values.back() = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int64_t> labels = {3, -1, std::numeric_limits<int64_t>::max()};
  const std::vector<graph::Constant> outputs = {Numbers({1, 2, 10, 30}, values),
                                                graph::Constant::Of<int64_t>(graph::ElementType::kInt64, {3}, labels),
                                                Numbers({}, {7}), Numbers({4, 0}, {})};
  const auto back = DecodeOutputs(EncodeOutputs(outputs));
  ASSERT_TRUE(back.ok()) << ToString(back.status());
  ASSERT_EQ(back->size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ((*back)[i].type, outputs[i].type);
    EXPECT_EQ(*(*back)[i].bytes, *outputs[i].bytes);
  }
}

TEST(OutputsCoding, RefusesWhatIsNoAnswer) {
  const auto code = [](const std::vector<std::byte>& bytes) { return DecodeOutputs(bytes).status().code(); };
  const std::vector<std::byte> good = EncodeOutputs(std::vector{Numbers({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(DecodeOutputs(good).ok());
  for (size_t by = 1; by <= good.size(); ++by) EXPECT_EQ(code(Cut(good, by)), absl::StatusCode::kInvalidArgument) << by;
  constexpr size_t kElement = 4, kFirstSide = 9;  // a count, then the first output's type, rank and sides
  for (const size_t place : {kElement, kFirstSide, kFirstSide + 4, kFirstSide + 7}) {
    std::vector<std::byte> other = good;
    other[place] = std::byte{0x88};  // no type; 136, 2^39 and minus 2^59 rows
    EXPECT_EQ(code(other), absl::StatusCode::kInvalidArgument) << place;
  }
  const std::vector<graph::Constant> many(kMaxOutputs + 1, Numbers({}, {1}));
  EXPECT_EQ(code(EncodeOutputs(many)), absl::StatusCode::kInvalidArgument);
  const std::vector<graph::TensorType> large(2, {graph::ElementType::kUint8, {kMaxOutputBytes / 2 + 1}});
  EXPECT_EQ(CheckOutputs(large).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckOutputs(std::span(large).first(1)).ok());
}

TEST(MotionCoding, ComesBackAsItWas) {
  Motion motion{.from = 41};
  motion.estimate.motion.rotation = Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitY());
  motion.estimate.motion.position = {0.1, -0.2, 0.9};
  motion.estimate.covariance *= 0.01;
  motion.estimate.inliers = 77;
  const auto back = DecodeMotion(EncodeMotion(motion));
  ASSERT_TRUE(back.ok()) << ToString(back.status());
  EXPECT_EQ(back->from, 41);
  EXPECT_EQ(back->estimate.motion.rotation.coeffs(), motion.estimate.motion.rotation.coeffs());
  EXPECT_EQ(back->estimate.motion.position, motion.estimate.motion.position);
  EXPECT_EQ(back->estimate.covariance, motion.estimate.covariance);
  EXPECT_EQ(back->estimate.inliers, 77);
}

TEST(MotionCoding, RefusesWhatIsNoMotion) {
  const auto code = [](const Motion& motion) { return DecodeMotion(EncodeMotion(motion)).status().code(); };
  Motion stretched, certain, lost;
  stretched.estimate.motion.rotation.coeffs() *= 2;
  certain.estimate.covariance.setZero();
  lost.estimate.motion.position.x() = std::numeric_limits<double>::quiet_NaN();
  for (const Motion& motion : {stretched, certain, lost}) EXPECT_EQ(code(motion), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeMotion(Cut(EncodeMotion({}), 1)).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::byte> without_scale = EncodeMotion({});
  without_scale.back() = std::byte{0};
  EXPECT_EQ(DecodeMotion(without_scale).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::ar
