// What the committed networks are worth, on frames of the calibration split, which nothing was trained on. The bounds
// leave room for other processors' rounding; docs/benchmarks/ar.md has the figures themselves.
#include <gtest/gtest.h>

#include <vector>

#include "wharf/exec/torch_engine.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detection_counts.h"
#include "wharf/perception/detector.h"
#include "wharf/scene/world/videos.h"
#include "wharf/track/metrics.h"

namespace wharf::perception {
namespace {

constexpr int kWidth = 448, kHeight = 128, kFramesPerVideo = 3;
constexpr float kLeastHeight = 8;  // pixels
constexpr double kServerAbsRel = 0.16, kLiteAbsRel = 0.20, kRecall = 0.3, kPrecision = 0.5;

const exec::Engine& Engine() {
  static const std::unique_ptr<exec::Engine> kEngine = exec::MakeTorchEngine({.threads = 1});
  return *kEngine;
}

struct Sample {
  scene::Image image;
  scene::Truth truth;
};

// Of a video of each category.
const std::vector<Sample>& Samples() {
  static const auto kSamples = [] {
    std::vector<Sample> samples;
    for (const scene::Category& category : scene::kCategories) {
      const auto video = scene::FindVideo(category, 0, scene::Split::kCalibration);
      EXPECT_TRUE(video.ok()) << ToString(video.status());
      const scene::World world(video->seed, video->Options());
      for (int i = 1; i <= kFramesPerVideo; ++i) {
        const int64_t index = scene::World::kFrames * i / (kFramesPerVideo + 1);
        samples.push_back({world.FrameAt(index, kWidth, kHeight).image, world.TruthAt(index, kWidth, kHeight)});
      }
    }
    return samples;
  }();
  return kSamples;
}

double MeanAbsRel(const std::string& name) {
  const auto network = DepthNetwork::Load(Engine(), WHARF_AR_NETWORKS "/" + name, {});
  EXPECT_TRUE(network.ok()) << ToString(network.status());
  double sum = 0;
  for (const Sample& sample : Samples()) {
    const auto estimate = network->Estimate(sample.image);
    EXPECT_TRUE(estimate.ok()) << ToString(estimate.status());
    sum += track::AbsRel(*estimate, sample.truth.depth).value();
  }
  return sum / static_cast<double>(Samples().size());
}

TEST(CommittedNetworks, ServerDepthIsGoodAndBetterThanLiteDepth) {
  const double server = MeanAbsRel("depth.onnx"), lite = MeanAbsRel("lite.onnx");
  RecordProperty("server_abs_rel", std::to_string(server));
  RecordProperty("lite_abs_rel", std::to_string(lite));
  EXPECT_LT(server, kServerAbsRel);
  EXPECT_LT(lite, kLiteAbsRel);
  EXPECT_LT(server, lite);
}

TEST(CommittedNetworks, DetectorFindsWhatIsThereAndLittleElse) {
  const auto detector = Detector::Load(Engine(), WHARF_AR_NETWORKS "/detector.onnx", {});
  ASSERT_TRUE(detector.ok()) << ToString(detector.status());
  DetectionCounts counts;
  for (const Sample& sample : Samples()) {
    const auto boxes = detector->Detect(sample.image);
    ASSERT_TRUE(boxes.ok()) << ToString(boxes.status());
    counts += CountDetections(*boxes, sample.truth.boxes, {.least_height = kLeastHeight});
  }
  EXPECT_GT(counts.truths, 50);
  EXPECT_GT(counts.Recall(), kRecall) << counts.matches << " of " << counts.truths;
  EXPECT_GT(counts.Precision(), kPrecision) << counts.matches << " of " << counts.detections;
}

TEST(CommittedNetworks, MakeOfABatchWhatTheyMakeOfItsImages) {
  constexpr int kBatch = 4;
  const auto depth = DepthNetwork::Load(Engine(), WHARF_AR_NETWORKS "/depth.onnx", {.largest_batch = kBatch});
  const auto detector = Detector::Load(Engine(), WHARF_AR_NETWORKS "/detector.onnx", {.largest_batch = kBatch});
  ASSERT_TRUE(depth.ok() && detector.ok()) << ToString(depth.status()) << ToString(detector.status());
  std::vector<scene::Image> images;
  for (int i = 0; i < kBatch; ++i) images.push_back(Samples()[3 * i].image);
  const auto maps = depth->Estimate(images);
  const auto boxes = detector->Detect(images);
  ASSERT_TRUE(maps.ok() && boxes.ok()) << ToString(maps.status()) << ToString(boxes.status());
  for (int i = 0; i < kBatch; ++i) {
    const scene::DepthMap alone = depth->Estimate(images[i]).value();
    for (size_t pixel = 0; pixel < alone.metres.size(); ++pixel) {
      ASSERT_NEAR((*maps)[i].metres[pixel], alone.metres[pixel], 1e-3 * alone.metres[pixel]) << "image " << i;
    }
    EXPECT_GT(track::MeanIou((*boxes)[i], detector->Detect(images[i]).value()), 0.9);  // one may be on the threshold
  }
}

}  // namespace
}  // namespace wharf::perception
