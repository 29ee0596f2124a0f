#include "wharf/cudashim/graph/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cudagraph {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kHostA = 0x10000, kHostB = 0x20000, kDevice = 0x7000000000;

void DoNothing(void*) {}

CopyParams CopyOf(uint64_t to, uint64_t from) {
  CopyParams copy;
  copy.to.box.address = to;
  copy.to.on_host = to < kDevice;
  copy.from.box.address = from;
  copy.from.on_host = from < kDevice;
  copy.extent = {64, 1, 1};
  return copy;
}

class ExecTest : public ::testing::Test {
 protected:
  Node* Add(Params params, std::vector<Node*> dependencies = {}) {
    return AddTo(graph_, std::move(params), dependencies);
  }
  static Node* AddTo(Graph& graph, Params params, std::vector<Node*> dependencies = {}) {
    Node* node = nullptr;
    EXPECT_EQ(graph.Add(std::move(params), dependencies, {}, &node), CudaError::kSuccess);
    return node;
  }
  std::shared_ptr<Exec> Make() {
    std::shared_ptr<Exec> exec;
    EXPECT_EQ(Exec::Instantiate(graph_, 0, &exec), CudaError::kSuccess);
    return exec;
  }
  // By the nodes that the steps' are clones of.
  static std::vector<uint64_t> Origins(Exec& exec) {
    std::vector<uint64_t> origins;
    for (const Step& step : exec.steps()) origins.push_back(step.node->origin);
    return origins;
  }
  static std::vector<bool> Settles(Exec& exec) {
    std::vector<bool> settles;
    for (const Step& step : exec.steps()) settles.push_back(step.settle);
    return settles;
  }

  Graph graph_;
};

TEST_F(ExecTest, ChildrenAreSteppedThroughInTheirPlace) {
  auto inner = std::make_shared<Graph>();
  Node* const leaf = AddTo(*inner, FillParams{});
  Node* const first = Add(FillParams{});
  Node* const child = Add(ChildParams{inner}, {first});
  Node* const last = Add(FillParams{}, {child});
  const auto exec = Make();
  const Node* const inside = std::get<ChildParams>(exec->Find(child)->params).graph->nodes()[0].get();
  EXPECT_THAT(Origins(*exec), ElementsAre(first->id, inside->origin, last->id));
  EXPECT_EQ(inside->origin, leaf->id);
  EXPECT_EQ(exec->Find(leaf), inside);
}

// What a graph whose condition is not looked at needs of one.
ConditionalParams Branches(Branching branching, size_t count) {
  ConditionalParams params{std::make_shared<Condition>(), branching};
  for (size_t i = 0; i < count; ++i) {
    params.bodies.push_back(std::make_shared<Graph>());
    params.handles.push_back(params.bodies.back().get());
  }
  return params;
}

TEST_F(ExecTest, BodiesFollowTheirNodeAndEndWhereItSays) {
  Node* const node = Add(Branches(Branching::kSwitch, 3));
  const auto& bodies = std::get<ConditionalParams>(node->params).bodies;
  Node* const first = AddTo(*bodies[0], FillParams{});
  ConditionalParams inner = Branches(Branching::kIf, 1);
  Node* const leaf = AddTo(*inner.bodies[0], FillParams{});
  Node* const inside = AddTo(*bodies[2], inner);
  Node* const last = Add(FillParams{}, {node});
  const auto exec = Make();
  EXPECT_THAT(Origins(*exec), ElementsAre(node->id, first->id, inside->id, leaf->id, last->id));
  EXPECT_THAT(exec->steps()[0].ends, ElementsAre(2, 2, 4));
  EXPECT_THAT(exec->steps()[2].ends, ElementsAre(4));
  // The instance has bodies of its own, whose nodes are found by those that the program has.
  EXPECT_NE(exec->Find(leaf), nullptr);
  EXPECT_NE(exec->Find(leaf), leaf);
  const auto& copy = std::get<ConditionalParams>(exec->Find(node)->params);
  EXPECT_EQ(copy.handles[1], copy.bodies[1].get());
  EXPECT_NE(copy.bodies[1], bodies[1]);
}

TEST_F(ExecTest, AConditionChoosesABody) {
  const ConditionalParams either = Branches(Branching::kIf, 2), loop = Branches(Branching::kWhile, 1),
                          several = Branches(Branching::kSwitch, 3);
  EXPECT_EQ(either.Choose(7), 0u);
  EXPECT_EQ(either.Choose(0), 1u);
  EXPECT_EQ(loop.Choose(1), 0u);
  EXPECT_GE(loop.Choose(0), 1u);
  EXPECT_EQ(several.Choose(2), 2u);
  EXPECT_GE(several.Choose(3), 3u);
}

TEST_F(ExecTest, CopiesInABodyCountWhatCameBefore) {
  Node* const host = Add(HostParams{DoNothing, nullptr});
  Node* const node = Add(Branches(Branching::kIf, 1), {host});
  AddTo(*std::get<ConditionalParams>(node->params).bodies[0], CopyOf(kDevice, kHostA));
  EXPECT_THAT(Settles(*Make()), ElementsAre(false, false, true));
}

TEST_F(ExecTest, EmptyAndDisabledNodesAreNoSteps) {
  Node* const fill = Add(FillParams{});
  Node* const empty = Add(EmptyParams{}, {fill});
  Node* const other = Add(FillParams{}, {empty});
  const auto exec = Make();
  EXPECT_EQ(exec->SetEnabled(fill, false), CudaError::kSuccess);
  EXPECT_THAT(Origins(*exec), ElementsAre(other->id));
  EXPECT_EQ(exec->SetEnabled(fill, true), CudaError::kSuccess);
  EXPECT_THAT(Origins(*exec), ElementsAre(fill->id, other->id));
  EXPECT_EQ(exec->SetEnabled(empty, false), CudaError::kInvalidValue);
}

TEST_F(ExecTest, LaterChangesOfTheGraphDoNotReachIt) {
  Node* const fill = Add(FillParams{{}, {4, 1, 1}, 1, 1});
  const auto exec = Make();
  std::get<FillParams>(fill->params).value = 2;
  Add(FillParams{});
  ASSERT_EQ(exec->steps().size(), 1u);
  EXPECT_EQ(std::get<FillParams>(exec->steps()[0].node->params).value, 1u);
}

TEST_F(ExecTest, SettingANodeKeepsItsTypeAndKindsOfMemory) {
  Node* const copy = Add(CopyOf(kDevice, kHostA));
  const auto exec = Make();
  EXPECT_EQ(exec->Set(copy, CopyOf(kDevice + 4096, kHostB)), CudaError::kSuccess);
  EXPECT_EQ(std::get<CopyParams>(exec->Find(copy)->params).from.box.address, kHostB);
  EXPECT_EQ(exec->Set(copy, CopyOf(kDevice, kDevice + 64)), CudaError::kInvalidValue);
  EXPECT_EQ(exec->Set(copy, FillParams{}), CudaError::kInvalidValue);
  CopyParams plane = CopyOf(kDevice, kHostA);
  plane.extent.height = 2;
  EXPECT_EQ(exec->Set(copy, plane), CudaError::kInvalidValue);
  Graph other;
  EXPECT_EQ(exec->Set(AddTo(other, CopyOf(kDevice, kHostA)), CopyOf(kDevice, kHostA)), CudaError::kInvalidValue);
}

TEST_F(ExecTest, AChildIsSetByAGraphOfItsShape) {
  auto inner = std::make_shared<Graph>();
  Node* const leaf = AddTo(*inner, FillParams{{}, {4, 1, 1}, 1, 1});
  Node* const child = Add(ChildParams{inner});
  const auto exec = Make();
  auto wanted = std::make_shared<Graph>();
  AddTo(*wanted, FillParams{{}, {4, 1, 1}, 2, 1});
  EXPECT_EQ(exec->Set(child, ChildParams{wanted}), CudaError::kSuccess);
  EXPECT_EQ(std::get<FillParams>(exec->Find(leaf)->params).value, 2u);
  AddTo(*wanted, EmptyParams{});
  EXPECT_EQ(exec->Set(child, ChildParams{wanted}), kUpdateFailure);
}

TEST_F(ExecTest, AGraphWithMemoryNodesHasOneInstance) {
  Add(AllocationParams{std::make_shared<GraphMemory>()});
  auto exec = Make();
  std::shared_ptr<Exec> second;
  EXPECT_EQ(Exec::Instantiate(graph_, 0, &second), CudaError::kNotSupported);
  exec = nullptr;
  EXPECT_EQ(Exec::Instantiate(graph_, 0, &second), CudaError::kSuccess);
}

TEST_F(ExecTest, AGraphThatIsCapturedIntoHasNone) {
  graph_.captures = 1;
  std::shared_ptr<Exec> exec;
  EXPECT_EQ(Exec::Instantiate(graph_, 0, &exec), kIllegalState);
}

TEST_F(ExecTest, CopiesThatReadWhatWasCopiedToTheHostWait) {
  Node* const out = Add(CopyOf(kHostA, kDevice));
  Add(CopyOf(kDevice, kHostB), {out});
  Add(CopyOf(kDevice, kHostA + 32), {out});
  const auto exec = Make();
  EXPECT_THAT(Settles(*exec), ElementsAre(false, false, true));
  EXPECT_TRUE(exec->settles_first());
}

TEST_F(ExecTest, CopiesBehindAHostFunctionWait) {
  Node* const host = Add(HostParams{DoNothing, nullptr});
  Add(CopyOf(kDevice, kHostA));
  Node* const fill = Add(FillParams{}, {host});
  Add(CopyOf(kDevice, kHostB), {fill});
  const auto exec = Make();
  EXPECT_THAT(Settles(*exec), ElementsAre(false, false, false, true));
  EXPECT_TRUE(exec->settles_first());
}

TEST_F(ExecTest, AHostFunctionInAChildCountsForWhatFollowsTheChild) {
  auto inner = std::make_shared<Graph>();
  AddTo(*inner, HostParams{DoNothing, nullptr});
  Node* const child = Add(ChildParams{inner});
  Add(CopyOf(kDevice, kHostA), {child});
  EXPECT_THAT(Settles(*Make()), ElementsAre(false, true));
}

TEST_F(ExecTest, CopiesInAChildCountWhatCameBeforeTheChild) {
  auto inner = std::make_shared<Graph>();
  AddTo(*inner, CopyOf(kDevice, kHostA));
  Node* const host = Add(HostParams{DoNothing, nullptr});
  Add(ChildParams{inner}, {host});
  EXPECT_THAT(Settles(*Make()), ElementsAre(false, true));
}

// A copy that is read by the next launch only.
TEST_F(ExecTest, LaunchesSettleWhereTheNextReadsWhatOneWrites) {
  Node* const in = Add(CopyOf(kDevice, kHostA));
  Node* const out = Add(CopyOf(kHostA, kDevice), {in});
  const auto exec = Make();
  EXPECT_THAT(Settles(*exec), ElementsAre(false, false));
  EXPECT_TRUE(exec->settles_first());
  EXPECT_EQ(exec->Set(out, CopyOf(kHostB, kDevice)), CudaError::kSuccess);
  EXPECT_FALSE(exec->settles_first());
}

}  // namespace
}  // namespace wharf::cudagraph
