// A transformer's block as exporters write it: fused, split over its keys and cut into rows it gives what it gave.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "wharf/exec/testing.h"
#include "wharf/graph/fuse.h"
#include "wharf/graph/split_attention.h"
#include "wharf/graph/unread_rows.h"

namespace wharf::exec {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::RowRange;
using Attributes = std::map<std::string, graph::Attribute, std::less<>>;

struct BlockShape {
  int64_t batch = 1, tokens = 8, heads = 2, width = 4;  // of one head
  float loudness = 1;                                   // by which queries are multiplied
  int64_t Channels() const { return heads * width; }
};

// Tokens [batch, tokens, channels] through queries, keys and values, heads, their attention and a layer with GELU, node
// by node as PyTorch exports them.
class Block {
 public:
  static Graph Make(const BlockShape& shape, uint32_t seed) {
    Block block(shape, seed);
    block.Build();
    return block.graph_;
  }

 private:
  Block(const BlockShape& shape, uint32_t seed) : shape_(shape), seed_(seed) {}

  int Value(graph::Shape shape) {
    graph_.values.push_back({fmt::format("v{}", graph_.values.size()), {ElementType::kFloat, std::move(shape)}, {}});
    return static_cast<int>(graph_.values.size()) - 1;
  }
  int Weights(const graph::Shape& shape) {
    const int value = Value(shape);
    graph_.values[value].constant = testing::RandomFloats(shape, seed_ + value);
    return value;
  }
  int Number(float number) {
    const int value = Value({});
    graph_.values[value].constant = graph::Constant::Of<float>(ElementType::kFloat, {}, {{number}});
    return value;
  }
  int Integers(const std::vector<int64_t>& numbers) {
    const int value = Value({static_cast<int64_t>(numbers.size())});
    graph_.values[value].type.element = ElementType::kInt64;
    graph_.values[value].constant =
        graph::Constant::Of<int64_t>(ElementType::kInt64, graph_.values[value].type.shape, numbers);
    return value;
  }
  int Apply(std::string op, std::vector<int> inputs, graph::Shape out, Attributes attributes = {}) {
    const int value = Value(std::move(out));
    graph_.nodes.push_back(
        {std::move(op), fmt::format("n{}", value), std::move(inputs), {value}, std::move(attributes)});
    return value;
  }
  const graph::Shape& Shape(int value) const { return graph_.Type(value).shape; }

  int Layer(int x, int64_t columns) {
    graph::Shape out = Shape(x);
    const int product = [&] {
      const int weights = Weights({out.back(), columns});
      out.back() = columns;
      return Apply("MatMul", {x, weights}, out);
    }();
    return Apply("Add", {Weights({columns}), product}, out);
  }
  // Channels [from, from + count) of [tokens, batch, 3 channels] as [batch * heads, tokens, width], or turned.
  int Heads(int x, int64_t from, bool turned) {
    const int64_t n = shape_.tokens, all = shape_.batch * shape_.heads, w = shape_.width;
    const int part = Apply("Slice", {x, Integers({from}), Integers({from + shape_.Channels()}), Integers({2})},
                           {n, shape_.batch, shape_.Channels()});
    const int heads = Apply("Reshape", {part, Integers({n, all, w})}, {n, all, w});
    if (turned) return Apply("Transpose", {heads}, {all, w, n}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
    return Apply("Transpose", {heads}, {all, n, w}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  }
  int Gelu(int x) {
    const graph::Shape shape = Shape(x);
    const int inner = Apply("Div", {x, Number(1.4142135F)}, shape);
    const int sum = Apply("Add", {Apply("Erf", {inner}, shape), Number(1)}, shape);
    return Apply("Mul", {Apply("Mul", {x, sum}, shape), Number(0.5)}, shape);
  }

  void Build() {
    const int64_t n = shape_.tokens, c = shape_.Channels(), all = shape_.batch * shape_.heads;
    const int x = Value({shape_.batch, n, c});
    graph_.inputs = {x};
    const int tokens = Apply("Transpose", {x}, {n, shape_.batch, c}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    const int projected = Layer(tokens, 3 * c);
    const int queries = Heads(projected, 0, false);
    const int scaled = Apply("Mul", {queries, Number(shape_.loudness)}, Shape(queries));
    const int scores = Apply("MatMul", {scaled, Heads(projected, c, true)}, {all, n, n});
    const int weights = Apply("Softmax", {scores}, {all, n, n}, {{"axis", int64_t{-1}}});
    const int heads = Apply("MatMul", {weights, Heads(projected, 2 * c, false)}, {all, n, shape_.width});
    const int merged = Apply("Transpose", {heads}, {n, all, shape_.width}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    const int channels = Apply("Reshape", {merged, Integers({n, shape_.batch, c})}, {n, shape_.batch, c});
    const int back = Apply("Transpose", {channels}, {shape_.batch, n, c}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    graph_.outputs = {Gelu(Layer(Apply("Add", {back, x}, {shape_.batch, n, c}), 2 * c))};
  }

  const BlockShape shape_;
  const uint32_t seed_;
  Graph graph_;
};

BlockShape RandomShape() {
  return {*rc::gen::inRange(1, 3), *rc::gen::inRange(2, 24), *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 9), 1};
}

std::unique_ptr<Program> Prepared(Graph graph) {
  EXPECT_TRUE(Validate(graph).ok());
  auto program = testing::TestEngine().Prepare(std::move(graph));
  EXPECT_TRUE(program.ok()) << ToString(program.status());
  return *std::move(program);
}

Part Tokens(const Program& program, uint32_t seed) {
  const int input = program.Graph().inputs[0];
  return {{input, AllRows(program, input)},
          testing::ToTensor(testing::RandomFloats(program.Graph().Type(input).shape, seed))};
}

// All rows of the only output.
graph::Constant Output(const Program& program, uint32_t seed) {
  const auto results = RunWhole(program, {{Tokens(program, seed).tensor}});
  EXPECT_TRUE(results.ok()) << ToString(results.status());
  return testing::ToConstant(*results->at(0));
}

int Count(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) { return node.op == op; }));
}

RC_GTEST_PROP(FuseOperators, LeavesResultsAsTheyAre, (uint32_t seed)) {
  const Graph written = Block::Make(RandomShape(), seed), fused = graph::FuseOperators(written);
  RC_ASSERT(Count(fused, "Attention") == 1 && Count(fused, "Gelu") == 1 && Count(fused, "Linear") == 2);
  RC_ASSERT(Count(fused, "Softmax") + Count(fused, "Erf") + Count(fused, "MatMul") + Count(fused, "Mul") == 0);
  RC_ASSERT(bool(testing::Near(Output(*Prepared(fused), seed), Output(*Prepared(written), seed), 1e-5, 1e-5)));
}

// A classifier reads one token in the end.
RC_GTEST_PROP(DropUnreadRows, LeavesResultsAsTheyAre, (uint32_t seed)) {
  const BlockShape shape = RandomShape();
  Graph block = graph::FuseOperators(Block::Make(shape, seed));
  const int index = static_cast<int>(block.values.size()), token = index + 1, read = block.outputs[0];
  const int64_t row = *rc::gen::inRange(-shape.tokens, shape.tokens);
  block.values.push_back(
      {"index", {ElementType::kInt64, {}}, graph::Constant::Of<int64_t>(ElementType::kInt64, {}, {{row}})});
  block.values.push_back({"token", {ElementType::kFloat, {shape.batch, 2 * shape.Channels()}}, {}});
  block.nodes.push_back({"Gather", "token", {read, index}, {token}, {{"axis", int64_t{1}}}});
  block.outputs = {token};
  const Graph dropped = graph::DropUnreadRows(block);
  const auto rows_of = [](const Graph& graph, std::string_view op) {
    const auto node =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& one) { return one.op == op; });
    return graph.Type(node->outputs[0]).shape[1];
  };
  RC_ASSERT(rows_of(dropped, "Gelu") == 1 && rows_of(dropped, "Attention") == 1);
  RC_ASSERT(bool(testing::Near(Output(*Prepared(dropped), seed), Output(*Prepared(block), seed), 1e-5, 1e-5)));
}

RC_GTEST_PROP(SplitAttention, AtAnyKeyEqualsTheWhole, (uint32_t seed)) {
  const BlockShape shape = RandomShape();
  const Graph fused = graph::FuseOperators(Block::Make(shape, seed));
  const Graph split = graph::SplitAttention(fused, *rc::gen::inRange(1, static_cast<int>(shape.tokens)));
  RC_ASSERT(Count(split, "PartialAttention") == 2 && Count(split, "Attention") == 0);
  RC_ASSERT(bool(testing::Near(Output(*Prepared(split), seed), Output(*Prepared(fused), seed), 1e-5, 1e-5)));
}

// Scores of some thousands, whose exponentials no float holds.
RC_GTEST_PROP(SplitAttention, DoesNotOverflow, (uint32_t seed)) {
  BlockShape shape = RandomShape();
  shape.loudness = 1e4;
  const Graph fused = graph::FuseOperators(Block::Make(shape, seed));
  const Graph split = graph::SplitAttention(fused, *rc::gen::inRange(1, static_cast<int>(shape.tokens)));
  RC_ASSERT(bool(testing::Near(Output(*Prepared(split), seed), Output(*Prepared(fused), seed), 1e-5, 1e-5)));
}

RC_GTEST_PROP(SplitAttention, GivesTheSameRowsFromTheRowsTheyNeed, (uint32_t seed)) {
  const BlockShape shape = RandomShape();
  const int tokens = static_cast<int>(shape.tokens), key_row = *rc::gen::inRange(1, tokens + 1);
  const auto program = Prepared(graph::SplitAttention(graph::FuseOperators(Block::Make(shape, seed)), key_row));
  const int output = program->Graph().outputs[0];
  const Part all = Tokens(*program, seed);
  const int lo = *rc::gen::inRange(0, tokens);
  const Rows wanted{output, {lo, *rc::gen::inRange(lo + 1, tokens + 1)}};
  const auto part = program->Run({{all}}, {{wanted}});
  if (!part.ok()) RC_FAIL(ToString(part.status()));
  const auto whole = testing::ToTensor(Output(*program, seed));
  const Part expected = program->Cut({{output, {0, tokens}}, whole}, wanted.range);
  RC_ASSERT(bool(testing::Near(testing::ToConstant(*(*part)[0]), testing::ToConstant(*expected.tensor), 1e-5, 1e-5)));
}

// The server's part of the device's queries: from those and its own keys and values, nothing else.
TEST(SplitAttention, ReadsOnlyItsBandOfKeys) {
  const BlockShape shape{1, 10, 2, 4, 1};
  const auto program = Prepared(graph::SplitAttention(graph::FuseOperators(Block::Make(shape, 1)), 3));
  const Graph& graph = program->Graph();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    if (node.op != "PartialAttention") continue;
    const RowRange band = node.Int("first", 0) == 0 ? RowRange{0, 3} : RowRange{3, 10};
    for (const RowRange rows : {RowRange{0, 2}, RowRange{5, 6}, RowRange{0, 10}}) {
      EXPECT_EQ(RowsRead(graph, program->RowRules(), static_cast<int>(n), 0, rows), rows);
      EXPECT_EQ(RowsRead(graph, program->RowRules(), static_cast<int>(n), 1, rows), band);
      EXPECT_EQ(RowsRead(graph, program->RowRules(), static_cast<int>(n), 2, rows), band);
    }
  }
  EXPECT_EQ(Count(graph, "PartialAttention"), 2);
}

TEST(SplitAttention, LeavesAttentionWithFewerKeysAsItIs) {
  const Graph fused = graph::FuseOperators(Block::Make({1, 10, 2, 4, 1}, 1));
  EXPECT_EQ(Count(graph::SplitAttention(fused, 10), "Attention"), 1);
  EXPECT_EQ(Count(graph::SplitAttention(fused, 9), "Attention"), 0);
}

}  // namespace
}  // namespace wharf::exec
