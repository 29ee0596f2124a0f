#include "wharf/graph/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "wharf/graph/node_facts.h"

namespace wharf::graph {
namespace {

// What a folding function sees: the node, its output's type and its inputs' values (null where absent).
struct Task {
  const Graph& graph;
  const Node& node;
  const TensorType& out;
  std::vector<const Constant*> in;

  const Shape& InShape(size_t index) const { return in[index]->type.shape; }
};
using Result = absl::StatusOr<Constant>;

Constant WithBytes(const TensorType& type, std::vector<std::byte> bytes) {
  return {type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// Calls `write` with a null pointer of the element's type, so that a generic lambda knows it.
template <typename Function>
auto WithElementType(ElementType element, Function&& function) {
  switch (element) {
    case ElementType::kFloat:
      return function(static_cast<float*>(nullptr));
    case ElementType::kDouble:
      return function(static_cast<double*>(nullptr));
    case ElementType::kInt8:
      return function(static_cast<int8_t*>(nullptr));
    case ElementType::kUint8:
      return function(static_cast<uint8_t*>(nullptr));
    case ElementType::kInt16:
      return function(static_cast<int16_t*>(nullptr));
    case ElementType::kInt32:
      return function(static_cast<int32_t*>(nullptr));
    case ElementType::kInt64:
      return function(static_cast<int64_t*>(nullptr));
    case ElementType::kBool:
      break;
  }
  return function(static_cast<bool*>(nullptr));
}

bool IsReal(ElementType element) { return element == ElementType::kFloat || element == ElementType::kDouble; }

template <typename From>
Constant Stored(const TensorType& type, const std::vector<From>& values) {
  return WithElementType(type.element, [&]<typename To>(To*) {
    std::vector<std::byte> bytes(values.size() * sizeof(To));
    for (size_t i = 0; i < values.size(); ++i) {
      const To value = static_cast<To>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
    }
    return WithBytes(type, std::move(bytes));
  });
}

// --- moving elements: output element i is element source(i) of an input ---

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

// Calls `visit(linear index, coordinates)` for every element in row-major order.
template <typename Visit>
void ForEachElement(const Shape& shape, Visit visit) {
  const int64_t elements = TensorType{ElementType::kBool, shape}.Elements();
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < elements; ++i) {
    visit(i, at);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

Constant Moved(const Constant& from, const TensorType& out, const std::function<int64_t(const Shape&)>& source) {
  const int64_t size = ByteSize(out.element);
  std::vector<std::byte> bytes(out.Bytes());
  ForEachElement(out.shape, [&](int64_t i, const Shape& at) {
    std::memcpy(bytes.data() + i * size, from.bytes->data() + source(at) * size, size);
  });
  return WithBytes(out, std::move(bytes));
}

int64_t Offset(const Shape& strides, const Shape& at) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) offset += strides[axis] * at[axis];
  return offset;
}

// `from` seen with the shape `to` that it broadcasts to.
Constant Broadcast(const Constant& from, const Shape& to) {
  const Shape& shape = from.type.shape;
  const Shape strides = Strides(shape);
  const size_t skipped = to.size() - shape.size();
  return Moved(from, {from.type.element, to}, [&](const Shape& at) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      offset += shape[axis] == 1 ? 0 : strides[axis] * at[axis + skipped];
    }
    return offset;
  });
}

Result SameElements(const Task& task) {
  if (task.in[0]->type.Elements() != task.out.Elements()) {
    return InvalidArgument("{} cannot become {}", task.in[0]->type.Text(), task.out.Text());
  }
  return Constant{task.out, task.in[0]->bytes};
}

Result FoldExpand(const Task& task) { return Broadcast(*task.in[0], task.out.shape); }

Result FoldGather(const Task& task) {
  const Shape& data = task.InShape(0);
  const int64_t rank = static_cast<int64_t>(data.size());
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(task.node.Int("axis", 0), rank));
  WHARF_ASSIGN_OR_RETURN(std::vector<int64_t> indices, Integers(*task.in[1]));
  for (int64_t& index : indices) {
    if (index < 0) index += data[axis];
    if (index < 0 || index >= data[axis]) return InvalidArgument("index {} of {}", index, data[axis]);
  }
  const Shape strides = Strides(data), index_strides = Strides(task.InShape(1));
  const size_t index_rank = index_strides.size();
  return Moved(*task.in[0], task.out, [&](const Shape& at) {
    int64_t offset = 0, index = 0;
    for (int64_t i = 0; i < axis; ++i) offset += strides[i] * at[i];
    for (size_t i = 0; i < index_rank; ++i) index += index_strides[i] * at[axis + i];
    for (int64_t i = axis + 1; i < rank; ++i) offset += strides[i] * at[i + index_rank - 1];
    return offset + strides[axis] * indices[index];
  });
}

Result FoldSlice(const Task& task) {
  WHARF_ASSIGN_OR_RETURN(const SliceRange range, SliceOf(task.graph, task.node));
  const Shape strides = Strides(task.InShape(0));
  return Moved(*task.in[0], task.out, [&](const Shape& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) offset += strides[i] * (range.starts[i] + range.steps[i] * at[i]);
    return offset;
  });
}

Result FoldConcat(const Task& task) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(task.node.Int("axis", 0), task.out.Rank()));
  std::vector<std::byte> bytes(task.out.Bytes());
  const Shape strides = Strides(task.out.shape);
  const int64_t size = ByteSize(task.out.element);
  int64_t begin = 0;
  for (const Constant* part : task.in) {
    ForEachElement(part->type.shape, [&](int64_t i, const Shape& at) {
      const int64_t offset = Offset(strides, at) + begin * strides[axis];
      std::memcpy(bytes.data() + offset * size, part->bytes->data() + i * size, size);
    });
    begin += part->type.shape[axis];
  }
  return WithBytes(task.out, std::move(bytes));
}

Result FoldTranspose(const Task& task) {
  const Shape strides = Strides(task.InShape(0));
  Shape order(strides.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  order = task.node.Ints("perm", order);
  return Moved(*task.in[0], task.out, [&](const Shape& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < order.size(); ++i) offset += strides[order[i]] * at[i];
    return offset;
  });
}

// --- computing ---

Result FoldSize(const Task& task) {
  return Stored(task.out, std::vector<int64_t>{task.graph.Type(task.node.inputs[0]).Elements()});
}

Result FoldShape(const Task& task) {
  const Shape& shape = task.graph.Type(task.node.inputs[0]).shape;
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = clamp(task.node.Int("start", 0)), end = std::max(begin, clamp(task.node.Int("end", rank)));
  const std::span<const int64_t> part = std::span(shape).subspan(begin, end - begin);
  return Constant::Of(ElementType::kInt64, {static_cast<int64_t>(part.size())}, part);
}

Result FoldCast(const Task& task) {
  if (IsReal(task.out.element)) return Stored(task.out, Numbers(*task.in[0]));
  if (!IsReal(task.in[0]->type.element)) return Stored(task.out, *Integers(*task.in[0]));
  if (task.out.element == ElementType::kBool) return Stored(task.out, Numbers(*task.in[0]));
  std::vector<int64_t> integers;
  for (const double value : Numbers(*task.in[0])) {
    if (!(std::abs(value) < 0x1p62)) return InvalidArgument("{} is no integer", value);
    integers.push_back(static_cast<int64_t>(value));
  }
  return Stored(task.out, integers);
}

Result FoldRange(const Task& task) {
  const double start = Numbers(*task.in[0])[0], step = Numbers(*task.in[2])[0];
  std::vector<double> values(task.out.Elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return Stored(task.out, values);
}

absl::StatusOr<int64_t> OnIntegers(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  if (op == "Add") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (op == "Sub") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (op == "Mul") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else if (op == "Div" || op == "Mod") {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return InvalidArgument("{} divided by {}", a, b);
    const int64_t modulus = a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;  // of the divisor's sign
    result = op == "Div" ? a / b : modulus;
  } else if (op == "Max" || op == "Min") {
    result = op == "Max" ? std::max(a, b) : std::min(a, b);
  } else {
    result = op == "Equal" ? a == b : op == "Less" ? a < b : op == "Greater" ? a > b : op == "And" ? a && b : a || b;
  }
  if (overflows) return InvalidArgument("{} {} {} does not fit 64 bits", a, op, b);
  return result;
}

double UnaryOnReal(std::string_view op, double value) {
  if (op == "Neg") return -value;
  if (op == "Abs") return std::abs(value);
  if (op == "Floor") return std::floor(value);
  if (op == "Ceil") return std::ceil(value);
  return std::sqrt(value);
}

Result FoldUnary(const Task& task) {
  if (IsReal(task.in[0]->type.element)) {
    std::vector<double> values = Numbers(*task.in[0]);
    for (double& value : values) value = UnaryOnReal(task.node.op, value);
    return Stored(task.out, values);
  }
  WHARF_ASSIGN_OR_RETURN(std::vector<int64_t> values, Integers(*task.in[0]));
  for (int64_t& value : values) {
    if (task.node.op == "Not") {
      value = value == 0;
    } else if (task.node.op == "Neg" || value < 0) {  // else Abs
      WHARF_ASSIGN_OR_RETURN(value, OnIntegers("Sub", 0, value));
    }
  }
  return Stored(task.out, values);
}

double OnReals(std::string_view op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Equal") return a == b;
  return op == "Less" ? a < b : a > b;
}

Result FoldBinary(const Task& task) {
  if (task.in.size() != 2) return Unimplemented("folding {} of {} inputs", task.node.op, task.in.size());
  const Constant a = Broadcast(*task.in[0], task.out.shape), b = Broadcast(*task.in[1], task.out.shape);
  if (IsReal(a.type.element)) {
    if (task.node.op == "Mod") return Unimplemented("folding Mod of reals");
    std::vector<double> values = Numbers(a);
    const std::vector<double> others = Numbers(b);
    for (size_t i = 0; i < values.size(); ++i) values[i] = OnReals(task.node.op, values[i], others[i]);
    return Stored(task.out, values);
  }
  std::vector<int64_t> values = *Integers(a);
  const std::vector<int64_t> others = *Integers(b);
  for (size_t i = 0; i < values.size(); ++i) {
    WHARF_ASSIGN_OR_RETURN(values[i], OnIntegers(task.node.op, values[i], others[i]));
  }
  return Stored(task.out, values);
}

Result FoldWhere(const Task& task) {
  const auto choose = *Integers(Broadcast(*task.in[0], task.out.shape));
  const Constant a = Broadcast(*task.in[1], task.out.shape), b = Broadcast(*task.in[2], task.out.shape);
  const int64_t size = ByteSize(task.out.element);
  std::vector<std::byte> bytes = *b.bytes;
  for (size_t i = 0; i < choose.size(); ++i) {
    if (choose[i] != 0) std::memcpy(bytes.data() + i * size, a.bytes->data() + i * size, size);
  }
  return WithBytes(task.out, std::move(bytes));
}

Result FoldReduce(const Task& task) {
  // Sizes are products over all of a shape; anything finer runs with the rest.
  if (task.out.Elements() != 1) return Unimplemented("folding {} to {}", task.node.op, task.out.Text());
  WHARF_ASSIGN_OR_RETURN(const auto values, Integers(*task.in[0]));
  int64_t result = task.node.op == "ReduceProd" ? 1 : 0;
  for (const int64_t value : values) {
    WHARF_ASSIGN_OR_RETURN(result, OnIntegers(task.node.op == "ReduceProd" ? "Mul" : "Add", result, value));
  }
  return Stored(task.out, std::vector<int64_t>{result});
}

Result FoldConstantOfShape(const Task& task) {
  const Constant value = task.node.Tensor("value").value_or(Constant::Of<float>(ElementType::kFloat, {1}, {{0.0F}}));
  if (value.type.Elements() != 1) return InvalidArgument("a value of {} elements", value.type.Elements());
  return Broadcast({{value.type.element, {1}}, value.bytes}, task.out.shape);
}

Result FoldConstant(const Task& task) {
  if (const auto value = task.node.Tensor("value")) return *value;
  const auto& attributes = task.node.attributes;
  if (attributes.contains("value_float")) return Stored<float>(task.out, {task.node.Float("value_float", 0)});
  if (attributes.contains("value_int")) return Stored<int64_t>(task.out, {task.node.Int("value_int", 0)});
  if (attributes.contains("value_ints")) return Stored(task.out, task.node.Ints("value_ints", {}));
  if (attributes.contains("value_floats")) return Stored(task.out, task.node.Floats("value_floats", {}));
  return Unimplemented("a constant of text or of sparse values");
}

using Folder = Result (*)(const Task&);

const absl::flat_hash_map<std::string_view, Folder>& Folders() {
  static const absl::flat_hash_map<std::string_view, Folder> kFolders = {
      {"Abs", FoldUnary},           {"Add", FoldBinary},
      {"And", FoldBinary},          {"Cast", FoldCast},
      {"Ceil", FoldUnary},          {"Concat", FoldConcat},
      {"Constant", FoldConstant},   {"ConstantOfShape", FoldConstantOfShape},
      {"Div", FoldBinary},          {"Equal", FoldBinary},
      {"Expand", FoldExpand},       {"Flatten", SameElements},
      {"Floor", FoldUnary},         {"Gather", FoldGather},
      {"Greater", FoldBinary},      {"Identity", SameElements},
      {"Less", FoldBinary},         {"Max", FoldBinary},
      {"Min", FoldBinary},          {"Mod", FoldBinary},
      {"Mul", FoldBinary},          {"Neg", FoldUnary},
      {"Not", FoldUnary},           {"Or", FoldBinary},
      {"Range", FoldRange},         {"ReduceProd", FoldReduce},
      {"ReduceSum", FoldReduce},    {"Reshape", SameElements},
      {"Shape", FoldShape},         {"Size", FoldSize},
      {"Slice", FoldSlice},         {"Sqrt", FoldUnary},
      {"Squeeze", SameElements},    {"Sub", FoldBinary},
      {"Transpose", FoldTranspose}, {"Unsqueeze", SameElements},
      {"Where", FoldWhere}};
  return kFolders;
}

}  // namespace

absl::StatusOr<std::optional<Constant>> Fold(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.outputs[0] == kAbsent) return std::nullopt;
  const TensorType& out = graph.Type(node.outputs[0]);
  const auto folder = Folders().find(node.op);
  if (folder == Folders().end() || out.Elements() > kMaxFoldedElements) return std::nullopt;
  Task task{graph, node, out, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool type_suffices = node.op == "Shape" || node.op == "Size";
    const Constant* constant = graph.ConstantInput(node, i);
    if (!type_suffices && node.HasInput(i) && constant == nullptr) return std::nullopt;
    task.in.push_back(constant);
  }
  Result result = folder->second(task);
  if (absl::IsUnimplemented(result.status())) return std::nullopt;
  if (!result.ok()) return InvalidArgument("{}: {}", node.Label(), Message(result.status()));
  if (result->type != out) {
    return InvalidArgument("{}: {} is not of type {}", node.Label(), result->type.Text(), out.Text());
  }
  return std::optional(*std::move(result));
}

}  // namespace wharf::graph
