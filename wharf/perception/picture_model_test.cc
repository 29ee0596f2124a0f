#include "wharf/perception/picture_model.h"

#include <gmock/gmock.h>

#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/onnx_text.h"

namespace wharf::perception {
namespace {

using scene::Image;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const exec::Engine& Engine() {
  static const std::unique_ptr<exec::Engine> kEngine = exec::MakeTorchEngine({.threads = 1});
  return *kEngine;
}

std::vector<std::byte> Onnx(const std::string& text) { return graph::testing::Bytes(graph::testing::Model(text)); }
absl::StatusOr<PictureModel> Load(const std::string& text) { return PictureModel::Load(Engine(), Onnx(text)); }

// The mean of every colour, and that without what is behind the point.
std::string Means(const std::string& element) {
  return "g (" + element + R"([batch,3,2,4] image) => (float[batch,3] means, int64[batch,3] whole) {
    numbers = Cast <to = 1> (image)
    means = ReduceMean <axes = [2, 3], keepdims = 0> (numbers)
    whole = Cast <to = 7> (means)
  })";
}

Image Plain(int width, int height, uint8_t red, uint8_t green, uint8_t blue) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), {red, green, blue});
  return image;
}

TEST(PictureModel, GivesEveryOutputAsItIs) {
  const auto model = Load(Means("uint8"));
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  EXPECT_EQ(model->Width(), 4);
  EXPECT_EQ(model->Height(), 2);
  ASSERT_EQ(model->Outputs().size(), 2u);
  EXPECT_EQ(model->Outputs()[0].Text(), "float32[1,3]");
  const auto outputs = model->Run(Plain(4, 2, 10, 20, 30));
  ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_THAT((*outputs)[0].As<float>(), ElementsAre(10, 20, 30));
  EXPECT_THAT((*outputs)[1].As<int64_t>(), ElementsAre(10, 20, 30));
}

TEST(PictureModel, StretchesPicturesOfAnySize) {
  const auto model = Load(Means("uint8"));
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  for (const auto& [width, height] : {std::pair{1, 1}, {40, 30}, {3, 50}}) {
    const auto outputs = model->Run(Plain(width, height, 1, 2, 3));
    ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
    EXPECT_THAT((*outputs)[0].As<float>(), ElementsAre(1, 2, 3));
  }
}

TEST(PictureModel, NormalisesForModelsOfFloatsAsTorchvisionDoes) {
  const auto model = Load(Means("float"));
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  const auto outputs = model->Run(Plain(4, 2, 0, 255, 0));
  ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
  const auto means = (*outputs)[0].As<float>();
  EXPECT_NEAR(means[0], -0.485 / 0.229, 1e-4);
  EXPECT_NEAR(means[1], (1 - 0.456) / 0.224, 1e-4);
}

TEST(PictureModel, RefusesWhatDoesNotLookAtOnePicture) {
  EXPECT_EQ(Load("g (uint8[1,5,2,4] x) => (uint8[1,5,2,4] y) { y = Identity (x) }").status().code(), kInvalid);
  EXPECT_EQ(Load("g (uint8[1,3,2,4] a, uint8[1,3,2,4] b) => (uint8[1,6,2,4] y) { y = Concat <axis = 1> (a, b) }")
                .status()
                .code(),
            kInvalid);
  const auto open = Load("g (uint8[batch,3,height,width] x) => (uint8[batch,3,height,width] y) { y = Identity (x) }");
  EXPECT_EQ(open.status().code(), kInvalid);
  EXPECT_THAT(std::string(open.status().message()), HasSubstr("export it for pictures of a size"));
  EXPECT_EQ(PictureModel::Load(Engine(), std::vector<std::byte>(100, std::byte{7})).status().code(), kInvalid);
  EXPECT_EQ(PictureModel::LoadFile(Engine(), "/nowhere.onnx").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::perception
