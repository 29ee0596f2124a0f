#include "wharf/split/runtime/steps.h"

#include <algorithm>
#include <utility>

namespace wharf::split {
namespace {

// An operator that cannot be cut has one row, whatever its values have.
RowRange RowsOfValue(const SplitModel& model, int op, int value, RowRange range) {
  return model.rows.Rows(op) == 1 ? RowRange{0, model.rules.Rows(model.graph, value)} : range;
}

// Of the rows needed, those that are not computed here: before and behind the own ones.
std::vector<RowRange> Missing(RowRange needed, RowRange own) {
  const RowRange held = Intersection(needed, own);
  std::vector<RowRange> missing;
  if (held.Empty()) {
    missing = {needed};
  } else {
    missing = {{needed.lo, held.lo}, {held.hi, needed.hi}};
  }
  std::erase_if(missing, [](RowRange range) { return range.Empty(); });
  return missing;
}

std::vector<RowsMessage> MessagesOf(const SplitModel& model, const Encoding& encoding, int op, RowRange needed,
                                    RowRange own) {
  std::vector<RowsMessage> messages;
  for (const RowRange range : Missing(needed, own)) {
    for (const int value : model.operators.values[op]) {
      const bool input = value == model.graph.inputs[0];
      messages.push_back({op, {value, RowsOfValue(model, op, value, range)}, input ? encoding.input : encoding.rows});
    }
  }
  return messages;
}

absl::Status CheckOperators(const SplitModel& model) {
  if (model.operators.values.size() != static_cast<size_t>(model.rows.Size())) {
    return InvalidArgument("{} operators have values, {} have rows", model.operators.values.size(), model.rows.Size());
  }
  for (int op = 0; op < model.rows.Size(); ++op) {
    for (const int value : model.operators.values[op]) {
      const int rows = model.rules.Rows(model.graph, value);
      if (model.rows.Rows(op) != 1 && model.rows.Rows(op) != rows) {
        return InvalidArgument("operator {} has {} rows, its value \"{}\" {}", op, model.rows.Rows(op),
                               model.graph.values[value].name, rows);
      }
    }
  }
  return absl::OkStatus();
}

class Compiler {
 public:
  Compiler(const SplitModel& model, const Plan& plan, Side side)
      : model_(model),
        plan_(plan),
        side_(side),
        needed_(NeededRows(model.rows, plan)),
        received_(model.rows.Size()),
        held_(model.graph.values.size()) {}

  absl::StatusOr<SideSteps> Compile() {
    WHARF_RETURN_IF_ERROR(CheckOperators(model_));
    for (int op = 0; op < model_.rows.Size(); ++op) {
      if (!Own(op).Empty()) WHARF_RETURN_IF_ERROR(Visit(op));
    }
    WHARF_RETURN_IF_ERROR(FinishComputing());
    Release();
    result_.incoming = MessagesFrom(model_, plan_, Other(side_));
    return std::move(result_);
  }

 private:
  RowRange Own(int op) const { return plan_.rows[side_][op]; }

  absl::Status Visit(int op) {
    for (const RowGraph::Edge& edge : model_.rows.Inputs(op)) {
      const bool here = Own(edge.from).Contains(model_.rows.Needed(op, edge, Own(op)));
      if (!here && !received_[edge.from]) WHARF_RETURN_IF_ERROR(Receive(edge.from));
    }
    if (op == 0) {
      Hold(0, Own(0));
    } else if (!model_.operators.values[op].empty()) {
      computing_.push_back(op);
    }
    const Side other = Other(side_);
    std::vector<RowsMessage> messages =
        MessagesOf(model_, plan_.encoding, op, needed_[other][op], plan_.rows[other][op]);
    if (messages.empty()) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(FinishComputing());
    Step step{Step::Kind::kSend, {op}, {}, {}, std::move(messages), {}};
    result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  void Hold(int op, RowRange range) {
    for (const int value : model_.operators.values[op]) held_[value] = RowsOfValue(model_, op, value, range);
  }

  absl::Status Receive(int op) {
    WHARF_RETURN_IF_ERROR(FinishComputing());
    received_[op] = true;
    Step step{
        Step::Kind::kReceive, {op}, {}, {}, MessagesOf(model_, plan_.encoding, op, needed_[side_][op], Own(op)), {}};
    // Own rows that nobody here reads are not next to those that come, and not held any more.
    const bool joined = !Intersection(needed_[side_][op], Own(op)).Empty();
    Hold(op, joined ? Hull(needed_[side_][op], Own(op)) : needed_[side_][op]);
    result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Whether somebody outside the operators being computed wants this one's rows.
  bool IsWanted(int op) const {
    const Side other = Other(side_);
    if (!Missing(needed_[other][op], plan_.rows[other][op]).empty()) return true;
    const auto users = model_.rows.Users(op);
    return std::any_of(users.begin(), users.end(),
                       [&](int user) { return user > computing_.back() && !Own(user).Empty(); });
  }

  absl::Status FinishComputing() {
    if (computing_.empty()) return absl::OkStatus();
    Step step{Step::Kind::kCompute, {}, {}, {}, {}, {}};
    for (const int op : computing_) {
      if (!IsWanted(op)) continue;
      for (const int value : model_.operators.values[op]) {
        step.wanted.push_back({value, RowsOfValue(model_, op, value, Own(op))});
      }
    }
    WHARF_RETURN_IF_ERROR(FindGiven(step));
    for (const exec::Rows& rows : step.wanted) held_[rows.value] = rows.range;
    step.ops = std::exchange(computing_, {});
    if (!step.wanted.empty()) result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status FindGiven(Step& step) const {
    std::vector<bool> given(held_.size());
    for (size_t value = 0; value < held_.size(); ++value) given[value] = !held_[value].Empty();
    const auto needed = graph::NeededRows(model_.graph, model_.rules, step.wanted, given);
    for (size_t value = 0; value < held_.size(); ++value) {
      if (!given[value] || needed[value].Empty()) continue;
      if (!held_[value].Contains(needed[value])) {
        return InvalidArgument("rows {} to {} of \"{}\" are needed, the plan provides {} to {}", needed[value].lo,
                               needed[value].hi, model_.graph.values[value].name, held_[value].lo, held_[value].hi);
      }
      step.given.push_back({static_cast<int>(value), held_[value]});
    }
    for (const int input : model_.graph.inputs) {
      if (!given[input] && !needed[input].Empty()) {
        return InvalidArgument("\"{}\" is needed, the plan does not provide it", model_.graph.values[input].name);
      }
    }
    return absl::OkStatus();
  }

  // Marks the last step that touches each value.
  void Release() {
    std::vector<bool> seen(held_.size());
    if (side_ == kDevice) {
      for (const int output : model_.graph.outputs) seen[output] = true;
    }
    for (auto step = result_.steps.rbegin(); step != result_.steps.rend(); ++step) {
      const auto touch = [&](int value) {
        if (!seen[value]) step->release.push_back(value);
        seen[value] = true;
      };
      for (const exec::Rows& rows : step->given) touch(rows.value);
      for (const exec::Rows& rows : step->wanted) touch(rows.value);
      for (const RowsMessage& message : step->messages) touch(message.rows.value);
    }
  }

  const SplitModel& model_;
  const Plan& plan_;
  const Side side_;
  const std::array<std::vector<RowRange>, 2> needed_;
  std::vector<bool> received_;  // of each operator: what this side lacks is waited for by some step
  std::vector<RowRange> held_;  // of each value, after the steps so far
  std::vector<int> computing_;  // operators of the step being gathered
  SideSteps result_;
};

}  // namespace

absl::StatusOr<SideSteps> CompileSteps(const SplitModel& model, const Plan& plan, Side side) {
  return Compiler(model, plan, side).Compile();
}

std::vector<RowsMessage> MessagesFrom(const SplitModel& model, const Plan& plan, Side from) {
  const Side to = Other(from);
  const auto needed = NeededRows(model.rows, plan);
  std::vector<RowsMessage> all;
  for (int op = 0; op < model.rows.Size(); ++op) {
    for (RowsMessage& message : MessagesOf(model, plan.encoding, op, needed[to][op], plan.rows[to][op])) {
      all.push_back(std::move(message));
    }
  }
  return all;
}

graph::TensorType TypeOfRows(const graph::Graph& graph, const graph::RowRules& rules, const exec::Rows& rows) {
  graph::TensorType type = graph.Type(rows.value);
  if (rules.axis[rows.value] != graph::kNoRows) type.shape[rules.axis[rows.value]] = rows.range.Size();
  return type;
}

}  // namespace wharf::split
