// A slice computed from exactly the rows it needs equals the full result's rows, whatever the network.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "wharf/exec/random_graph.h"
#include "wharf/exec/testing.h"

namespace wharf::exec {
namespace {

using graph::RowRange;

std::unique_ptr<Program> Prepared(graph::Graph graph) {
  auto program = testing::TestEngine().Prepare(std::move(graph));
  EXPECT_TRUE(program.ok()) << ToString(program.status());
  return *std::move(program);
}

Part Whole(const Program& program, int value, uint32_t seed) {
  return {{value, AllRows(program, value)},
          testing::ToTensor(testing::RandomFloats(program.Graph().Type(value).shape, seed))};
}

RowRange RandomRange(RowRange all) {
  const int lo = *rc::gen::inRange(all.lo, all.hi);
  return {lo, *rc::gen::inRange(lo + 1, all.hi + 1)};
}

RC_GTEST_PROP(Slice, EqualsTheRowsOfTheWhole, (uint32_t seed)) {
  const auto program = Prepared(testing::RandomGraph::Make(seed, *rc::gen::inRange(1, 9)));
  const graph::Graph& graph = program->Graph();
  const int input = graph.inputs[0], output = graph.outputs[0];
  const Part image = Whole(*program, input, seed);
  const auto whole = program->Run({{image}}, {{{output, AllRows(*program, output)}}});
  if (!whole.ok()) RC_FAIL(ToString(whole.status()));
  const Rows wanted{output, RandomRange(AllRows(*program, output))};
  const auto needed = NeededRows(graph, program->RowRules(), {{wanted}}, std::vector<bool>(graph.values.size()));
  std::vector<Part> given;
  if (!needed[input].Empty()) given.push_back(program->Cut(image, needed[input]));
  RC_CLASSIFY(needed[input] != AllRows(*program, input), "reads a part");
  const auto slice = program->Run(given, {{wanted}});
  if (!slice.ok()) RC_FAIL(ToString(slice.status()));
  const Part expected = program->Cut({{output, AllRows(*program, output)}, (*whole)[0]}, wanted.range);
  const auto near = testing::Near(testing::ToConstant(*(*slice)[0]), testing::ToConstant(*expected.tensor), 1e-4, 1e-4);
  if (!near) RC_FAIL(near.message());
}

// Device and server each make some rows of a value in the middle; from there on either can go on with all of them.
RC_GTEST_PROP(SubGraph, GoesOnFromValuesInTheMiddle, (uint32_t seed)) {
  const auto program = Prepared(testing::RandomGraph::Make(seed, 6));
  const graph::Graph& graph = program->Graph();
  const int output = graph.outputs[0], middle = graph.nodes[graph.nodes.size() / 2].outputs[0];
  const Part image = Whole(*program, graph.inputs[0], seed);
  const Rows all{output, AllRows(*program, output)}, between{middle, AllRows(*program, middle)};
  const auto both = program->Run({{image}}, {{all, between}});
  if (!both.ok()) RC_FAIL(ToString(both.status()));
  const auto rest = program->Run({{image, Part{between, (*both)[1]}}}, {{all}});
  if (!rest.ok()) RC_FAIL(ToString(rest.status()));
  RC_ASSERT(bool(testing::Near(testing::ToConstant(*(*rest)[0]), testing::ToConstant(*(*both)[0]), 1e-5, 1e-5)));
}

// Parts of a value, cut anywhere, are the value again when joined.
RC_GTEST_PROP(Join, MakesOneOfParts, (uint32_t seed)) {
  const auto program = Prepared(testing::RandomGraph::Make(seed, 1));
  const Part image = Whole(*program, program->Graph().inputs[0], seed);
  const RowRange all = image.rows.range;
  std::vector<Part> parts;
  for (int lo = 0; lo < all.hi; lo = parts.back().rows.range.hi) {
    parts.push_back(program->Cut(image, {lo, *rc::gen::inRange(lo + 1, all.hi + 1)}));
  }
  const auto joined = program->Join(parts);
  RC_ASSERT(joined.ok());
  RC_ASSERT(joined->rows.range == all);
  RC_ASSERT(bool(testing::Near(testing::ToConstant(*joined->tensor), testing::ToConstant(*image.tensor), 0, 0)));
  if (parts.size() == 1) RC_ASSERT(joined->tensor == parts[0].tensor);
}

class Refusals : public ::testing::Test {
 protected:
  // Two rows of a 3x3 convolution over 8 rows.
  static graph::Graph Convolution() {
    graph::Graph graph;
    graph.values = {{"x", {graph::ElementType::kFloat, {1, 1, 8, 4}}, {}},
                    {"w", {graph::ElementType::kFloat, {1, 1, 3, 3}}, testing::RandomFloats({1, 1, 3, 3}, 1)},
                    {"y", {graph::ElementType::kFloat, {1, 1, 8, 4}}, {}}};
    graph.nodes = {{"Conv", "conv", {0, 1}, {2}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}}};
    graph.inputs = {0};
    graph.outputs = {2};
    return graph;
  }
  const std::unique_ptr<Program> program_ = Prepared(Convolution());
  const Part image_ = Whole(*program_, 0, 1);
};

TEST_F(Refusals, RowsThatAreMissing) {
  const auto slice = program_->Run({{program_->Cut(image_, {3, 5})}}, {{{2, {3, 5}}}});
  EXPECT_EQ(slice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(slice.status()), "rows 2 to 6 of \"x\" are needed, 3 to 5 are given");
  EXPECT_TRUE(program_->Run({{program_->Cut(image_, {2, 6})}}, {{{2, {3, 5}}}}).ok());
  EXPECT_EQ(program_->Run({}, {{{2, {3, 5}}}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Refusals, RowsAndTensorsThatDoNotFit) {
  EXPECT_EQ(program_->Run({{image_}}, {{{2, {3, 9}}}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(program_->Run({{image_}}, {{{7, {0, 1}}}}).status().code(), absl::StatusCode::kInvalidArgument);
  const Part wrong{{0, {0, 8}}, testing::ToTensor(testing::RandomFloats({1, 1, 8, 5}, 1))};
  const auto status = program_->Run({{wrong}}, {{{2, {0, 8}}}}).status();
  EXPECT_EQ(Message(status), "\"x\" is float32[1,1,8,4], not float32[1,1,8,5]");
  EXPECT_EQ(testing::TestEngine().MakeTensor({graph::ElementType::kFloat, {2}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(Refusals, PartsThatDoNotFollowEachOther) {
  const Part top = program_->Cut(image_, {0, 3}), middle = program_->Cut(image_, {3, 5});
  const Part bottom = program_->Cut(image_, {5, 8}), other{{2, {3, 5}}, middle.tensor};
  EXPECT_TRUE(program_->Join({{top, middle, bottom}}).ok());
  const Part wide{{0, {3, 5}}, testing::ToTensor(testing::RandomFloats({1, 1, 2, 5}, 1))};
  for (const std::vector<Part>& parts :
       std::vector<std::vector<Part>>{{}, {top, bottom}, {middle, top}, {top, top}, {top, other}, {top, wide}}) {
    EXPECT_EQ(program_->Join(parts).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(Refusals, AnOperatorThereIsNoKernelFor) {
  graph::Graph graph = Convolution();
  graph.nodes[0].op = "Fold";
  EXPECT_EQ(testing::TestEngine().Prepare(graph).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(Refusals, WhatLibTorchRefusesNamesTheNode) {
  graph::Graph graph = Convolution();
  graph.nodes[0].attributes["group"] = int64_t{3};
  const auto program = Prepared(graph);
  const auto status = program->Run({{image_}}, {{{2, {0, 8}}}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Message(status).substr(0, 18), "Conv node \"conv\": ");
}

}  // namespace
}  // namespace wharf::exec
