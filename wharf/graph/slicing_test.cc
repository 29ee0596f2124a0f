#include "wharf/graph/slicing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace wharf::graph {
namespace {

bool Reads(const RowRule& rule, int input_rows, int output_rows, int out, int in) {
  switch (rule.kind) {
    case RowKind::kRow:
      return input_rows != output_rows || in == out;
    case RowKind::kWindow:
      for (int j = 0; j < rule.kernel; ++j) {
        if (out * rule.stride - rule.padding + j * rule.dilation == in) return true;
      }
      return false;
    case RowKind::kTransposed:
      for (int j = 0; j < rule.kernel; ++j) {
        if (in * rule.stride - rule.padding + j * rule.dilation == out) return true;
      }
      return false;
    case RowKind::kResizeNearest:
      return out * input_rows / output_rows == in;
    case RowKind::kResizeLinear: {
      const double position =
          std::clamp((out + 0.5) * input_rows / output_rows - 0.5, 0.0, static_cast<double>(input_rows - 1));
      return in == std::floor(position + 1e-9) || in == std::ceil(position - 1e-9);
    }
    case RowKind::kGlobal:
      return true;
  }
  return false;
}

RowRange ReadByBruteForce(const RowRule& rule, int input_rows, int output_rows, RowRange out) {
  RowRange needed;
  for (int o = out.lo; o < out.hi; ++o) {
    for (int i = 0; i < input_rows; ++i) {
      if (Reads(rule, input_rows, output_rows, o, i)) needed = Hull(needed, {i, i + 1});
    }
  }
  return needed;
}

int OutputRows(const RowRule& rule, int input_rows) {
  const int reach = (rule.kernel - 1) * rule.dilation + 1;
  if (rule.kind == RowKind::kWindow) return (input_rows + 2 * rule.padding - reach) / rule.stride + 1;
  if (rule.kind == RowKind::kTransposed) return (input_rows - 1) * rule.stride - 2 * rule.padding + reach;
  return input_rows;
}

RC_GTEST_PROP(Slicing, WindowsReadWhatBruteForceSays, ()) {
  RowRule rule;
  rule.kind = *rc::gen::element(RowKind::kWindow, RowKind::kTransposed);
  rule.kernel = *rc::gen::inRange(1, 8);
  rule.stride = *rc::gen::inRange(1, 5);
  rule.padding = *rc::gen::inRange(0, 6);
  rule.dilation = *rc::gen::inRange(1, 4);
  const int input_rows = *rc::gen::inRange(1, 25);
  RC_PRE(rule.kind == RowKind::kTransposed || input_rows + 2 * rule.padding > (rule.kernel - 1) * rule.dilation);
  const int output_rows = OutputRows(rule, input_rows);
  RC_PRE(output_rows > 0);
  const int lo = *rc::gen::inRange(0, output_rows);
  const int hi = *rc::gen::inRange(lo, output_rows + 1);
  RC_ASSERT(InputRows(rule, input_rows, output_rows, {lo, hi}) ==
            ReadByBruteForce(rule, input_rows, output_rows, {lo, hi}));
}

// From a later row on, or the same band for every row.
RC_GTEST_PROP(Slicing, OffsetsAndBandsReadWhatBruteForceSays, ()) {
  RowRule rule;
  rule.kind = RowKind::kWindow;
  rule.kernel = *rc::gen::inRange(1, 8);
  rule.stride = *rc::gen::inRange(0, 4);
  rule.padding = *rc::gen::inRange(-12, 3);
  const int input_rows = *rc::gen::inRange(1, 25), output_rows = *rc::gen::inRange(1, 25);
  const int lo = *rc::gen::inRange(0, output_rows);
  const int hi = *rc::gen::inRange(lo, output_rows + 1);
  RC_ASSERT(Validate(rule).ok());
  RC_ASSERT(InputRows(rule, input_rows, output_rows, {lo, hi}) ==
            ReadByBruteForce(rule, input_rows, output_rows, {lo, hi}));
}

RC_GTEST_PROP(Slicing, OtherKindsReadWhatBruteForceSays, ()) {
  const RowRule rule{
      *rc::gen::element(RowKind::kRow, RowKind::kResizeNearest, RowKind::kResizeLinear, RowKind::kGlobal)};
  const int input_rows = *rc::gen::inRange(1, 30);
  const int output_rows = *rc::gen::inRange(1, 30);
  const int lo = *rc::gen::inRange(0, output_rows);
  const int hi = *rc::gen::inRange(lo, output_rows + 1);
  RC_ASSERT(InputRows(rule, input_rows, output_rows, {lo, hi}) ==
            ReadByBruteForce(rule, input_rows, output_rows, {lo, hi}));
}

TEST(Slicing, ConvolutionReadsOneRowAroundAndNoPadding) {
  const RowRule conv{RowKind::kWindow, 3, 1, 1, 1};
  EXPECT_EQ(InputRows(conv, 10, 10, {3, 5}), (RowRange{2, 6}));
  EXPECT_EQ(InputRows(conv, 10, 10, {0, 5}), (RowRange{0, 6}));
  EXPECT_EQ(InputRows(conv, 10, 10, {5, 10}), (RowRange{4, 10}));
  EXPECT_EQ(InputRows(conv, 10, 10, {4, 4}), RowRange{});
}

TEST(Slicing, RowsThatOnlySeePaddingReadNothing) {
  const RowRule odd{RowKind::kWindow, 1, 2, 1, 1};  // reads rows -1, 1, 3, ...
  EXPECT_EQ(InputRows(odd, 4, 3, {0, 1}), RowRange{});
  EXPECT_EQ(InputRows(odd, 4, 3, {0, 2}), (RowRange{1, 2}));
}

TEST(Slicing, NamesComeBack) {
  for (const RowKind kind : {RowKind::kRow, RowKind::kWindow, RowKind::kTransposed, RowKind::kResizeNearest,
                             RowKind::kResizeLinear, RowKind::kGlobal}) {
    const auto parsed = ParseRowKind(Name(kind));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, kind);
  }
  EXPECT_EQ(ParseRowKind("diagonal").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Slicing, WhatIsNoRuleIsRefused) {
  for (const RowRule rule : {RowRule{RowKind::kWindow, 0, 1, 0, 1}, RowRule{RowKind::kWindow, 3, -1, 1, 1},
                             RowRule{RowKind::kWindow, 3, 0, 1, 2}, RowRule{RowKind::kWindow, 3, 1, 1, 0},
                             RowRule{RowKind::kTransposed, 3, 0, 1, 1}, RowRule{RowKind::kTransposed, 3, 1, -1, 1}}) {
    EXPECT_EQ(Validate(rule).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(Validate({RowKind::kWindow, 1, 1, -5, 1}).ok());
  EXPECT_TRUE(Validate({RowKind::kWindow, 3, 0, -5, 1}).ok());
}

}  // namespace
}  // namespace wharf::graph
