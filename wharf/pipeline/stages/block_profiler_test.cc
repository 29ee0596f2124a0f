#include "wharf/pipeline/stages/block_profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "wharf/exec/testing.h"
#include "wharf/pipeline/stages/profile_folder.h"
#include "wharf/pipeline/stages/stage_runner.h"
#include "wharf/pipeline/stages/test_network.h"

namespace wharf::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;

// On the CPU, or what WHARF_EXEC_DEVICE says.
const DeviceClass kClass = [] {
  exec::testing::TestEngine();  // skips the whole program where that is not there
  const char* const device = std::getenv("WHARF_EXEC_DEVICE");
  return DeviceClass{.name = "fast", .device = device == nullptr ? "cpu" : device};
}();

std::shared_ptr<const BatchedModel> Load(const exec::Engine& engine, const testing::NetworkShape& shape,
                                         int max_batch) {
  auto model = BatchedModel::Load(engine, testing::MakeNetwork(shape), max_batch);
  EXPECT_TRUE(model.ok()) << ToString(model.status());
  return *std::move(model);
}

Sample RandomFloats(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  Sample sample(bytes);
  for (size_t i = 0; i < bytes; i += sizeof(float)) {
    const float value = std::uniform_real_distribution<float>(-1, 1)(random);
    std::memcpy(&sample[i], &value, sizeof(value));
  }
  return sample;
}

std::vector<float> Floats(const Sample& sample) {
  std::vector<float> floats(sample.size() / sizeof(float));
  std::memcpy(floats.data(), sample.data(), sample.size());
  return floats;
}

std::vector<Sample> RunIn(const std::shared_ptr<const BatchedModel>& model, const std::vector<int>& first_node,
                          std::vector<Sample> samples) {
  const int nodes = static_cast<int>(model->Graph().nodes.size());
  for (size_t i = 0; i < first_node.size(); ++i) {
    const auto stage = StageRunner::Make(model, first_node[i], i + 1 < first_node.size() ? first_node[i + 1] : nodes);
    EXPECT_TRUE(stage.ok()) << ToString(stage.status());
    auto next = (*stage)->Run(samples);
    EXPECT_TRUE(next.ok()) << ToString(next.status());
    samples = *std::move(next);
  }
  return samples;
}

class StageRunnerTest : public ::testing::TestWithParam<bool> {};

// In stages, in batches, and both: what comes out is what the whole model makes of each sample, but for halves.
TEST_P(StageRunnerTest, StagesOfBatchesMakeWhatTheWholeMakesOfEachSample) {
  const auto engine = *MakeEngine(kClass);
  const auto model = Load(*engine, {.any_batch = GetParam()}, 3);
  EXPECT_EQ(model->Together(), GetParam());
  std::vector<Sample> samples;
  for (uint32_t seed = 1; seed <= 3; ++seed) samples.push_back(RandomFloats(3 * 32 * 32 * sizeof(float), seed));
  const std::vector<Sample> staged = RunIn(model, {0, 5, 9}, samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<float> alone = Floats(RunIn(model, {0}, {samples[i]})[0]), ours = Floats(staged[i]);
    ASSERT_EQ(alone.size(), 18u);  // 10 scores and 8 coarse ones
    for (size_t j = 0; j < alone.size(); ++j) EXPECT_NEAR(ours[j], alone[j], 0.01);
  }
}
INSTANTIATE_TEST_SUITE_P(Batches, StageRunnerTest, ::testing::Bool());

// Keeps the graphs that are prepared.
class RecordingEngine final : public exec::Engine {
 public:
  absl::StatusOr<exec::TensorPtr> MakeTensor(const graph::TensorType& type,
                                             std::span<const std::byte> bytes) const override {
    return engine_->MakeTensor(type, bytes);
  }
  absl::StatusOr<std::unique_ptr<exec::Program>> Prepare(graph::Graph graph) const override {
    graphs.push_back(graph);
    return engine_->Prepare(std::move(graph));
  }
  std::string Name() const override { return engine_->Name(); }
  std::string Caution() const override { return engine_->Caution(); }

  mutable std::vector<graph::Graph> graphs;

 private:
  const std::unique_ptr<exec::Engine> engine_ = *MakeEngine(kClass);
};

TEST(BatchedModel, BatchesOfEverySizeHaveTheSameWeights) {
  const RecordingEngine engine;
  Load(engine, {.any_batch = true}, 3);
  ASSERT_THAT(engine.graphs, SizeIs(3));
  int weights = 0;
  for (const graph::Graph& graph : engine.graphs) {
    for (size_t value = 0; value < graph.values.size(); ++value) {
      const auto& constant = graph.values[value].constant;
      if (!constant || constant->type.element != graph::ElementType::kFloat) continue;
      ++weights;
      EXPECT_EQ(constant->bytes, engine.graphs[0].values[value].constant->bytes) << graph.values[value].name;
    }
  }
  EXPECT_GT(weights, 3);
}

TEST(StageRunner, RefusesSamplesAndNodesThatDoNotFit) {
  const auto engine = *MakeEngine(kClass);
  const auto model = Load(*engine, {}, 2);
  EXPECT_EQ(StageRunner::Make(model, 3, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StageRunner::Make(model, 0, 1000).status().code(), absl::StatusCode::kInvalidArgument);
  const auto stage = StageRunner::Make(model, 0, 4);
  ASSERT_TRUE(stage.ok());
  EXPECT_EQ((*stage)->InputBytes(), 3u * 32 * 32 * sizeof(float));
  EXPECT_EQ((*stage)->Run({}).status().code(), absl::StatusCode::kInvalidArgument);
  const Sample good((*stage)->InputBytes()), bad((*stage)->InputBytes() - 1);
  EXPECT_EQ((*stage)->Run(std::vector<Sample>{bad}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*stage)->Run(std::vector<Sample>{good, good, good}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*stage)->Run(std::vector<Sample>{good, good}).status(), absl::OkStatus());
}

TEST(Classes, AreReadAsTheyAreWritten) {
  const auto classes = ParseClasses("fast=threads:2,slow=threads:1,slowdown:2.5,plain");
  EXPECT_EQ(classes.status().code(), absl::StatusCode::kInvalidArgument);  // "plain" is no property of slow
  const auto two = ParseClasses("fast=threads:2,slow=threads:1,slowdown:2.5");
  ASSERT_TRUE(two.ok()) << ToString(two.status());
  ASSERT_THAT(*two, SizeIs(2));
  EXPECT_EQ((*two)[0].Text(), "fast=threads:2,slowdown:1");
  EXPECT_EQ((*two)[1].Text(), "slow=threads:1,slowdown:2.5");
  EXPECT_EQ(ParseClasses("one")->at(0).Text(), "one=threads:1,slowdown:1");
  EXPECT_EQ(ParseClasses("a=slowdown:2,vgpus:3")->at(0).Text(), "a=threads:1,slowdown:2,vgpus:3");
  const auto on_gpus = ParseClasses("a=device:cuda:12,vgpus:2,b=device:cuda,c=device:cpu");
  ASSERT_TRUE(on_gpus.ok()) << ToString(on_gpus.status());
  EXPECT_EQ((*on_gpus)[0].device, "cuda:12");
  EXPECT_EQ((*on_gpus)[0].Text(), "a=threads:1,slowdown:1,vgpus:2,device:cuda:12");
  EXPECT_EQ((*on_gpus)[1].Text(), "b=threads:1,slowdown:1,device:cuda");
  EXPECT_EQ((*on_gpus)[2].Text(), "c=threads:1,slowdown:1");
  for (const char* wrong :
       {"", "=threads:1", "a=threads:0", "a=threads:x", "a=slowdown:0.5", "a=vgpus:5", "a=threads:1,a=threads:2",
        "a=device:", "a=device:auto", "a=device:gpu", "a=device:cuda:", "a=device:cuda:-1", "a=device:cuda:1x"}) {
    EXPECT_EQ(ParseClasses(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(Classes, OnAGpuThatIsNotThereAreRefusedBeforeAnythingIsMeasured) {
  BlockProfilerOptions options;
  options.classes = {kClass, {.name = "absent", .device = "cuda:64"}};
  const absl::Status engine = MakeEngine(options.classes[1]).status();
  EXPECT_EQ(engine.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(engine)), StartsWith("class absent: "));
  EXPECT_EQ(ProfileBlocks("net", {}, options, Clock::Real()).status(), engine);  // not that there is no model
}

class ProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-blocks-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(ProfileTest, WhatIsMeasuredIsWhatThePlannerReads) {
  BlockProfilerOptions options;
  options.blocks = 4;
  options.max_batch = 2;
  options.rounds = 1;
  options.classes = {kClass, {.name = "slow", .slowdown = 2}};
  const auto profile = ProfileBlocks("net", testing::MakeNetwork({}), options, Clock::Real());
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  EXPECT_THAT(profile->first_node, SizeIs(AllOf(Ge(2u), Le(4u))));
  EXPECT_TRUE(profile->together);
  const BlockMap map{"net", "/models/net.onnx", std::string(64, 'a'), profile->first_node, {"fast=threads:1"}};
  ASSERT_EQ(SaveProfile(folder_, *profile, map), absl::OkStatus());
  ASSERT_EQ(SaveProfile(folder_, *profile, map), absl::OkStatus());  // in place of the first
  const auto models = LoadModelProfiles(folder_);
  ASSERT_TRUE(models.ok()) << ToString(models.status());
  ASSERT_THAT(*models, SizeIs(1));
  EXPECT_EQ(models->front().output_bytes, profile->profile.output_bytes);
  for (const char* gpu_class : {"fast", "slow"}) {
    const VgpuProfile* one = models->front().Find(gpu_class, 1);
    ASSERT_NE(one, nullptr);
    ASSERT_EQ(one->MaxBatch(), 2);
    for (const auto& blocks : one->latency_us) EXPECT_THAT(blocks, Each(Gt(0)));
    ASSERT_THAT(one->saved_us, SizeIs(2));
    for (const auto& blocks : one->saved_us) EXPECT_THAT(std::span(blocks).first(blocks.size() - 1), Each(Gt(0)));
  }
  const auto loaded = LoadBlockMap(folder_, "net");
  ASSERT_TRUE(loaded.ok()) << ToString(loaded.status());
  EXPECT_EQ(*loaded, map);
}

TEST_F(ProfileTest, SaysWhatIsWrongWithAFolder) {
  EXPECT_EQ(LoadBlockMap(folder_, "net").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadBlockMap(folder_, "../net").status().code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(folder_ + "/net.blocks.json")
      << R"({"model":"net","onnx":"x","sha256":"y","first_node":[0,3,3],"classes":[]})";
  EXPECT_EQ(LoadBlockMap(folder_, "net").status().code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(folder_ + "/net.blocks.json") << "[1]";
  EXPECT_EQ(LoadBlockMap(folder_, "net").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SaveProfile(folder_, {}, {"a/b", "", "", {}, {}}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ProfileBlocks, NeedsAClassAndAModel) {
  EXPECT_EQ(ProfileBlocks("net", testing::MakeNetwork({}), {}, Clock::Real()).status().code(),
            absl::StatusCode::kInvalidArgument);
  BlockProfilerOptions options;
  options.classes = {kClass};
  const std::vector<std::byte> rubbish(100);
  EXPECT_EQ(ProfileBlocks("net", rubbish, options, Clock::Real()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::pipeline
