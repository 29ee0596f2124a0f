#include "wharf/cudashim/graph/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cudagraph {
namespace {

FillParams Fill(uint32_t value, uint64_t height = 1) { return {{4096, 64, 0}, {64, height, 1}, value, 1}; }

Node* Add(Graph& graph, Params params, std::vector<Node*> dependencies = {}) {
  Node* node = nullptr;
  EXPECT_EQ(graph.Add(std::move(params), dependencies, {}, &node), CudaError::kSuccess);
  return node;
}

uint32_t ValueOf(const Node* node) { return std::get<FillParams>(node->params).value; }

TEST(Update, PairsNodesByEdgesAndNotByTheOrderOfAdding) {
  Graph instance, wanted;
  Node *a = Add(instance, Fill(1)), *b = Add(instance, Fill(2), {a});
  Node *last = Add(wanted, Fill(20)), *first = Add(wanted, Fill(10));
  ASSERT_EQ(wanted.Connect(std::vector<Node*>{first}, std::vector<Node*>{last}, {}), CudaError::kSuccess);
  EXPECT_EQ(Update(instance, wanted).result, UpdateResult::kSuccess);
  EXPECT_EQ(ValueOf(a), 10u);
  EXPECT_EQ(ValueOf(b), 20u);
}

TEST(Update, LetsAKernelBecomeACallOfCublasAndBack) {
  Graph instance, gemm, kernel;
  Node* const node = Add(instance, KernelParams{});
  Add(gemm, GemmParams{});
  Add(kernel, KernelParams{});
  EXPECT_EQ(Update(instance, gemm).result, UpdateResult::kSuccess);
  EXPECT_TRUE(std::holds_alternative<GemmParams>(node->params));
  EXPECT_EQ(Update(instance, kernel).result, UpdateResult::kSuccess);
  EXPECT_TRUE(std::holds_alternative<KernelParams>(node->params));
}

TEST(Update, SaysWhatOfTheTopologyChanged) {
  Graph instance;
  Node *a = Add(instance, Fill(1)), *b = Add(instance, Fill(2)), *c = Add(instance, Fill(3), {a, b});
  {
    Graph wanted;
    Add(wanted, Fill(1));
    const UpdateOutcome outcome = Update(instance, wanted);
    EXPECT_EQ(outcome.result, UpdateResult::kTopologyChanged);
    EXPECT_EQ(outcome.node, nullptr);
  }
  {
    Graph wanted;  // a node more at the end
    Node* const x = Add(wanted, Fill(1));
    Add(wanted, Fill(2), {x});
    Node* const z = Add(wanted, Fill(3), {x});
    const UpdateOutcome outcome = Update(instance, wanted);
    EXPECT_EQ(outcome.result, UpdateResult::kTopologyChanged);
    EXPECT_EQ(outcome.node, z);
  }
  {
    Graph wanted;  // a chain
    Node* const x = Add(wanted, Fill(1));
    Node* const y = Add(wanted, Fill(2), {x});
    Node* const z = Add(wanted, Fill(3), {y});
    const UpdateOutcome outcome = Update(instance, wanted);
    EXPECT_EQ(outcome.result, UpdateResult::kTopologyChanged);
    EXPECT_EQ(outcome.node, z);
  }
  EXPECT_EQ(ValueOf(a) + ValueOf(b) + ValueOf(c), 6u);
}

TEST(Update, SaysWhichDependencyIsAnother) {
  Graph instance, wanted;
  // One behind three which are all behind the first; of the wanted three, one is behind another.
  Node* const a = Add(instance, Fill(1));
  Node *b = Add(instance, Fill(2), {a}), *c = Add(instance, Fill(3), {a}), *e = Add(instance, Fill(4), {a});
  Add(instance, Fill(5), {b, c, e});
  Node *w = Add(wanted, Fill(1)), *v = Add(wanted, Fill(2), {w}), *u = Add(wanted, Fill(3), {w});
  Node* const t = Add(wanted, Fill(4), {v});
  Add(wanted, Fill(5), {v, u, t});
  const UpdateOutcome outcome = Update(instance, wanted);
  EXPECT_EQ(outcome.result, UpdateResult::kTopologyChanged);
  EXPECT_EQ(outcome.node, t);
  EXPECT_EQ(outcome.from, v);
}

TEST(Update, SaysWhichNodeHasAnotherType) {
  Graph instance, wanted;
  Node* const a = Add(instance, Fill(1));
  Add(instance, Fill(2), {a});
  Node* const x = Add(wanted, Fill(7));
  Node* const y = Add(wanted, EmptyParams{}, {x});
  const UpdateOutcome outcome = Update(instance, wanted);
  EXPECT_EQ(outcome.result, UpdateResult::kNodeTypeChanged);
  EXPECT_EQ(outcome.node, y);
  EXPECT_EQ(ValueOf(a), 1u);  // all or none
}

TEST(Update, ReachesIntoChildren) {
  auto inner = std::make_shared<Graph>(), other = std::make_shared<Graph>();
  Node* const leaf = Add(*inner, Fill(1));
  Add(*other, Fill(9));
  Graph instance, wanted;
  Add(instance, ChildParams{inner});
  Node* const child = Add(wanted, ChildParams{other});
  EXPECT_EQ(Update(instance, wanted).result, UpdateResult::kSuccess);
  EXPECT_EQ(ValueOf(leaf), 9u);
  Add(*other, EmptyParams{});
  const UpdateOutcome outcome = Update(instance, wanted);
  EXPECT_EQ(outcome.result, UpdateResult::kTopologyChanged);
  EXPECT_EQ(outcome.node, child);
}

TEST(Update, ReachesIntoBodiesAndTakesOverTheCondition) {
  const auto branch = [](Graph& graph, Branching branching, uint32_t value) {
    ConditionalParams params{std::make_shared<Condition>(), branching};
    params.bodies.push_back(std::make_shared<Graph>());
    params.handles.push_back(params.bodies.back().get());
    Add(*params.bodies[0], Fill(value));
    return Add(graph, params);
  };
  Graph instance, wanted, other;
  const auto& now = std::get<ConditionalParams>(branch(instance, Branching::kIf, 1)->params);
  const auto& then = std::get<ConditionalParams>(branch(wanted, Branching::kIf, 2)->params);
  const Graph* const body = now.bodies[0].get();
  EXPECT_EQ(Update(instance, wanted).result, UpdateResult::kSuccess);
  EXPECT_EQ(now.bodies[0].get(), body);
  EXPECT_EQ(ValueOf(body->nodes()[0].get()), 2u);
  EXPECT_EQ(now.condition, then.condition);
  branch(other, Branching::kWhile, 3);
  EXPECT_EQ(Update(instance, other).result, UpdateResult::kParametersChanged);
}

TEST(Update, FillsOfSeveralRowsKeepTheirShape) {
  EXPECT_EQ(CheckChange(Fill(1, 4), Fill(2, 4), Change::kOfGraph), UpdateResult::kSuccess);
  EXPECT_EQ(CheckChange(Fill(1, 4), Fill(2, 5), Change::kOfGraph), UpdateResult::kParametersChanged);
  FillParams wider = Fill(1);
  wider.extent.width = 128;
  EXPECT_EQ(CheckChange(Fill(1), wider, Change::kSingle), UpdateResult::kSuccess);
  EXPECT_EQ(CheckChange(Fill(1), Fill(1, 2), Change::kSingle), UpdateResult::kParametersChanged);
}

TEST(Update, CopiesKeepTheKindOfMemory) {
  CopyParams up, down;
  up.extent = down.extent = {64, 1, 1};
  up.from.on_host = down.to.on_host = true;
  EXPECT_EQ(CheckChange(up, down, Change::kOfGraph), UpdateResult::kParametersChanged);
  CopyParams rows = up;
  rows.extent.height = 3;
  EXPECT_EQ(CheckChange(up, rows, Change::kOfGraph), UpdateResult::kSuccess);
  EXPECT_EQ(CheckChange(up, rows, Change::kSingle), UpdateResult::kParametersChanged);
  CopyParams array = up;
  array.to.array = &array;
  EXPECT_EQ(CheckChange(up, array, Change::kOfGraph), UpdateResult::kParametersChanged);
}

TEST(Update, MemoryNodesKeepTheirMemory) {
  const auto memory = std::make_shared<GraphMemory>();
  EXPECT_EQ(CheckChange(AllocationParams{memory}, AllocationParams{memory}, Change::kOfGraph), UpdateResult::kSuccess);
  EXPECT_EQ(CheckChange(AllocationParams{memory}, AllocationParams{std::make_shared<GraphMemory>()}, Change::kOfGraph),
            UpdateResult::kParametersChanged);
}

}  // namespace
}  // namespace wharf::cudagraph
