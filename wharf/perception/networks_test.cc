// Loading and running of small models written by hand; what the trained ones are worth is accuracy_test.cc's.
#include <gmock/gmock.h>

#include <thread>

#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/onnx_text.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"

namespace wharf::perception {
namespace {

using scene::DepthMap;
using scene::Image;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int kWidth = 4, kHeight = 2;

// Depth is red, in metres.
std::string RedDepth(const std::string& batch) {
  return "g (uint8[" + batch + ",3,2,4] image) => (float[" + batch + R"(,1,2,4] depth) {
    numbers = Cast <to = 1> (image)
    red, green, blue = Split <axis = 1> (numbers)
    depth = Identity (red)
  })";
}
const std::string kRedDepth = RedDepth("batch");  // NOLINT(cert-err58-cpp)
// One cell: a vehicle with red as its score in 1/256, and a box from (green, 0) to (blue, 2); a person with score 0.
constexpr const char* kOneVehicle =
    R"(g (uint8[batch,3,2,4] image) => (float[batch,2,1,1] scores, float[batch,4,1,1] boxes) {
  numbers = Cast <to = 1> (image)
  mean = ReduceMean <axes = [2, 3], keepdims = 1> (numbers)
  red, green, blue = Split <axis = 1> (mean)
  part = Constant <value = float {0.00390625}> ()
  zero = Constant <value = float {0}> ()
  two = Constant <value = float {2}> ()
  score = Mul (red, part)
  nothing = Mul (red, zero)
  bottom = Add (nothing, two)
  scores = Concat <axis = 1> (score, nothing)
  boxes = Concat <axis = 1> (green, nothing, blue, bottom)
})";

const exec::Engine& Engine() {
  static const std::unique_ptr<exec::Engine> kEngine = exec::MakeTorchEngine({.threads = 1});
  return *kEngine;
}

std::vector<std::byte> Onnx(const std::string& text) { return graph::testing::Bytes(graph::testing::Model(text)); }

absl::StatusOr<DepthNetwork> LoadDepth(const std::string& text, int largest_batch = 1) {
  return DepthNetwork::Load(Engine(), Onnx(text), {.largest_batch = largest_batch});
}

absl::StatusOr<Detector> LoadDetector(const std::string& text, int largest_batch = 1) {
  return Detector::Load(Engine(), Onnx(text), {.largest_batch = largest_batch});
}

Image Plain(uint8_t red, uint8_t green, uint8_t blue) {
  Image image{kWidth, kHeight, {}};
  for (int i = 0; i < kWidth * kHeight; ++i) image.rgb.insert(image.rgb.end(), {red, green, blue});
  return image;
}

TEST(DepthNetwork, EstimatesEveryPixelInItsPlace) {
  const auto network = LoadDepth(kRedDepth);
  ASSERT_TRUE(network.ok()) << ToString(network.status());
  Image image = Plain(1, 2, 3);
  for (int i = 0; i < kWidth * kHeight; ++i) image.rgb[3 * i] = static_cast<uint8_t>(10 + i);
  const auto depth = network->Estimate(image);
  ASSERT_TRUE(depth.ok()) << ToString(depth.status());
  EXPECT_EQ(depth->width, kWidth);
  EXPECT_EQ(depth->height, kHeight);
  EXPECT_THAT(depth->metres, ElementsAre(10, 11, 12, 13, 14, 15, 16, 17));
}

TEST(DepthNetwork, EstimatesABatchAsItsImagesOneByOne) {
  const auto network = LoadDepth(kRedDepth, 3);
  ASSERT_TRUE(network.ok()) << ToString(network.status());
  const std::vector<Image> images = {Plain(7, 0, 0), Plain(8, 0, 0), Plain(9, 0, 0)};
  for (size_t batch = 1; batch <= images.size(); ++batch) {
    const auto maps = network->Estimate(std::span(images).first(batch));
    ASSERT_TRUE(maps.ok()) << ToString(maps.status());
    ASSERT_THAT(*maps, SizeIs(batch));
    for (size_t i = 0; i < batch; ++i) EXPECT_EQ((*maps)[i].metres, network->Estimate(images[i])->metres);
  }
}

TEST(DepthNetwork, KnowsNoDepthThatIsNotPositiveAndFinite) {
  const auto network = LoadDepth(R"(g (uint8[batch,3,2,4] image) => (float[batch,1,2,4] depth) {
    numbers = Cast <to = 1> (image)
    red, green, blue = Split <axis = 1> (numbers)
    depth = Div (red, green)
  })");
  ASSERT_TRUE(network.ok()) << ToString(network.status());
  Image image = Plain(6, 2, 0);
  image.rgb[1] = 0;                 // 6 / 0
  image.rgb[3] = image.rgb[4] = 0;  // 0 / 0
  image.rgb[6] = 0;                 // 0 / 2
  const auto depth = network->Estimate(image);
  ASSERT_TRUE(depth.ok()) << ToString(depth.status());
  EXPECT_THAT(depth->metres, ElementsAre(0, 0, 0, 3, 3, 3, 3, 3));
}

TEST(DepthNetwork, RefusesImagesItWasNotMadeFor) {
  const auto network = LoadDepth(kRedDepth, 2);
  ASSERT_TRUE(network.ok()) << ToString(network.status());
  EXPECT_EQ(network->Estimate(Image{kHeight, kWidth, Plain(0, 0, 0).rgb}).status().code(), kInvalid);
  EXPECT_EQ(network->Estimate(Image{kWidth, kHeight, {1, 2, 3}}).status().code(), kInvalid);
  EXPECT_EQ(network->Estimate(std::vector<Image>(3, Plain(0, 0, 0))).status().code(), kInvalid);
  EXPECT_EQ(network->Estimate(std::span<const Image>()).status().code(), kInvalid);
}

TEST(DepthNetwork, RefusesModelsThatAreNone) {
  EXPECT_EQ(LoadDepth(kOneVehicle).status().code(), kInvalid);
  EXPECT_EQ(LoadDepth(kRedDepth, 0).status().code(), kInvalid);
  EXPECT_EQ(LoadDepth(kRedDepth, kLargestBatch + 1).status().code(), kInvalid);
  // Floats in; one colour; a batch that is not free; two channels of depth.
  EXPECT_EQ(LoadDepth("g (float[batch,3,2,4] x) => (float[batch,3,2,4] y) { y = Relu (x) }").status().code(), kInvalid);
  EXPECT_EQ(LoadDepth("g (uint8[batch,1,2,4] x) => (float[batch,1,2,4] y) { y = Cast <to = 1> (x) }").status().code(),
            kInvalid);
  EXPECT_EQ(LoadDepth("g (uint8[batch,3,2,4] x) => (float[batch,3,2,4] y) { y = Cast <to = 1> (x) }").status().code(),
            kInvalid);
  EXPECT_TRUE(LoadDepth(RedDepth("1"), 1).ok());
  EXPECT_EQ(LoadDepth(RedDepth("1"), 2).status().code(), kInvalid);
}

TEST(DepthNetwork, NamesTheFileThatIsNotThere) {
  const auto network = DepthNetwork::Load(Engine(), "no/such.onnx", {});
  EXPECT_EQ(network.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(network.status())), ::testing::HasSubstr("no/such.onnx"));
}

TEST(DepthNetwork, IsRunByManyThreadsAtOnce) {
  const auto network = LoadDepth(kRedDepth, 2);
  ASSERT_TRUE(network.ok()) << ToString(network.status());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const Image image = Plain(static_cast<uint8_t>(thread + 1), 0, 0);
      for (int i = 0; i < 20; ++i) {
        const auto maps = network->Estimate(std::vector<Image>(1 + i % 2, image));
        ASSERT_TRUE(maps.ok()) << ToString(maps.status());
        ASSERT_EQ(maps->back().metres, std::vector<float>(kWidth * kHeight, static_cast<float>(thread + 1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Detector, DetectsInEveryImageOfABatch) {
  const auto detector = LoadDetector(kOneVehicle, 3);
  ASSERT_TRUE(detector.ok()) << ToString(detector.status());
  const std::vector<Image> images = {Plain(128, 1, 3), Plain(0, 0, 4), Plain(192, 0, 2)};
  const auto boxes = detector->Detect(images);
  ASSERT_TRUE(boxes.ok()) << ToString(boxes.status());
  ASSERT_THAT(*boxes, SizeIs(3));
  ASSERT_THAT((*boxes)[0], SizeIs(1));
  EXPECT_EQ((*boxes)[0][0].left, 1);
  EXPECT_EQ((*boxes)[0][0].right, 3);
  EXPECT_EQ((*boxes)[0][0].bottom, 2);
  EXPECT_EQ((*boxes)[0][0].score, 0.5F);
  EXPECT_EQ((*boxes)[0][0].object_class, scene::ObjectClass::kVehicle);
  EXPECT_THAT((*boxes)[1], IsEmpty());
  ASSERT_THAT((*boxes)[2], SizeIs(1));
  EXPECT_EQ((*boxes)[2][0].score, 0.75F);
}

TEST(Detector, DropsWhatScoresTooLittle) {
  const auto detector = Detector::Load(Engine(), Onnx(kOneVehicle), {.decode = {.least_score = 0.6F}});
  ASSERT_TRUE(detector.ok()) << ToString(detector.status());
  EXPECT_THAT(*detector->Detect(Plain(128, 1, 3)), IsEmpty());
  EXPECT_THAT(*detector->Detect(Plain(192, 1, 3)), SizeIs(1));
}

TEST(Detector, RefusesModelsThatAreNone) {
  EXPECT_EQ(LoadDetector(kRedDepth).status().code(), kInvalid);
  EXPECT_EQ(Detector::Load(Engine(), "no/such.onnx", {}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::perception
