#include "wharf/graph/onnx/byte_input.h"

#include <gmock/gmock.h>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/onnx/onnx_text.h"

namespace wharf::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::Pointwise;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr const char* kPlanar = "g (float[1,3,4,5] x) => (float[1,3,4,5] y) { y = Relu (x) }";

std::vector<std::byte> Onnx(const std::string& text, int operator_set = 13) {
  return testing::Bytes(testing::Model(text, operator_set));
}

Graph Changed(const std::string& text, const Normalization& normalization) {
  const auto bytes = WithByteInput(Onnx(text), [&](int64_t) { return normalization; });
  EXPECT_TRUE(bytes.ok()) << ToString(bytes.status());
  auto graph = ImportOnnx(*bytes, {});
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(ByteInput, NormalisesBeforeEverythingElse) {
  const Graph graph = Changed(kPlanar, {{0.5f, 0.25f, 0}, {0.5f, 1, 2}});
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.Type(graph.inputs[0]).Text(), "uint8[1,3,4,5]");
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].op, "Cast");
  const Constant* const scale = graph.ConstantInput(graph.nodes[1], 1);
  const Constant* const offset = graph.ConstantInput(graph.nodes[2], 1);
  ASSERT_TRUE(scale != nullptr && offset != nullptr);
  EXPECT_EQ(scale->type.Text(), "float32[1,3,1,1]");
  EXPECT_THAT(scale->As<float>(), Pointwise(FloatEq(), {1 / 127.5f, 1 / 255.0f, 1 / 510.0f}));
  EXPECT_THAT(offset->As<float>(), Pointwise(FloatEq(), {-1.0f, -0.25f, 0.0f}));
  EXPECT_EQ(graph.nodes[3].op, "Relu");
}

TEST(ByteInput, ChannelsMayLieLast) {
  const Graph graph = Changed("g (float[1,4,5,3] x) => (float[1,4,5,3] y) { y = Relu (x) }", Normalization::Default(3));
  EXPECT_EQ(graph.Type(graph.inputs[0]).Text(), "uint8[1,4,5,3]");
  EXPECT_EQ(graph.ConstantInput(graph.nodes[1], 1)->type.Text(), "float32[1,1,1,3]");
}

TEST(ByteInput, TakesTheOpenBatchAsOne) {
  const Graph graph = Changed("g (float[batch,1,4,5] x) => (float[batch,1,4,5] y) { y = Relu (x) }", {{0}, {1}});
  EXPECT_EQ(graph.Type(graph.inputs[0]).Text(), "uint8[1,1,4,5]");
}

TEST(ByteInput, IsTheSameEveryTime) {
  const auto model = Onnx(kPlanar);
  const auto plain = [](int64_t) { return Normalization{{0}, {1}}; };
  EXPECT_EQ(*WithByteInput(model, Normalization::Default), *WithByteInput(model, Normalization::Default));
  EXPECT_NE(*WithByteInput(model, Normalization::Default), *WithByteInput(model, plain));
}

TEST(ByteInput, LeavesAModelOfBytesAsItIs) {
  const auto model = Onnx("g (uint8[1,3,4,5] x) => (uint8[1,3,4,5] y) { y = Identity (x) }");
  EXPECT_EQ(*WithByteInput(model, Normalization::Default), model);
}

TEST(ByteInput, RefusesWhatIsNoImage) {
  const auto refused = [](const std::string& text) {
    return WithByteInput(Onnx(text), Normalization::Default).status().code();
  };
  EXPECT_EQ(refused("g (float[1,7] x) => (float[1,7] y) { y = Relu (x) }"), kInvalid);
  EXPECT_EQ(refused("g (float[2,3,4,4] x) => (float[2,3,4,4] y) { y = Relu (x) }"), kInvalid);
  EXPECT_EQ(refused("g (int64[1,3,4,4] x) => (int64[1,3,4,4] y) { y = Abs (x) }"), kInvalid);
  EXPECT_EQ(refused("g (float[1,3,4,4] x, float[1] z) => (float[1,3,4,4] y) { y = Add (x, z) }"), kInvalid);
  EXPECT_EQ(WithByteInput(std::vector<std::byte>(9, std::byte{255}), Normalization::Default).status(),
            InvalidArgument("this is no ONNX model"));
  EXPECT_EQ(WithByteInput(Onnx(kPlanar, 6), Normalization::Default).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ByteInput, RefusesNormalisationsOfOtherChannels) {
  for (const Normalization& wrong : std::vector<Normalization>{
           {{0, 0}, {1}}, {{0}, {1, 1}}, {{}, {1}}, {{0}, {0}}, {{0}, {-1}}, {{NAN}, {1}}, {{0}, {INFINITY}}}) {
    EXPECT_EQ(PixelMapOf(wrong, 3).status().code(), kInvalid);
  }
  const auto map = PixelMapOf({{0.5f}, {0.5f}}, 2);
  ASSERT_TRUE(map.ok());
  EXPECT_THAT(map->scale, ElementsAre(FloatEq(1 / 127.5f), FloatEq(1 / 127.5f)));
}

}  // namespace
}  // namespace wharf::graph
