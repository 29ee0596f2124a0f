#include "wharf/cudashim/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/cudashim/graph/dot.h"

namespace wharf::cudagraph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GraphTest : public ::testing::Test {
 protected:
  Node* Add(std::vector<Node*> dependencies = {}, Params params = EmptyParams{}) {
    Node* node = nullptr;
    EXPECT_EQ(graph_.Add(std::move(params), dependencies, {}, &node), CudaError::kSuccess);
    return node;
  }
  CudaError Connect(Node* from, Node* to) {
    return graph_.Connect(std::vector<Node*>{from}, std::vector<Node*>{to}, {});
  }
  CudaError Disconnect(Node* from, Node* to, std::vector<EdgeData> data = {}) {
    return graph_.Disconnect(std::vector<Node*>{from}, std::vector<Node*>{to}, data);
  }
  std::vector<Node*> Order() {
    std::vector<Node*> order;
    EXPECT_TRUE(graph_.Order(&order));
    return order;
  }

  Graph graph_;
};

TEST_F(GraphTest, OrderIsThatOfAddingWhereDependenciesAllowIt) {
  Node *a = Add(), *b = Add(), *c = Add({b}), *d = Add();
  EXPECT_THAT(Order(), ElementsAre(a, b, c, d));
  EXPECT_EQ(Connect(d, a), CudaError::kSuccess);
  EXPECT_THAT(Order(), ElementsAre(b, c, d, a));
}

TEST_F(GraphTest, ACircleHasNoOrder) {
  Node *a = Add(), *b = Add({a}), *c = Add({b});
  EXPECT_EQ(Connect(c, a), CudaError::kSuccess);
  std::vector<Node*> order;
  EXPECT_FALSE(graph_.Order(&order));
  EXPECT_EQ(Disconnect(b, c), CudaError::kSuccess);
  EXPECT_THAT(Order(), ElementsAre(c, a, b));
}

TEST_F(GraphTest, RefusesDependenciesThatAreNone) {
  Graph other;
  Node *a = Add(), *foreign = nullptr, *node = nullptr;
  ASSERT_EQ(other.Add(EmptyParams{}, {}, {}, &foreign), CudaError::kSuccess);
  EXPECT_EQ(graph_.Add(EmptyParams{}, std::vector<Node*>{a, a}, {}, &node), CudaError::kInvalidValue);
  EXPECT_EQ(graph_.Add(EmptyParams{}, std::vector<Node*>{foreign}, {}, &node), CudaError::kInvalidValue);
  EXPECT_EQ(graph_.Add(EmptyParams{}, std::vector<Node*>{nullptr}, {}, &node), CudaError::kInvalidValue);
  EXPECT_EQ(graph_.nodes().size(), 1u);
  EXPECT_EQ(Connect(a, foreign), CudaError::kInvalidValue);
  EXPECT_EQ(Connect(a, a), CudaError::kInvalidValue);
}

TEST_F(GraphTest, EdgesAreAddedAllOrNone) {
  Node *a = Add(), *b = Add({a}), *c = Add();
  const std::vector<Node*> from{c, a}, to{b, b};
  EXPECT_EQ(graph_.Connect(from, to, {}), CudaError::kInvalidValue);  // a -> b is there
  EXPECT_EQ(b->dependencies().size(), 1u);
  const std::vector<Node*> twice{c, c};
  EXPECT_EQ(graph_.Connect(twice, to, {}), CudaError::kInvalidValue);
  EXPECT_THAT(c->dependents(), IsEmpty());
}

TEST_F(GraphTest, AnEdgeIsRemovedByItsData) {
  Node *a = Add(), *b = Add();
  const std::vector<Node*> from{a}, to{b};
  const std::vector<EdgeData> data{{1, 0, 1, {}}};
  EXPECT_EQ(graph_.Connect(from, to, data), CudaError::kSuccess);
  EXPECT_EQ(b->dependencies().at(0).data, data[0]);
  EXPECT_EQ(Disconnect(a, b), CudaError::kInvalidValue);
  EXPECT_EQ(Disconnect(a, b, data), CudaError::kSuccess);
  EXPECT_THAT(b->dependencies(), IsEmpty());
  EXPECT_THAT(a->dependents(), IsEmpty());
  EXPECT_EQ(Disconnect(a, b, data), CudaError::kInvalidValue);
}

TEST_F(GraphTest, RemovingANodeSeversItsEdges) {
  Node *a = Add(), *b = Add({a}), *c = Add({b, a});
  EXPECT_EQ(graph_.Remove(b), CudaError::kSuccess);
  EXPECT_FALSE(Node::Contains(b));
  EXPECT_THAT(a->dependents(), ElementsAre(c));
  EXPECT_EQ(c->dependencies().size(), 1u);
  EXPECT_EQ(graph_.Remove(b), CudaError::kInvalidValue);
}

TEST_F(GraphTest, NothingLeavesAGraphWithMemoryNodes) {
  Node* const memory = Add({}, AllocationParams{std::make_shared<GraphMemory>()});
  Node* const after = Add({memory});
  EXPECT_TRUE(graph_.HasMemoryNodes());
  EXPECT_EQ(graph_.Remove(after), CudaError::kNotSupported);
  EXPECT_EQ(Disconnect(memory, after), CudaError::kNotSupported);
}

TEST_F(GraphTest, NothingLeavesAGraphThatIsCapturedInto) {
  Node* const node = Add();
  graph_.captures = 1;
  EXPECT_EQ(graph_.Remove(node), kIllegalState);
}

TEST_F(GraphTest, ACloneIsAGraphOfItsOwn) {
  Node *a = Add({}, FillParams{{16, 0, 0}, {4, 1, 1}, 7, 1}), *b = Add({a});
  const std::shared_ptr<Graph> clone = graph_.Clone();
  Node* const copy = clone->FindClone(a->id, false);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(std::get<FillParams>(copy->params).value, 7u);
  EXPECT_THAT(copy->dependents(), ElementsAre(clone->FindClone(b->id, false)));
  std::get<FillParams>(a->params).value = 8;
  EXPECT_EQ(std::get<FillParams>(copy->params).value, 7u);
  EXPECT_EQ(clone->FindClone(copy->id, false), nullptr);
  EXPECT_FALSE(clone->Owns(a));
}

TEST_F(GraphTest, ChildrenAreClonedToo) {
  auto inner = std::make_shared<Graph>();
  Node* leaf = nullptr;
  ASSERT_EQ(inner->Add(EmptyParams{}, {}, {}, &leaf), CudaError::kSuccess);
  Add({}, ChildParams{inner});
  const std::shared_ptr<Graph> clone = graph_.Clone();
  EXPECT_EQ(clone->FindClone(leaf->id, false), nullptr);
  Node* const copy = clone->FindClone(leaf->id, true);
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(copy->graph, inner.get());
}

TEST(Handles, AreKnownWhileTheyLive) {
  Node* node = nullptr;
  Graph* handle = nullptr;
  {
    Graph graph;
    handle = &graph;
    ASSERT_EQ(graph.Add(EmptyParams{}, {}, {}, &node), CudaError::kSuccess);
    EXPECT_TRUE(Node::Contains(node));
    EXPECT_TRUE(Graph::Contains(handle));
  }
  EXPECT_FALSE(Node::Contains(node));
  EXPECT_FALSE(Graph::Contains(handle));
}

TEST_F(GraphTest, DotNamesNodesEdgesAndChildren) {
  auto inner = std::make_shared<Graph>();
  ASSERT_EQ(inner->Add(EmptyParams{}, {}, {}, nullptr), CudaError::kSuccess);
  Add({Add()}, ChildParams{inner});
  const std::string dot =
      ToDot(graph_, [](const Node& node) { return node.type() == NodeType::kChild ? "a \"child\"" : "empty"; });
  EXPECT_THAT(dot, HasSubstr("node1 -> node2;"));
  EXPECT_THAT(dot, HasSubstr("node2 [label=\"a \\\"child\\\"\"];"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster2"));
  EXPECT_THAT(dot, HasSubstr("node3 [label=\"empty\"];"));
}

}  // namespace
}  // namespace wharf::cudagraph
