#include "wharf/split/costs/model_operators.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "wharf/exec/random_graph.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/costs/profile.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/row_graph.h"

namespace wharf::split {
namespace {

using absl::StatusCode;
using graph::Graph;
using graph::RowKind;
using graph::Shape;

// No operator takes any time.
Profile ProfileOf(const ModelOperators& model) {
  Profile profile;
  for (const graph::Operator& op : model.operators) profile.operators.push_back({op, {}});
  return profile;
}

// A graph of floats, built node by node.
class ModelOperatorsTest : public ::testing::Test {
 protected:
  int Value(Shape shape) {
    graph_.values.push_back({"", {graph::ElementType::kFloat, std::move(shape)}, {}});
    return static_cast<int>(graph_.values.size()) - 1;
  }
  int Input(Shape shape) {
    graph_.inputs.push_back(Value(std::move(shape)));
    return graph_.inputs.back();
  }
  int Weights(Shape shape) {
    const int value = Value(shape);
    const std::vector<float> zeros(graph_.Type(value).Elements());
    graph_.values[value].constant = graph::Constant::Of<float>(graph::ElementType::kFloat, shape, zeros);
    return value;
  }
  int Apply(std::string op, std::vector<int> inputs, Shape out,
            std::map<std::string, graph::Attribute, std::less<>> attributes = {}) {
    const int value = Value(std::move(out));
    graph_.nodes.push_back({std::move(op), "", std::move(inputs), {value}, std::move(attributes)});
    return value;
  }
  int Conv3(int input, int64_t channels) {
    const Shape in = graph_.Type(input).shape;
    return Apply("Conv", {input, Weights({channels, in[1], 3, 3})}, {in[0], channels, in[2], in[3]},
                 {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  absl::StatusOr<ModelOperators> Operators(std::vector<int> outputs) {
    graph_.outputs = std::move(outputs);
    WHARF_ASSIGN_OR_RETURN(const graph::RowRules rules, RowRulesOf(graph_));
    return OperatorsOf(graph_, rules);
  }
  static std::vector<std::string> Names(const ModelOperators& model) {
    std::vector<std::string> names;
    for (const graph::Operator& op : model.operators) names.push_back(op.name);
    return names;
  }
  using StringList = std::vector<std::string>;
  using Ints = std::vector<int>;

  Graph graph_;
};

TEST_F(ModelOperatorsTest, ActivationsBelongToTheConvolutionBeforeThem) {
  const int x = Input({1, 3, 8, 4});
  const int conv = Conv3(x, 2);
  const int scaled = Apply("Mul", {conv, Weights({2, 1, 1})}, {1, 2, 8, 4});
  const int relu = Apply("Relu", {scaled}, {1, 2, 8, 4});
  const int pooled = Apply("GlobalAveragePool", {relu}, {1, 2, 1, 1});
  const auto model = Operators({pooled});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Conv+Mul+Relu", "GlobalAveragePool", "output"}));
  EXPECT_EQ(model->values, (std::vector<Ints>{{x}, {relu}, {pooled}, {}}));
  EXPECT_EQ(model->nodes, (std::vector<Ints>{{}, {0, 1, 2}, {3}, {}}));
  EXPECT_EQ(model->operators[1].rows, 8);
  EXPECT_EQ(model->operators[1].rules[0].kernel, 3);
  EXPECT_EQ(model->operators[1].output_bytes, 2 * 8 * 4 * 4);
  EXPECT_EQ(model->operators[2].rows, 1);
  EXPECT_TRUE(model->operators[2].Global());
  EXPECT_TRUE(model->operators[3].Global());
  EXPECT_TRUE(Validate(ProfileOf(*model)).ok());
}

// x * sigmoid(x): two nodes read the convolution, and one value comes out.
TEST_F(ModelOperatorsTest, WhatBranchesAndComesTogetherIsOneOperator) {
  const int conv = Conv3(Input({1, 3, 8, 4}), 2);
  const int gate = Apply("Sigmoid", {conv}, {1, 2, 8, 4});
  const int silu = Apply("Mul", {conv, gate}, {1, 2, 8, 4});
  const auto model = Operators({Conv3(silu, 2)});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Conv+Sigmoid+Mul", "Conv", "output"}));
  EXPECT_EQ(model->values[1], Ints{silu});
}

TEST_F(ModelOperatorsTest, AResidualAddReadsTwoOperators) {
  const int x = Input({1, 3, 8, 4});
  const int conv = Conv3(x, 3);
  const int sum = Apply("Add", {conv, x}, {1, 3, 8, 4});
  const auto model = Operators({Apply("Relu", {sum}, {1, 3, 8, 4})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Conv", "Add+Relu", "output"}));
  EXPECT_EQ(model->operators[2].inputs, (Ints{1, 0}));
  EXPECT_EQ(model->operators[2].rules[0].kind, RowKind::kRow);
}

TEST_F(ModelOperatorsTest, ScalingByTheChannelsMeansReadsOneInputRowForRowAndTheOtherWhole) {
  const int x = Input({1, 3, 8, 4});
  const int means = Apply("GlobalAveragePool", {x}, {1, 3, 1, 1});
  const auto model = Operators({Apply("Mul", {means, x}, {1, 3, 8, 4})});
  ASSERT_TRUE(model.ok()) << model.status();
  const RowGraph rows(ProfileOf(*model));
  ASSERT_EQ(rows.Inputs(2).size(), 2u);
  EXPECT_EQ(rows.Needed(2, rows.Inputs(2)[0], {3, 5}), (RowRange{0, 1}));
  EXPECT_EQ(rows.Needed(2, rows.Inputs(2)[1], {3, 5}), (RowRange{3, 5}));
}

// Attention: rows of the first matrix, all of the second.
TEST_F(ModelOperatorsTest, AProductOfTwoComputedMatricesReadsTheSecondWhole) {
  const int x = Input({1, 6, 4});
  const int query = Apply("MatMul", {x, Weights({4, 4})}, {1, 6, 4});
  const int key = Apply("MatMul", {x, Weights({4, 4})}, {1, 6, 4});
  const int turned = Apply("Transpose", {key}, {1, 4, 6}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto model = Operators({Apply("MatMul", {query, turned}, {1, 6, 6})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "MatMul", "MatMul+Transpose", "MatMul", "output"}));
  const RowGraph rows(ProfileOf(*model));
  EXPECT_EQ(rows.Needed(3, rows.Inputs(3)[0], {2, 3}), (RowRange{2, 3}));
  EXPECT_EQ(rows.Needed(3, rows.Inputs(3)[1], {2, 3}), (RowRange{0, 6}));
}

TEST_F(ModelOperatorsTest, ReadingWholeSwallowsReadingRowForRow) {
  const int x = Input({1, 4, 4});
  const auto model = Operators({Apply("MatMul", {x, x}, {1, 4, 4})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->operators[1].inputs, Ints{0});
  EXPECT_TRUE(model->operators[1].Global());
}

TEST_F(ModelOperatorsTest, ALargerOutputIsAnOperatorOfItsOwn) {
  const int conv = Conv3(Input({1, 3, 8, 4}), 2);
  const auto model = Operators({Apply("Concat", {conv, Weights({1, 2, 8, 4})}, {1, 4, 8, 4}, {{"axis", int64_t{1}}})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Conv", "Concat", "output"}));
}

TEST_F(ModelOperatorsTest, WhatIsAnOutputIsNotHiddenInAnOperator) {
  const int conv = Conv3(Input({1, 3, 8, 4}), 2);
  const int relu = Apply("Relu", {conv}, {1, 2, 8, 4});
  const auto model = Operators({conv, relu});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Conv", "Relu", "output"}));
  EXPECT_EQ(model->operators[3].inputs, (Ints{1, 2}));
}

TEST_F(ModelOperatorsTest, OutputsOfDifferentHeightsCannotBeCut) {
  const int x = Input({1, 3, 8, 4});
  const int top = Value({1, 3, 6, 4}), bottom = Value({1, 3, 2, 4});
  graph_.nodes.push_back({"Split", "", {x, Weights({2})}, {top, bottom}, {{"axis", int64_t{2}}}});
  const int relu = Apply("Relu", {top}, {1, 3, 6, 4});
  graph_.outputs = {relu, bottom};
  const graph::RowRules rules = *RowRulesOf(graph_);
  const auto model = OperatorsOf(graph_, rules);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->values[1], (Ints{top, bottom}));
  EXPECT_EQ(model->operators[1].rows, 1);
  EXPECT_TRUE(model->operators[2].Global());
  EXPECT_EQ(RowsOfValue(graph_, rules, model->operators[1], top, {0, 1}), (RowRange{0, 6}));
  EXPECT_EQ(RowsOfValue(graph_, rules, model->operators[1], top, {}), RowRange{});
  EXPECT_EQ(RowsOfValue(graph_, rules, model->operators[2], relu, {1, 3}), (RowRange{1, 3}));
}

// As attention has them: queries and keys are two outputs of one operator, read together or one at a time.
TEST_F(ModelOperatorsTest, ValuesOfOneOperatorAreReadAsOne) {
  const int x = Input({1, 6, 8});
  const int query = Value({1, 6, 4}), key = Value({1, 6, 4});
  graph_.nodes.push_back({"Split", "", {x, Weights({2})}, {query, key}, {{"axis", int64_t{2}}}});
  const int turned = Apply("Transpose", {key}, {1, 4, 6}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const int scores = Apply("MatMul", {query, turned}, {1, 6, 6});
  const auto model = Operators({scores, Apply("Add", {query, key}, {1, 6, 4})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Split", "Transpose", "MatMul", "Add", "output"}));
  EXPECT_EQ(model->values[1], (Ints{query, key}));
  EXPECT_EQ(model->operators[1].rows, 6);
  EXPECT_EQ(model->operators[3].inputs, (Ints{1, 2}));
  EXPECT_EQ(model->operators[4].inputs, Ints{1});
  EXPECT_EQ(model->operators[4].rules[0].kind, RowKind::kRow);
}

TEST_F(ModelOperatorsTest, WhatConstantsMakeBelongsToNobody) {
  const int x = Input({1, 3, 8, 4});
  const int bias = Apply("Abs", {Weights({3, 1, 1})}, {3, 1, 1});
  const auto model = Operators({Apply("Add", {x, bias}, {1, 3, 8, 4})});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Names(*model), (StringList{"input", "Add", "output"}));
  EXPECT_EQ(model->operators[1].inputs, Ints{0});
}

TEST_F(ModelOperatorsTest, RefusesModelsThatCannotBeShared) {
  const int x = Input({1, 3, 8, 4});
  EXPECT_EQ(Operators({Weights({3})}).status().code(), StatusCode::kInvalidArgument);
  const int y = Input({1, 3, 8, 4});
  EXPECT_EQ(Operators({Apply("Add", {x, y}, {1, 3, 8, 4})}).status().code(), StatusCode::kUnimplemented);
}

// For some rows of an operator: the rows that RowGraph says are needed of every other operator hold the rows that the
// graph needs of its values, and are the same for operators of one node.
RC_GTEST_PROP(ModelOperatorsProperty, NeededRowsHoldThoseOfTheGraph, (uint32_t seed)) {
  const Graph graph = exec::testing::RandomGraph::Make(seed, *rc::gen::inRange(1, 12));
  const graph::RowRules rules = *RowRulesOf(graph);
  const auto model = OperatorsOf(graph, rules);
  RC_PRE(model.ok());
  const Profile profile = ProfileOf(*model);
  RC_ASSERT(Validate(profile).ok());
  const RowGraph rows(profile);
  const int op = *rc::gen::inRange(1, rows.Size());
  const int lo = *rc::gen::inRange(0, rows.Rows(op)), hi = *rc::gen::inRange(lo + 1, rows.Rows(op) + 1);
  std::vector<graph::ValueRows> wanted;
  for (const int value : model->values[op]) {
    wanted.push_back({value, RowsOfValue(graph, rules, model->operators[op], value, {lo, hi})});
  }
  for (const int value : op == rows.Output() ? graph.outputs : std::vector<int>{}) {
    wanted.push_back({value, {0, rules.Rows(graph, value)}});
  }
  std::vector<bool> given(graph.values.size(), false);
  for (int other = 0; other < rows.Size(); ++other) {
    for (const int value : model->values[other]) given[value] = other != op;
  }
  const std::vector<RowRange> in_graph = NeededRows(graph, rules, wanted, given);
  std::vector<RowRange> needed(rows.Size());
  for (const auto& edge : rows.Inputs(op)) {
    needed[edge.from] = Hull(needed[edge.from], rows.Needed(op, edge, {lo, hi}));
  }
  RC_CLASSIFY(model->nodes[op].size() > 1, "several nodes");
  for (int other = 0; other < rows.Size(); ++other) {
    RowRange of_values;
    for (const int value : model->values[other]) {
      if (other == op) continue;
      RC_ASSERT(RowsOfValue(graph, rules, model->operators[other], value, needed[other]).Contains(in_graph[value]));
      of_values = Hull(of_values, in_graph[value]);
    }
    if (other == op || model->operators[other].rows == 1) continue;
    if (model->nodes[op].size() <= 1) RC_ASSERT(of_values == needed[other]);
  }
}

// Every node of a model belongs to one operator or to none, and plans can be made.
TEST(ModelOperators, TakeWholeModels) {
  std::vector<std::filesystem::path> models = {std::filesystem::path(WHARF_TESTDATA) / "tiny"};
  if (const char* more = std::getenv("WHARF_MODELS")) {
    for (const auto& entry : std::filesystem::directory_iterator(more)) models.push_back(entry.path());
  }
  for (const auto& path : models) {
    SCOPED_TRACE(path);
    const auto graph = graph::LoadOnnx((path / "model.onnx").string(), {});
    ASSERT_TRUE(graph.ok()) << ToString(graph.status());
    const auto model = OperatorsOf(*graph, *RowRulesOf(*graph));
    ASSERT_TRUE(model.ok()) << ToString(model.status());
    std::vector<int> owners(graph->nodes.size(), 0);
    for (const auto& nodes : model->nodes) {
      for (const int node : nodes) ++owners[node];
    }
    EXPECT_LE(*std::max_element(owners.begin(), owners.end()), 1);
    const Profile profile = ProfileOf(*model);
    ASSERT_TRUE(Validate(profile).ok()) << ToString(Validate(profile));
    const RowGraph rows(profile);
    EXPECT_TRUE(Check(rows, ServerOnlyPlan(rows)).ok());
    RecordProperty(path.filename().string(), fmt::format("{} nodes in {} operators", graph->nodes.size(), rows.Size()));
  }
}

}  // namespace
}  // namespace wharf::split
