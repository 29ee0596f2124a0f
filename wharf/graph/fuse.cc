#include "wharf/graph/fuse.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

namespace wharf::graph {
namespace {

constexpr double kNear = 1e-5;  // of a factor that exporters write as a float

// A value as a scalar times another.
struct Scaled {
  int value = kAbsent;
  double factor = 1;
};

class Fusing {
 public:
  explicit Fusing(Graph graph) : graph_(std::move(graph)), makers_(graph_.Makers()), readers_(graph_.values.size()) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const int value : graph_.nodes[n].inputs) {
        if (value != kAbsent) readers_[value].push_back(static_cast<int>(n));
      }
    }
    for (const int value : graph_.outputs) readers_[value].push_back(kOutput);
  }

  Graph Run() {
    std::vector<Node> nodes;  // those made take the place of the last of the nodes they stand for
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node node = graph_.nodes[n];
      std::vector<Node> made = {node};
      for (const auto fuse : {&Fusing::Gelu, &Fusing::Linear, &Fusing::Attention}) {
        if (auto fused = (this->*fuse)(node)) made = *std::move(fused);
      }
      std::move(made.begin(), made.end(), std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
    return WithoutUnused(graph_);
  }

 private:
  static constexpr int kOutput = -1;  // a reader: the graph's outputs
  using Made = std::optional<std::vector<Node>>;

  const Node* MakerOf(int value, std::string_view op) const {
    const int maker = value == kAbsent ? -1 : makers_[value];
    return maker >= 0 && graph_.nodes[maker].op == op ? &graph_.nodes[maker] : nullptr;
  }
  // As MakerOf, of a value that nobody else reads.
  const Node* OwnMakerOf(int value, std::string_view op) const {
    return value != kAbsent && readers_[value].size() == 1 ? MakerOf(value, op) : nullptr;
  }
  bool IsFloat(int value) const { return graph_.Type(value).element == ElementType::kFloat; }
  int Rank(int value) const { return graph_.Type(value).Rank(); }

  std::optional<double> Scalar(int value) const {
    const auto& constant = graph_.values[value].constant;
    if (!constant || constant->type.element != ElementType::kFloat || constant->type.Elements() != 1) return {};
    return constant->As<float>()[0];
  }

  // value = factor * result.value, through one product with, or quotient by, a scalar that leaves the shape as it is.
  Scaled Unscaled(int value) const {
    for (const std::string_view op : {"Mul", "Div"}) {
      const Node* node = MakerOf(value, op);
      if (node == nullptr || !IsFloat(value)) continue;
      for (const size_t which : {1, 0}) {
        const std::optional<double> scalar = Scalar(node->inputs[which]);
        const int other = node->inputs[1 - which];
        if (!scalar || graph_.Type(other) != graph_.Type(value) || (op == "Div" && which == 0)) continue;
        return {other, op == "Mul" ? *scalar : 1 / *scalar};
      }
    }
    return {value, 1};
  }

  // The other factor of a product one of whose factors is a scalar near `scalar`; kAbsent if it is none.
  int OtherFactor(int value, double scalar) const {
    const Scaled scaled = Unscaled(value);
    return scaled.value != value && std::abs(scaled.factor - scalar) < kNear ? scaled.value : kAbsent;
  }

  // x of 1 + erf(x / sqrt 2), all of it read by nobody else; kAbsent if `value` is something else.
  int InsideErf(int value) const {
    const Node* sum = OwnMakerOf(value, "Add");
    if (sum == nullptr) return kAbsent;
    for (const size_t which : {0, 1}) {
      const Node* erf = OwnMakerOf(sum->inputs[which], "Erf");
      if (erf == nullptr || Scalar(sum->inputs[1 - which]) != 1) continue;
      if (graph_.Type(sum->inputs[which]) != graph_.Type(value)) continue;
      return OtherFactor(erf->inputs[0], 1 / std::numbers::sqrt2);
    }
    return kAbsent;
  }

  // Of a product: (x, y) and (y, x).
  static std::vector<std::pair<int, int>> Factors(const Node& product) {
    return {{product.inputs[0], product.inputs[1]}, {product.inputs[1], product.inputs[0]}};
  }

  // x (1 + erf(x / sqrt 2)), half of one of the factors, or of the product.
  Made Gelu(const Node& last) {
    if (last.op != "Mul" || !IsFloat(last.outputs[0])) return {};
    const int halved = OtherFactor(last.outputs[0], 0.5);
    if (const Node* product = halved == kAbsent ? nullptr : OwnMakerOf(halved, "Mul")) {
      for (const auto& [x, sum] : Factors(*product)) {
        if (InsideErf(sum) == x && x != kAbsent) return GeluOf(x, last);
      }
      return {};
    }
    for (const auto& [a, b] : Factors(last)) {
      const int half = OtherFactor(a, 0.5);
      if (half == kAbsent || readers_[a].size() != 1) continue;
      if (InsideErf(b) == half || InsideErf(half) == b) return GeluOf(InsideErf(b) == half ? half : b, last);
    }
    return {};
  }

  Made GeluOf(int x, const Node& last) const {
    if (graph_.Type(x) != graph_.Type(last.outputs[0])) return {};
    return std::vector<Node>{{"Gelu", last.name, {x}, last.outputs, {}}};
  }

  Made Linear(const Node& sum) {
    if (sum.op != "Add" || sum.inputs.size() != 2) return {};
    for (const auto& [result, bias] : Factors(sum)) {
      const Node* product = OwnMakerOf(result, "MatMul");
      if (product == nullptr || !graph_.values[bias].constant || !IsFloat(bias)) continue;
      const auto& weights = graph_.values[product->inputs[1]];
      const bool matrix = weights.constant && weights.type.Rank() == 2 && Rank(product->inputs[0]) >= 2;
      if (!matrix || graph_.Type(bias).shape != Shape{weights.type.shape[1]}) continue;
      return std::vector<Node>{
          {"Linear", product->name, {product->inputs[0], product->inputs[1], bias}, sum.outputs, {}}};
    }
    return {};
  }

  // softmax(scores) V, with scores = f Q Kᵀ and f a product of scalars anywhere.
  Made Attention(const Node& last) {
    const Node* softmax = last.op == "MatMul" ? OwnMakerOf(last.inputs[0], "Softmax") : nullptr;
    if (softmax == nullptr || !IsFloat(last.outputs[0])) return {};
    const int weights = last.inputs[0];
    if (const int64_t axis = softmax->Int("axis", -1); axis != -1 && axis != Rank(weights) - 1) return {};
    const Scaled scores = Unscaled(softmax->inputs[0]);
    const Node* product = OwnMakerOf(scores.value, "MatMul");
    if (product == nullptr || readers_[softmax->inputs[0]].size() != 1) return {};
    const Scaled queries = Unscaled(product->inputs[0]), turned = Unscaled(product->inputs[1]);
    if (!SameBatch(queries.value, turned.value, last.inputs[1])) return {};
    std::vector<Node> made;
    const Scaled keys = Unscaled(Turned(turned.value, product->name, made));
    const auto scale = static_cast<float>(scores.factor * queries.factor * turned.factor * keys.factor);
    made.push_back(
        {"Attention", product->name, {queries.value, keys.value, last.inputs[1]}, last.outputs, {{"scale", scale}}});
    return made;
  }

  // Nothing is broadcast: the dimensions before the last two are the same.
  bool SameBatch(int queries, int keys, int values) const {
    const Shape &q = graph_.Type(queries).shape, &k = graph_.Type(keys).shape, &v = graph_.Type(values).shape;
    if (q.size() < 2 || q.size() != k.size() || q.size() != v.size()) return false;
    return std::equal(q.begin(), q.end() - 2, k.begin()) && std::equal(q.begin(), q.end() - 2, v.begin());
  }

  // The value with its last two axes exchanged: what a Transpose made it of, or of that another Transpose, put into
  // `nodes`.
  int Turned(int value, const std::string& name, std::vector<Node>& nodes) {
    const int rank = Rank(value);
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    int from = value;
    const Node* maker = MakerOf(value, "Transpose");
    if (maker != nullptr && maker->Ints("perm", {}).size() == order.size()) {
      order = maker->Ints("perm", {});
      from = maker->inputs[0];
    }
    std::swap(order[rank - 1], order[rank - 2]);
    if (std::is_sorted(order.begin(), order.end())) return from;
    TensorType type = graph_.Type(value);
    std::swap(type.shape[rank - 1], type.shape[rank - 2]);
    const int turned = static_cast<int>(graph_.values.size());
    graph_.values.push_back({name + " keys", std::move(type), {}});
    makers_.push_back(-1);
    readers_.emplace_back();
    nodes.push_back({"Transpose", name + " keys", {from}, {turned}, {{"perm", order}}});
    return turned;
  }

  Graph graph_;
  std::vector<int> makers_;                // of each value, as they were
  std::vector<std::vector<int>> readers_;  // of each value, nodes or kOutput, once for each time it is read
};

}  // namespace

Graph FuseOperators(Graph graph) { return Fusing(std::move(graph)).Run(); }

}  // namespace wharf::graph
