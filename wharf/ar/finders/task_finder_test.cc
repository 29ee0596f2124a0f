// Models of an operator's own as tasks; what the built-in networks find is the e2e tests' affair.
#include "wharf/ar/finders/task_finder.h"

#include <gmock/gmock.h>

#include "wharf/ar/result_coding.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/onnx_text.h"

namespace wharf::ar {
namespace {

using ::testing::ElementsAre;

const exec::Engine& Engine() {
  static const std::unique_ptr<exec::Engine> kEngine = exec::MakeTorchEngine({.threads = 1});
  return *kEngine;
}

// The mean of every colour, `times` over.
perception::PictureModel MeansModel(const std::string& times) {
  auto model = perception::PictureModel::Load(Engine(), graph::testing::Bytes(graph::testing::Model(
                                                            R"(g (uint8[1,3,2,4] image) => (float[1,3] scaled) {
    numbers = Cast <to = 1> (image)
    means = ReduceMean <axes = [2, 3], keepdims = 0> (numbers)
    times = Constant <value = float {)" + times + R"(}> ()
    scaled = Mul (means, times)
  })")));
  EXPECT_TRUE(model.ok()) << ToString(model.status());
  return *std::move(model);
}

Hello HelloFor(const std::string& models, uint8_t tasks) {
  Hello hello;
  hello.tasks = tasks;
  hello.models = models;
  hello.width = 40;
  hello.height = 20;
  hello.fx = hello.fy = 20;
  EXPECT_TRUE(CheckHello(hello).ok());
  return hello;
}

std::shared_ptr<const scene::Frame> Plain(uint8_t red, uint8_t green, uint8_t blue) {
  auto frame = std::make_shared<scene::Frame>();
  frame->image = {40, 20, {}};
  for (int i = 0; i < 40 * 20; ++i) frame->image.rgb.insert(frame->image.rgb.end(), {red, green, blue});
  return frame;
}

TEST(TaskFinder, RunsTheModelsThatAClientNamesInItsOrder) {
  const perception::PictureModel one = MeansModel("1"), two = MeansModel("2");
  Networks networks;
  networks.models = {{"one", &one}, {"two", &two}};
  const auto finder = MakeTaskFinder(HelloFor("two,one", 0b11000), networks);
  ASSERT_TRUE(finder.ok()) << ToString(finder.status());
  for (const auto& [place, times] : {std::pair{0, 2.0f}, {1, 1.0f}}) {
    const Finding found = (*finder)->Find(ModelTaskAt(place), Plain(1, 2, 3));
    ASSERT_TRUE(found.ok()) << ToString(found.status());
    const auto outputs = DecodeOutputs(*found);
    ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
    ASSERT_EQ(outputs->size(), 1u);
    EXPECT_THAT((*outputs)[0].As<float>(), ElementsAre(times, 2 * times, 3 * times));
  }
  EXPECT_EQ((*finder)->Find(ModelTaskAt(2), Plain(1, 2, 3)).status().code(), absl::StatusCode::kInternal);
}

TEST(TaskFinder, SaysWhichTasksThereAre) {
  EXPECT_EQ(MakeTaskFinder(HelloFor("mine", 0b1000), {}).status(),
            FailedPrecondition("this server has no task mine: start it with --task mine=MODEL.onnx"));
  const perception::PictureModel model = MeansModel("1");
  Networks networks;
  networks.models = {{"hands", &model}, {"masks", &model}};
  EXPECT_EQ(MakeTaskFinder(HelloFor("hands,mine", 0b11000), networks).status(),
            FailedPrecondition("this server has no task mine: of its own it has hands, masks"));
  EXPECT_EQ(MakeTaskFinder(HelloFor("hands", 0b1001), networks).status().code(),
            absl::StatusCode::kFailedPrecondition);  // and no network for depth
}

TEST(CheckModelTask, WantsANameAndOutputsThatTravel) {
  const perception::PictureModel model = MeansModel("1");
  EXPECT_TRUE(CheckModelTask("mine", model).ok());
  EXPECT_EQ(CheckModelTask("depth", model).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckModelTask("../mine", model).code(), absl::StatusCode::kInvalidArgument);
  const auto large = perception::PictureModel::Load(
      Engine(),
      graph::testing::Bytes(graph::testing::Model(
          R"(g (uint8[1,3,2048,2048] image) => (float[1,3,2048,2048] numbers) { numbers = Cast <to = 1> (image) })")));
  ASSERT_TRUE(large.ok()) << ToString(large.status());
  EXPECT_EQ(CheckModelTask("mine", *large).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::ar
