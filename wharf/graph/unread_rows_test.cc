#include "wharf/graph/unread_rows.h"

#include <gmock/gmock.h>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/onnx/onnx_text.h"

namespace wharf::graph {
namespace {

using ::testing::ElementsAre;

// Imported, and so without rows that nobody reads. Constants: `w` 4 x 2, `p` 1 x 6 x 4, `i` 2.
Graph Imported(const std::string& nodes) {
  auto graph = ImportOnnx(testing::Bytes(testing::Model(R"(g (float[1,6,4] x) => (float[1,2] y)
      <float[4,2] w = {1,2,3,4,5,6,7,8}, float[1,6,4] p = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24},
       int64 i = {2}> {)" + nodes + "}")),
                          {});
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  EXPECT_TRUE(Validate(*graph).ok());
  return graph.ok() ? *std::move(graph) : Graph();
}

// Each node and what it makes.
std::vector<std::string> Made(const Graph& graph) {
  std::vector<std::string> made;
  for (const Node& node : graph.nodes) made.push_back(node.op + " " + graph.Type(node.outputs[0]).Text());
  return made;
}

TEST(DropUnreadRows, OnlyTheRowThatIsGatheredIsMade) {
  const Graph graph = Imported("a = Add (x, p)  m = MatMul (a, w)  r = Relu (m)  y = Gather <axis = 1> (r, i)");
  EXPECT_THAT(Made(graph), ElementsAre("Slice float32[1,1,4]", "Slice float32[1,1,4]", "Add float32[1,1,4]",
                                       "MatMul float32[1,1,2]", "Relu float32[1,1,2]", "Gather float32[1,2]"));
  const Node& gather = graph.nodes.back();
  EXPECT_THAT(*Integers(*graph.ConstantInput(gather, 1)), ElementsAre(0));
  EXPECT_THAT(*Integers(*graph.ConstantInput(graph.nodes[0], 1)), ElementsAre(2));
}

TEST(DropUnreadRows, WhatAllRowsNeedIsMadeWhole) {
  const Graph graph =
      Imported("a = Relu (x)  s = Softmax <axis = 1> (a)  m = MatMul (s, w)  y = Gather <axis = 1> (m, i)");
  EXPECT_THAT(Made(graph), ElementsAre("Relu float32[1,6,4]", "Softmax float32[1,6,4]", "Slice float32[1,1,4]",
                                       "MatMul float32[1,1,2]", "Gather float32[1,2]"));
}

TEST(DropUnreadRows, RowsThatSomebodyElseReadsStay) {
  const Graph graph = Imported(
      "a = Relu (x)  m = MatMul (a, w)  all = ReduceMax <axes = [1], keepdims = 0> (m)  g = Gather <axis = 1> (m, i)  "
      "y = Add (g, all)");
  EXPECT_THAT(Made(graph), ElementsAre("Relu float32[1,6,4]", "MatMul float32[1,6,2]", "ReduceMax float32[1,2]",
                                       "Gather float32[1,2]", "Add float32[1,2]"));
}

TEST(DropUnreadRows, ReshapesFollow) {
  const Graph graph = Imported(
      "h = Constant <value = int64[4] {1, 6, 2, 2}> ()  b = Constant <value = int64[3] {1, 6, 4}> ()  "
      "a = Reshape (x, h)  t = Transpose <perm = [0, 1, 3, 2]> (a)  c = Reshape (t, b)  m = MatMul (c, w)  "
      "y = Gather <axis = 1> (m, i)");
  EXPECT_THAT(Made(graph), ElementsAre("Slice float32[1,1,4]", "Reshape float32[1,1,2,2]", "Transpose float32[1,1,2,2]",
                                       "Reshape float32[1,1,4]", "MatMul float32[1,1,2]", "Gather float32[1,2]"));
  EXPECT_THAT(*Integers(*graph.ConstantInput(graph.nodes[1], 1)), ElementsAre(1, 1, 2, 2));
}

}  // namespace
}  // namespace wharf::graph
