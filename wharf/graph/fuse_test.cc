#include "wharf/graph/fuse.h"

#include <gmock/gmock.h>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/onnx/onnx_text.h"

namespace wharf::graph {
namespace {

using ::testing::ElementsAre;

// Imported, and so fused.
Graph Fused(const std::string& text) {
  auto graph = ImportOnnx(testing::Bytes(testing::Model(text)), {});
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  return graph.ok() ? *std::move(graph) : Graph();
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

// The nodes between x of 2 x 3 x 4 and y, with constants that GELU has, and another.
std::vector<std::string> Gelu(const std::string& nodes) {
  return Names(Fused(R"(g (float[2,3,4] x) => (float[2,3,4] y) {
    root = Constant <value = float {1.4142135}> ()
    inverse = Constant <value = float {0.70710677}> ()
    one = Constant <value = float {1.0}> ()
    half = Constant <value = float {0.5}> ()
    )" + nodes + "}"));
}

TEST(Fuse, GeluAsExportersWriteIt) {
  const std::string erf = "d = Div (x, root)  e = Erf (d)  s = Add (e, one) ";
  EXPECT_THAT(Gelu(erf + "p = Mul (x, s)  y = Mul (p, half)"), ElementsAre("Gelu"));
  EXPECT_THAT(Gelu(erf + "p = Mul (s, x)  y = Mul (half, p)"), ElementsAre("Gelu"));
  EXPECT_THAT(Gelu(erf + "h = Mul (x, half)  y = Mul (h, s)"), ElementsAre("Gelu"));
  EXPECT_THAT(Gelu(erf + "h = Mul (half, s)  y = Mul (x, h)"), ElementsAre("Gelu"));
  EXPECT_THAT(Gelu("d = Mul (inverse, x)  e = Erf (d)  s = Add (one, e)  p = Mul (x, s)  y = Mul (p, half)"),
              ElementsAre("Gelu"));
}

TEST(Fuse, WhatIsNearlyGeluStaysAsItIs) {
  const auto stays = ElementsAre("Div", "Erf", "Add", "Mul", "Mul");
  EXPECT_THAT(Gelu("d = Div (x, one)  e = Erf (d)  s = Add (e, one)  p = Mul (x, s)  y = Mul (p, half)"), stays);
  EXPECT_THAT(Gelu("d = Div (x, root)  e = Erf (d)  s = Add (e, half)  p = Mul (x, s)  y = Mul (p, half)"), stays);
  EXPECT_THAT(Gelu("d = Div (x, root)  e = Erf (d)  s = Add (e, one)  p = Mul (d, s)  y = Mul (p, half)"), stays);
  EXPECT_THAT(Gelu("d = Div (x, root)  e = Erf (d)  s = Add (e, one)  p = Mul (x, s)  y = Mul (p, root)"), stays);
}

TEST(Fuse, ALinearLayerWithItsBias) {
  const auto layer = [](const std::string& sum) {
    return Names(
        Fused("g (float[2,3,4] x) => (float[2,3,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}, float[2] b = {1,2}, "
              "float[3,2] c = {1,2,3,4,5,6}> { p = MatMul (x, w)  " +
              sum + " }"));
  };
  EXPECT_THAT(layer("y = Add (p, b)"), ElementsAre("Linear"));
  EXPECT_THAT(layer("y = Add (b, p)"), ElementsAre("Linear"));
  EXPECT_THAT(layer("y = Add (p, c)"), ElementsAre("MatMul", "Add"));
  EXPECT_THAT(layer("y = Add (p, p)"), ElementsAre("MatMul", "Add"));
}

Graph Attention(const std::string& nodes) {
  return Fused(R"(g (float[2,5,4] q, float[2,6,4] k, float[2,6,3] v) => (float[2,5,3] y) {
    four = Constant <value = float {4.0}> ()
    )" + nodes +
               "}");
}

TEST(Fuse, AttentionAndItsScale) {
  const std::string end = "w = Softmax <axis = -1> (s)  y = MatMul (w, v)";
  for (const std::string scaled : {"d = Div (q, four)  s = MatMul (d, t)", "p = MatMul (q, t)  s = Div (p, four)"}) {
    const Graph graph = Attention("t = Transpose <perm = [0, 2, 1]> (k)  " + scaled + "  " + end);
    ASSERT_THAT(Names(graph), ElementsAre("Attention"));
    EXPECT_THAT(graph.nodes[0].inputs, ElementsAre(graph.inputs[0], graph.inputs[1], graph.inputs[2]));
    EXPECT_EQ(graph.nodes[0].Float("scale", 0), 0.25F);
  }
  const Graph both = Attention(
      "t = Transpose <perm = [0, 2, 1]> (k)  a = Mul (q, four)  b = Mul (t, four)  s = MatMul (a, b)  " + end);
  ASSERT_THAT(Names(both), ElementsAre("Attention"));
  EXPECT_EQ(both.nodes[0].Float("scale", 0), 16.0F);
}

TEST(Fuse, KeysThatComeTurnedAreTurnedBack) {
  const Graph graph = Fused(R"(g (float[2,5,4] q, float[2,4,6] t, float[2,6,3] v) => (float[2,5,3] y) {
    s = MatMul (q, t)  w = Softmax <axis = 2> (s)  y = MatMul (w, v) })");
  ASSERT_THAT(Names(graph), ElementsAre("Transpose", "Attention"));
  EXPECT_EQ(graph.Type(graph.nodes[1].inputs[1]).Text(), "float32[2,6,4]");
  EXPECT_TRUE(Validate(graph).ok());
}

TEST(Fuse, AttentionWhoseWeightsOthersReadStaysAsItIs) {
  const std::string turned = "t = Transpose <perm = [0, 2, 1]> (k)  s = MatMul (q, t)  ";
  EXPECT_THAT(Names(Attention(turned + "w = Softmax <axis = 1> (s)  y = MatMul (w, v)")),
              ElementsAre("Transpose", "MatMul", "Softmax", "MatMul"));
  EXPECT_THAT(Names(Attention(turned + "w = Softmax <axis = -1> (s)  p = MatMul (w, v)  m = ReduceMax (w)  "
                                       "y = Mul (p, m)")),
              ElementsAre("Transpose", "MatMul", "Softmax", "MatMul", "ReduceMax", "Mul"));
}

TEST(SplitAttention, IsAskedForByAPropertyOfTheModel) {
  const auto model = testing::Bytes(testing::Model(R"(g (float[2,5,4] q, float[2,4,6] t, float[2,6,3] v) =>
      (float[2,5,3] y) { s = MatMul (q, t)  w = Softmax <axis = 2> (s)  y = MatMul (w, v) })"));
  const auto names = [&](int key_row) { return Names(*ImportOnnx(WithSplitAttention(model, key_row), {})); };
  EXPECT_THAT(names(2), ElementsAre("Transpose", "PartialAttention", "PartialAttention", "MergeAttention"));
  EXPECT_THAT(names(6), ElementsAre("Transpose", "Attention"));
  EXPECT_EQ(ImportOnnx(WithSplitAttention(model, -2), {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::graph
