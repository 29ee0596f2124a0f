// Profile::Parse: the CSV form of a profile.
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "wharf/base/split_text.h"
#include "wharf/split/costs/profile.h"
#include "wharf/split/costs/slice_cost.h"

namespace wharf::split {
namespace {

template <typename Number>
absl::StatusOr<Number> ParseNumber(std::string_view text, std::string_view what) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return InvalidArgument("{} \"{}\" is no number", what, text);
  return value;
}

// The cells of a line by their column's name.
class Row {
 public:
  Row(const std::map<std::string, size_t, std::less<>>& columns, std::vector<std::string_view> cells)
      : columns_(columns), cells_(std::move(cells)) {}
  bool Has(std::string_view column) const { return columns_.find(column) != columns_.end(); }
  std::string_view Text(std::string_view column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= cells_.size() ? std::string_view() : cells_[found->second];
  }
  template <typename Number>
  absl::StatusOr<Number> Get(std::string_view column) const {
    return ParseNumber<Number>(Text(column), column);
  }

 private:
  const std::map<std::string, size_t, std::less<>>& columns_;
  std::vector<std::string_view> cells_;
};

absl::Status ReadShape(const Row& row, graph::Operator& op) {
  const std::string_view first = SplitText(row.Text("output_shapes"), '|')[0];
  if (first.empty()) return absl::OkStatus();
  for (const std::string_view text : SplitText(first, 'x')) {
    WHARF_ASSIGN_OR_RETURN(const int64_t size, ParseNumber<int64_t>(text, "output_shapes"));
    op.output_shape.push_back(size);
  }
  return absl::OkStatus();
}

// Rows are the axis `column` names; an empty or "None" one has none.
absl::Status ReadAxis(const Row& row, std::string_view column, graph::Operator& op) {
  const std::string_view text = row.Text(column);
  if (text.empty() || text == "None") return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const size_t axis, ParseNumber<size_t>(text, column));
  if (axis >= op.output_shape.size()) return InvalidArgument("{} {} is no axis of the shape", column, axis);
  if (op.output_shape[axis] < 1 || op.output_shape[axis] > std::numeric_limits<int>::max()) {
    return InvalidArgument("{} rows", op.output_shape[axis]);
  }
  op.rows = static_cast<int>(op.output_shape[axis]);
  return absl::OkStatus();
}

absl::StatusOr<graph::RowRule> ReadRule(const Row& row) {
  graph::RowRule rule;
  WHARF_ASSIGN_OR_RETURN(rule.kind, graph::ParseRowKind(row.Text("kind")));
  WHARF_ASSIGN_OR_RETURN(rule.kernel, row.Get<int>("kernel"));
  WHARF_ASSIGN_OR_RETURN(rule.stride, row.Get<int>("stride"));
  WHARF_ASSIGN_OR_RETURN(rule.padding, row.Get<int>("padding"));
  WHARF_ASSIGN_OR_RETURN(rule.dilation, row.Get<int>("dilation"));
  return rule;
}

// A log that does not say how wide windows are: wide enough for the usual kernels (7 rows, or 7 with dilation 1 around
// a stride), so that a plan is valid whatever they were.
graph::RowRule AssumeRule(const Row& row, int input_rows, const graph::Operator& op) {
  constexpr int kWidestKernel = 7;
  const bool windowed = op.name.find("conv") != std::string::npos || op.name.find("pool") != std::string::npos;
  if (row.Text("global_op") == "True") return {graph::RowKind::kGlobal};
  if (windowed && input_rows >= op.rows && input_rows % op.rows == 0) {
    const int stride = input_rows / op.rows;
    return {graph::RowKind::kWindow, std::max(kWidestKernel, stride), stride, stride == 1 ? kWidestKernel / 2 : 3, 1};
  }
  if (windowed && op.rows % input_rows == 0) {
    const int stride = op.rows / input_rows;
    return {graph::RowKind::kTransposed, 3 * stride, stride, stride, 1};
  }
  if (input_rows == op.rows) return {graph::RowKind::kRow};
  return {op.name == "interpolate" ? graph::RowKind::kResizeLinear : graph::RowKind::kGlobal};
}

// The same for every input. What reads everything is not cut.
absl::Status ReadRows(const Row& row, const Profile& profile, graph::Operator& op) {
  const bool said = row.Has("kind");
  WHARF_RETURN_IF_ERROR(ReadAxis(row, said ? "row_dim" : "sliceable_dim", op));
  const int input_rows = op.inputs.empty() ? op.rows : profile.operators[op.inputs[0]].op.rows;
  graph::RowRule rule = AssumeRule(row, input_rows, op);
  if (said) {
    WHARF_ASSIGN_OR_RETURN(rule, ReadRule(row));
  }
  op.rules.assign(op.inputs.size(), rule);
  if (op.Global()) op.rows = 1;
  return absl::OkStatus();
}

absl::Status ReadOperator(const Row& row, Profile& profile) {
  ProfiledOperator one;
  graph::Operator& op = one.op;
  WHARF_ASSIGN_OR_RETURN(const int index, row.Get<int>("op"));
  if (index != profile.Size()) return InvalidArgument("operator {} where {} is expected", index, profile.Size());
  op.name = row.Text("name");
  if (const std::string_view inputs = row.Text("inputs_from"); !inputs.empty()) {
    for (const std::string_view text : SplitText(inputs, '|')) {
      WHARF_ASSIGN_OR_RETURN(const int input, ParseNumber<int>(text, "inputs_from"));
      if (input < 0 || input >= index)
        return InvalidArgument("input {} does not come before operator {}", input, index);
      op.inputs.push_back(input);
    }
  }
  WHARF_RETURN_IF_ERROR(ReadShape(row, op));
  WHARF_RETURN_IF_ERROR(ReadRows(row, profile, op));
  WHARF_ASSIGN_OR_RETURN(op.output_bytes, row.Get<int64_t>("output_bytes_f32"));
  WHARF_ASSIGN_OR_RETURN(one.full_ms[kDevice], row.Get<double>("device_ms"));
  WHARF_ASSIGN_OR_RETURN(one.full_ms[kServer], row.Get<double>("server_ms"));
  profile.operators.push_back(std::move(one));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Profile> Profile::Parse(std::string_view csv, std::string model) {
  Profile profile;
  profile.model = std::move(model);
  std::map<std::string, size_t, std::less<>> columns;
  int number = 0;
  for (std::string_view line : SplitText(csv, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string_view> cells = SplitText(line, ',');
    if (columns.empty()) {
      for (size_t i = 0; i < cells.size(); ++i) columns.emplace(cells[i], i);
      continue;
    }
    if (const absl::Status read = ReadOperator(Row(columns, cells), profile); !read.ok()) {
      return InvalidArgument("line {}: {}", number, Message(read));
    }
  }
  WHARF_RETURN_IF_ERROR(Validate(profile));
  profile.slice_cost = SliceCostOf(profile);
  return profile;
}

}  // namespace wharf::split
