// Row slicing: which rows of its input an operator reads to make some rows of its output. A row is one step of the axis
// a tensor is sliced along (the height of an image, the tokens of a sequence). Operators that read a part only are
// "local", the others "global" (Intra-DP, section IV-A).
#pragma once

#include <algorithm>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::graph {

// Rows [lo, hi). Every empty range equals {0, 0}.
struct RowRange {
  int lo = 0, hi = 0;
  bool Empty() const { return lo >= hi; }
  int Size() const { return Empty() ? 0 : hi - lo; }
  bool Contains(RowRange other) const { return other.Empty() || (lo <= other.lo && other.hi <= hi); }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

inline RowRange Intersection(RowRange a, RowRange b) {
  const RowRange both{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.Empty() ? RowRange{} : both;
}
// The smallest range that holds both.
inline RowRange Hull(RowRange a, RowRange b) {
  if (a.Empty()) return b;
  if (b.Empty()) return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

enum class RowKind {
  kRow,     // output row i reads input row i: element-wise, row-wise products, norms over channels, concatenation of
            // channels
  kWindow,  // convolution and pooling: row i reads rows i*stride - padding + j*dilation, j < kernel. What begins at a
            // later row has a negative padding; of stride 0, every row reads the same band of rows
  kTransposed,     // transposed convolution: input row i adds to rows i*stride - padding + j*dilation, j < kernel
  kResizeNearest,  // row i reads row floor(i * input rows / output rows)
  kResizeLinear,   // half-pixel centres: row i reads the two rows around (i + 1/2) * input rows / output rows - 1/2
  kGlobal,         // every row reads the whole input
};

struct RowRule {
  RowKind kind = RowKind::kRow;
  int kernel = 1, stride = 1, padding = 0, dilation = 1;  // of kWindow and kTransposed
  friend bool operator==(const RowRule&, const RowRule&) = default;
};

// kInvalidArgument: a kernel or dilation below 1; of other than windows a stride below 1 or a negative padding; a
// stride below 0, or of 0 with gaps.
absl::Status Validate(const RowRule& rule);

// The smallest range holding all rows of an input of `input_rows` rows that output rows `out` of `output_rows` read;
// rows in the padding are none. A kRow operator reads an input of another height whole (broadcasting). REQUIRES:
// Validate(rule).ok(), `out` within [0, output_rows). O(1), or O(kernel) where windows leave gaps.
inline RowRange InputRows(const RowRule& rule, int input_rows, int output_rows, RowRange out);

std::string_view Name(RowKind kind);
absl::StatusOr<RowKind> ParseRowKind(std::string_view name);

// The kinds that are not worth inlining, of a range that is not empty.
RowRange InputRowsOfOtherKinds(const RowRule& rule, int input_rows, int output_rows, RowRange out);

inline RowRange InputRows(const RowRule& rule, int input_rows, int output_rows, RowRange out) {
  if (out.Empty()) return {};
  if (rule.kind == RowKind::kRow) return input_rows == output_rows ? out : RowRange{0, input_rows};
  if (rule.kind == RowKind::kWindow && rule.dilation == 1 && rule.kernel >= rule.stride) {
    // Neighbouring windows touch: no gaps.
    return Intersection({out.lo * rule.stride - rule.padding, (out.hi - 1) * rule.stride - rule.padding + rule.kernel},
                        {0, input_rows});
  }
  return InputRowsOfOtherKinds(rule, input_rows, output_rows, out);
}

}  // namespace wharf::graph
