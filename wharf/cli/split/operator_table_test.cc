#include "wharf/cli/split/operator_table.h"

#include <gmock/gmock.h>

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;

TEST(OperatorTable, ListsWhatRuns) {
  EXPECT_THAT(SupportedOperatorsAsText(), HasSubstr("Conv"));
  EXPECT_THAT(SupportedOperatorsAsText(), ::testing::ContainsRegex("HardSwish +element-wise +14-28"));
  EXPECT_THAT(SupportedOperatorsAsText(), ::testing::ContainsRegex("GroupNormalization +global +18-28"));
}

TEST(OperatorTable, CountsLocalAndGlobalOperators) {
  graph::Graph graph;
  const graph::TensorType image{graph::ElementType::kFloat, {1, 3, 8, 8}};
  graph.values = {{"x", image, {}}, {"a", image, {}}, {"y", {graph::ElementType::kFloat, {1, 3, 1, 1}}, {}}};
  graph.nodes = {{"Relu", "", {0}, {1}, {}}, {"GlobalAveragePool", "", {1}, {2}, {}}};
  graph.inputs = {0};
  graph.outputs = {2};
  const auto text = ModelOperatorsAsText(graph);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, ::testing::ContainsRegex("Relu +1 +0"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("GlobalAveragePool +0 +1"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("all +1 +1"));
}

}  // namespace
}  // namespace wharf::cli
