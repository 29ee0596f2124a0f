#include "wharf/split/costs/profile.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "wharf/graph/tensor.h"

namespace wharf::split {
namespace {

absl::Status ValidateOperator(const Profile& profile, int index) {
  const ProfiledOperator& one = profile.operators[index];
  const graph::Operator& op = one.op;
  const auto wrong = [&](std::string_view what) {
    return InvalidArgument("operator {} ({}): {}", index, op.name, what);
  };
  for (const graph::RowRule& rule : op.rules) WHARF_RETURN_IF_ERROR(graph::Validate(rule));
  if (op.rules.size() != op.inputs.size()) return wrong("it does not have a rule for each input");
  if (op.inputs.empty() != (index == 0)) return wrong("the first operator, and no other, has no inputs");
  for (const int input : op.inputs) {
    if (input < 0 || input >= index) return wrong("its inputs do not come before it");
  }
  if (op.rows < 1 || op.rows > kMaxRows) return wrong("its rows are not between 1 and 2^20");
  if (op.output_bytes < 0) return wrong("its output has a negative size");
  const auto is_time = [](double ms) { return std::isfinite(ms) && ms >= 0; };
  if (!is_time(one.coding_ms)) return wrong("its time to be encoded is not a time");
  for (const Side side : kSides) {
    const SliceTime slice = one.slice[side].value_or(SliceTime());
    if (!is_time(one.full_ms[side]) || !is_time(slice.fixed_ms) || !is_time(slice.row_ms)) {
      return wrong("its time is not a time");
    }
  }
  return absl::OkStatus();
}

}  // namespace

double Profile::FullMs(Side side) const {
  double sum = 0;
  for (const ProfiledOperator& one : operators) sum += one.full_ms[side];
  return sum;
}

Profile Profile::WithByteInput() const {
  Profile changed = *this;
  graph::Operator& input = changed.operators.front().op;
  const int64_t elements = graph::TensorType{graph::ElementType::kBool, input.output_shape}.Elements();
  if (input.output_shape.empty() || input.output_bytes != elements) input.output_bytes /= 4;
  return changed;
}

Profile Profile::WithSlower(Side side, double slowness) const {
  Profile slower = *this;
  for (ProfiledOperator& one : slower.operators) {
    one.full_ms[side] *= slowness;
    if (auto& slice = one.slice[side]) slice = SliceTime{slice->fixed_ms * slowness, slice->row_ms * slowness};
  }
  slower.slice_cost.fixed_ms[side] *= slowness;
  return slower;
}

absl::StatusOr<Profile> Profile::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return ErrnoStatus(errno, fmt::format("opening profile {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  auto profile = Parse(text.str(), std::filesystem::path(path).stem().string());
  if (!profile.ok()) return MakeStatus(profile.status().code(), "{}: {}", path, Message(profile.status()));
  return profile;
}

absl::Status Validate(const Profile& profile) {
  if (profile.operators.size() < 2 || profile.operators.size() > kMaxOperators) {
    return InvalidArgument("a profile has 2 to {} operators, not {}", kMaxOperators, profile.operators.size());
  }
  for (int i = 0; i < profile.Size(); ++i) WHARF_RETURN_IF_ERROR(ValidateOperator(profile, i));
  const graph::Operator& last = profile.operators.back().op;
  if (!last.Global() || last.rows != 1) {
    return InvalidArgument("the last operator must be global and have one row: it is the result");
  }
  return absl::OkStatus();
}

}  // namespace wharf::split
