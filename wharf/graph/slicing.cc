#include "wharf/graph/slicing.h"

#include <array>
#include <utility>

namespace wharf::graph {
namespace {

constexpr std::array<std::pair<RowKind, std::string_view>, 6> kNames = {{{RowKind::kRow, "row"},
                                                                         {RowKind::kWindow, "window"},
                                                                         {RowKind::kTransposed, "transposed"},
                                                                         {RowKind::kResizeNearest, "resize_nearest"},
                                                                         {RowKind::kResizeLinear, "resize_linear"},
                                                                         {RowKind::kGlobal, "global"}}};

int FloorDivide(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int CeilDivide(int a, int b) { return -FloorDivide(-a, b); }

RowRange Clip(int lo, int hi, int rows) { return Intersection({lo, hi}, {0, rows}); }

RowRange WindowRows(const RowRule& rule, int input_rows, RowRange out) {
  RowRange needed;
  for (int tap = 0; tap < rule.kernel; ++tap) {
    const int offset = tap * rule.dilation - rule.padding;  // this tap of row i reads row i * stride + offset
    const int first = std::max(out.lo, CeilDivide(-offset, rule.stride));
    const int last = std::min(out.hi - 1, FloorDivide(input_rows - 1 - offset, rule.stride));
    if (first <= last) needed = Hull(needed, {first * rule.stride + offset, last * rule.stride + offset + 1});
  }
  return needed;
}

RowRange TransposedRows(const RowRule& rule, int input_rows, RowRange out) {
  RowRange needed;
  for (int tap = 0; tap < rule.kernel; ++tap) {
    const int offset =
        rule.padding - tap * rule.dilation;  // row i is read by row (i + offset) / stride if that is whole
    needed = Hull(needed, Clip(CeilDivide(out.lo + offset, rule.stride),
                               FloorDivide(out.hi - 1 + offset, rule.stride) + 1, input_rows));
  }
  return needed;
}

RowRange LinearRows(int input_rows, int output_rows, RowRange out) {
  const auto position = [&](int row) { return (2 * row + 1) * input_rows - output_rows; };  // over 2 * output_rows
  return Clip(std::min(FloorDivide(position(out.lo), 2 * output_rows), input_rows - 1),
              std::max(CeilDivide(position(out.hi - 1), 2 * output_rows), 0) + 1, input_rows);
}

}  // namespace

absl::Status Validate(const RowRule& rule) {
  const bool window = rule.kind == RowKind::kWindow;
  const int least_stride = window && rule.dilation == 1 ? 0 : 1;
  if (rule.kernel < 1 || rule.stride < least_stride || rule.dilation < 1 || (rule.padding < 0 && !window)) {
    return InvalidArgument("kernel {}, stride {}, padding {}, dilation {} is no window", rule.kernel, rule.stride,
                           rule.padding, rule.dilation);
  }
  return absl::OkStatus();
}

RowRange InputRowsOfOtherKinds(const RowRule& rule, int input_rows, int output_rows, RowRange out) {
  switch (rule.kind) {
    case RowKind::kWindow:
      return WindowRows(rule, input_rows, out);
    case RowKind::kTransposed:
      return TransposedRows(rule, input_rows, out);
    case RowKind::kResizeNearest:
      return {out.lo * input_rows / output_rows, (out.hi - 1) * input_rows / output_rows + 1};
    case RowKind::kResizeLinear:
      return LinearRows(input_rows, output_rows, out);
    case RowKind::kRow:
    case RowKind::kGlobal:
      break;
  }
  return {0, input_rows};
}

std::string_view Name(RowKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "unknown";
}

absl::StatusOr<RowKind> ParseRowKind(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return InvalidArgument("\"{}\" is no kind of rows (row, window, transposed, resize_nearest, resize_linear, global)",
                         name);
}

}  // namespace wharf::graph
