#include "wharf/graph/row_rules.h"

#include <gtest/gtest.h>

namespace wharf::graph {
namespace {

// A graph of floats, built node by node.
class RowRulesTest : public ::testing::Test {
 protected:
  int Input(Shape shape) {
    graph_.inputs.push_back(Value(std::move(shape)));
    return graph_.inputs.back();
  }
  int Weights(Shape shape) {
    const int value = Value(shape);
    const std::vector<float> zeros(graph_.Type(value).Elements());
    graph_.values[value].constant = Constant::Of<float>(ElementType::kFloat, shape, zeros);
    return value;
  }
  int Integers(const std::vector<int64_t>& numbers) { return Whole({static_cast<int64_t>(numbers.size())}, numbers); }
  int Integer(int64_t number) { return Whole({}, {number}); }
  int Apply(std::string op, std::vector<int> inputs, Shape out,
            std::map<std::string, Attribute, std::less<>> attributes = {}) {
    const int value = Value(std::move(out));
    graph_.nodes.push_back({std::move(op), "", std::move(inputs), {value}, std::move(attributes)});
    return value;
  }
  RowRules Rules() const {
    auto rules = RowRulesOf(graph_);
    EXPECT_TRUE(rules.ok()) << ToString(rules.status());
    return *std::move(rules);
  }
  int LastNode() const { return static_cast<int>(graph_.nodes.size()) - 1; }

  Graph graph_;

 private:
  int Whole(Shape shape, const std::vector<int64_t>& numbers) {
    const int value = Value(std::move(shape));
    TensorType& type = graph_.values[value].type;
    type.element = ElementType::kInt64;
    graph_.values[value].constant = Constant::Of<int64_t>(ElementType::kInt64, type.shape, numbers);
    return value;
  }
  int Value(Shape shape) {
    graph_.values.push_back({"", {ElementType::kFloat, std::move(shape)}, {}});
    return static_cast<int>(graph_.values.size()) - 1;
  }
};

TEST_F(RowRulesTest, ImagesAreCutAlongTheirHeight) {
  const int x = Input({1, 3, 8, 8});
  const int y = Apply("Conv", {x, Weights({4, 3, 3, 3})}, {1, 4, 4, 4},
                      {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"strides", std::vector<int64_t>{2, 2}}});
  const RowRules rules = Rules();
  EXPECT_EQ(rules.axis[x], 2);
  EXPECT_EQ(rules.axis[y], 2);
  EXPECT_EQ(rules.Rows(graph_, y), 4);
  EXPECT_TRUE(rules.IsLocal(graph_, 0));
  EXPECT_EQ(RowsRead(graph_, rules, 0, 0, {1, 3}), (RowRange{1, 6}));
}

TEST_F(RowRulesTest, PoolingAndWhatFollowsIsGlobal) {
  const int x = Input({1, 3, 8, 8});
  const int pooled = Apply("GlobalAveragePool", {x}, {1, 3, 1, 1});
  const int flat = Apply("Flatten", {pooled}, {1, 3});
  Apply("Gemm", {flat, Weights({3, 5})}, {1, 5});
  const RowRules rules = Rules();
  for (int node = 0; node < 3; ++node) EXPECT_FALSE(rules.IsLocal(graph_, node)) << node;
  EXPECT_EQ(rules.Rows(graph_, flat), 1);
}

TEST_F(RowRulesTest, ScalingByMeansOfAllRowsIsLocal) {
  const int x = Input({1, 3, 8, 8});
  const int means = Apply("GlobalAveragePool", {x}, {1, 3, 1, 1});
  Apply("Mul", {x, means}, {1, 3, 8, 8});
  EXPECT_FALSE(Rules().IsLocal(graph_, 0));
  EXPECT_TRUE(Rules().IsLocal(graph_, 1));
}

TEST_F(RowRulesTest, AttentionReadsKeysAndValuesWhole) {
  const int tokens = Input({1, 6, 8});
  const int keys = Apply("Transpose", {tokens}, {1, 8, 6}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const int scores = Apply("MatMul", {tokens, keys}, {1, 6, 6});
  const int weights = Apply("Softmax", {scores}, {1, 6, 6}, {{"axis", int64_t{-1}}});
  Apply("MatMul", {weights, tokens}, {1, 6, 8});
  const RowRules rules = Rules();
  EXPECT_EQ(rules.axis[keys], 2);
  EXPECT_EQ(rules.rules[1][0].kind, RowKind::kRow);
  EXPECT_EQ(rules.rules[1][1].kind, RowKind::kGlobal);
  EXPECT_TRUE(rules.IsLocal(graph_, 2));  // over keys, for each query
  EXPECT_EQ(RowsRead(graph_, rules, 3, 0, {2, 4}), (RowRange{2, 4}));
  EXPECT_EQ(RowsRead(graph_, rules, 3, 1, {2, 4}), (RowRange{0, 6}));
}

TEST_F(RowRulesTest, TheAxisFollowsReshapesThatKeepRows) {
  const int x = Input({2, 6, 12});
  const int heads = Apply("Reshape", {x, Weights({4})}, {2, 6, 3, 4});
  const int merged = Apply("Reshape", {heads, Weights({2})}, {12, 12});
  const RowRules rules = Rules();
  EXPECT_EQ(rules.axis[heads], 1);
  EXPECT_EQ(rules.axis[merged], kNoRows);  // rows of two sequences after each other
}

TEST_F(RowRulesTest, RowsOfPatchesBecomeTokensAndBack) {
  const int patches = Input({1, 3, 14, 10});
  const int tokens = Apply("Reshape", {patches, Weights({3})}, {1, 3, 140});
  const int back = Apply("Reshape", {tokens, Weights({4})}, {1, 3, 14, 10});
  const RowRules rules = Rules();
  EXPECT_EQ(rules.axis[tokens], 2);
  EXPECT_EQ(RowsRead(graph_, rules, 0, 0, {19, 41}), (RowRange{1, 5}));
  EXPECT_EQ(rules.axis[back], 2);
  EXPECT_EQ(RowsRead(graph_, rules, 1, 0, {1, 3}), (RowRange{10, 30}));
}

TEST_F(RowRulesTest, ConcatenatedRowsAreReadFromWhereTheyBegin) {
  const int x = Input({1, 3, 8, 8});
  Apply("Concat", {x, x}, {1, 6, 8, 8}, {{"axis", int64_t{1}}});
  Apply("Concat", {x, Weights({1, 3, 4, 8}), x}, {1, 3, 20, 8}, {{"axis", int64_t{2}}});
  const RowRules rules = Rules();
  for (const int node : {0, 1}) EXPECT_TRUE(rules.IsLocal(graph_, node)) << node;
  EXPECT_EQ(RowsRead(graph_, rules, 0, 1, {2, 4}), (RowRange{2, 4}));
  EXPECT_EQ(RowsRead(graph_, rules, 1, 0, {6, 13}), (RowRange{6, 8}));
  EXPECT_EQ(RowsRead(graph_, rules, 1, 2, {6, 13}), (RowRange{0, 1}));
  EXPECT_EQ(RowsRead(graph_, rules, 1, 2, {6, 12}), RowRange());
}

TEST_F(RowRulesTest, SlicesAreReadFromWhereTheyBegin) {
  const int x = Input({1, 20, 8});
  const auto slice = [&](int64_t start, int64_t end, int64_t step, int64_t rows) {
    Apply("Slice", {x, Integers({start}), Integers({end}), Integers({1}), Integers({step})}, {1, rows, 8});
  };
  slice(5, 15, 1, 10);
  slice(2, 20, 3, 6);
  slice(19, 9, -1, 10);
  const RowRules rules = Rules();
  EXPECT_EQ(RowsRead(graph_, rules, 0, 0, {3, 5}), (RowRange{8, 10}));
  EXPECT_EQ(RowsRead(graph_, rules, 1, 0, {1, 3}), (RowRange{5, 9}));
  EXPECT_FALSE(rules.IsLocal(graph_, 2));
}

TEST_F(RowRulesTest, OneRowThatIsGatheredIsAllThatIsRead) {
  const int x = Input({1, 20, 8});
  Apply("Gather", {x, Integer(0)}, {1, 8}, {{"axis", int64_t{1}}});
  Apply("Gather", {x, Integer(-3)}, {1, 8}, {{"axis", int64_t{1}}});
  Apply("Gather", {x, Integers({4})}, {1, 1, 8}, {{"axis", int64_t{1}}});
  const RowRules rules = Rules();
  EXPECT_EQ(RowsRead(graph_, rules, 0, 0, {0, 1}), (RowRange{0, 1}));
  EXPECT_EQ(RowsRead(graph_, rules, 1, 0, {0, 1}), (RowRange{17, 18}));
  EXPECT_EQ(RowsRead(graph_, rules, 2, 0, {0, 1}), (RowRange{0, 20}));
}

TEST_F(RowRulesTest, NeededRowsGoThroughAChainAndStopAtWhatIsGiven) {
  const int x = Input({1, 1, 16, 4});
  const std::map<std::string, Attribute, std::less<>> padded = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  const int a = Apply("Conv", {x, Weights({1, 1, 3, 3})}, {1, 1, 16, 4}, padded);
  const int b = Apply("Conv", {a, Weights({1, 1, 3, 3})}, {1, 1, 16, 4}, padded);
  const int sum = Apply("Add", {b, x}, {1, 1, 16, 4});
  const RowRules rules = Rules();
  std::vector<bool> given(graph_.values.size());
  const std::vector<ValueRows> wanted = {{sum, {4, 6}}};
  auto needed = NeededRows(graph_, rules, wanted, given);
  EXPECT_EQ(needed[a], (RowRange{3, 7}));
  EXPECT_EQ(needed[x], (RowRange{2, 8}));
  given[a] = true;
  needed = NeededRows(graph_, rules, wanted, given);
  EXPECT_EQ(needed[a], (RowRange{3, 7}));
  EXPECT_EQ(needed[x], (RowRange{4, 6}));
}

}  // namespace
}  // namespace wharf::graph
