#include "wharf/split/execution/steps.h"

#include <algorithm>
#include <utility>

namespace wharf::split {
namespace {

// A model and a plan's layout of it. Operators are the graph's: bands, where there are any.
struct LaidOutModel {
  const SplitModel& model;
  const RowGraph graph;
  const Encoding& encoding;

  LaidOutModel(const SplitModel& of, const Plan& plan)
      : model(of), graph(WithLayout(of.rows, plan.layout)), encoding(plan.encoding) {}

  const std::vector<int>& Values(int op) const { return model.operators.values[graph.Operator(op)]; }
  // Of rows of the operator those of its value. An operator that cannot be cut has one row, whatever its values have.
  RowRange RowsOfValue(int op, int value, RowRange range) const {
    if (range.Empty()) return {};
    const int first = graph.FirstRow(op);
    return graph.OperatorRows(op) == 1 ? RowRange{0, model.rules.Rows(model.graph, value)}
                                       : RowRange{first + range.lo, first + range.hi};
  }
};

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

std::vector<RowsMessage> MessagesOf(const LaidOutModel& laid_out, int op, RowRange needed, RowRange own) {
  std::vector<RowsMessage> messages;
  const Encoding& encoding = laid_out.encoding;
  const RowCodec codec = laid_out.graph.IsInput(op) ? encoding.input : encoding.rows;
  for (const RowRange range : Missing(needed, own)) {
    for (const int value : laid_out.Values(op)) {
      messages.push_back({op, {value, laid_out.RowsOfValue(op, value, range)}, codec});
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
        laid_out_(model, plan),
        graph_(laid_out_.graph),
        plan_(plan),
        side_(side),
        needed_(NeededRows(graph_, plan)),
        received_(graph_.Size()),
        held_(model.graph.values.size()) {}

  absl::StatusOr<SideSteps> Compile() {
    WHARF_RETURN_IF_ERROR(CheckOperators(model_));
    for (int op = 0; op < graph_.Size(); ++op) {
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
    for (const RowGraph::Edge& edge : graph_.Inputs(op)) {
      const bool local = Own(edge.from).Contains(graph_.Needed(op, edge, Own(op)));
      if (!local && !received_[edge.from]) WHARF_RETURN_IF_ERROR(Receive(edge.from));
    }
    if (StandsApart(op)) WHARF_RETURN_IF_ERROR(FinishComputing());
    if (graph_.IsInput(op)) {
      Hold(op, Own(op));
    } else if (!laid_out_.Values(op).empty()) {
      computing_.push_back(op);
    }
    const Side other = Other(side_);
    std::vector<RowsMessage> messages = MessagesOf(laid_out_, op, needed_[other][op], plan_.rows[other][op]);
    if (messages.empty()) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(FinishComputing());
    Step step{Step::Kind::kSend, {op}, {}, {}, std::move(messages), {}};
    result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // One computation has one range of rows of each operator, made there or read: it cannot have another band of an
  // operator that it has or reads, nor what reads more of one than it has, nor readers of rows between which some lack.
  bool StandsApart(int op) const {
    if (plan_.layout.Plain()) return false;
    const bool beyond = std::any_of(computing_.begin(), computing_.end(), [&](int one) {
      return graph_.Operator(one) == graph_.Operator(op) || ReadsBeyond(op, one) || ReadsBeyond(one, op);
    });
    const auto inputs = graph_.Inputs(op);
    return beyond || std::any_of(inputs.begin(), inputs.end(), [&](const RowGraph::Edge& edge) {
             const int input = graph_.Operator(edge.from);
             RowRange read = Read(op, input);
             for (const int one : computing_) {
               if (graph_.Operator(one) == input) return false;
               read = Hull(read, Read(one, input));
             }
             const auto& values = laid_out_.Values(edge.from);
             return graph_.OperatorRows(edge.from) > 1 &&
                    std::any_of(values.begin(), values.end(), [&](int value) { return !Holds(value, read); });
           });
  }

  // The rows that `op` reads of an operator of the model.
  RowRange Read(int op, int of) const {
    RowRange read;
    for (const RowGraph::Edge& edge : graph_.Inputs(op)) {
      if (graph_.Operator(edge.from) != of) continue;
      const RowRange rows = graph_.Needed(op, edge, Own(op));
      if (!rows.Empty()) read = Hull(read, {edge.first_row + rows.lo, edge.first_row + rows.hi});
    }
    return read;
  }

  // Whether `op` reads rows of `of`'s operator that are not `of`'s own.
  bool ReadsBeyond(int op, int of) const {
    const auto inputs = graph_.Inputs(op);
    return std::any_of(inputs.begin(), inputs.end(), [&](const RowGraph::Edge& edge) {
      if (graph_.Operator(edge.from) != graph_.Operator(of)) return false;
      const RowRange read = graph_.Needed(op, edge, Own(op));
      return edge.from == of ? !Own(of).Contains(read) : !read.Empty();
    });
  }

  void Hold(int op, RowRange range) {
    for (const int value : laid_out_.Values(op)) held_[value].push_back(laid_out_.RowsOfValue(op, value, range));
  }

  absl::Status Receive(int op) {
    WHARF_RETURN_IF_ERROR(FinishComputing());
    received_[op] = true;
    Step step{Step::Kind::kReceive, {op}, {}, {}, MessagesOf(laid_out_, op, needed_[side_][op], Own(op)), {}};
    for (const RowsMessage& message : step.messages) held_[message.rows.value].push_back(message.rows.range);
    result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Whether somebody outside the operators being computed wants this one's rows.
  bool IsWanted(int op) const {
    const Side other = Other(side_);
    if (!Missing(needed_[other][op], plan_.rows[other][op]).empty()) return true;
    const auto users = graph_.Users(op);
    return std::any_of(users.begin(), users.end(),
                       [&](int user) { return user > computing_.back() && !Own(user).Empty(); });
  }

  absl::Status FinishComputing() {
    if (computing_.empty()) return absl::OkStatus();
    Step step{Step::Kind::kCompute, {}, {}, {}, {}, {}};
    for (const int op : computing_) {
      if (!IsWanted(op)) continue;
      for (const int value : laid_out_.Values(op)) {
        step.wanted.push_back({value, laid_out_.RowsOfValue(op, value, Own(op))});
      }
    }
    WHARF_RETURN_IF_ERROR(FindGiven(step));
    for (const exec::Rows& rows : step.wanted) held_[rows.value].push_back(rows.range);
    step.ops = std::exchange(computing_, {});
    if (!step.wanted.empty()) result_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  bool Holds(int value, RowRange range) const {
    for (int row = range.lo; row < range.hi;) {
      int end = row;
      for (const RowRange held : held_[value]) {
        if (held.lo <= row) end = std::max(end, held.hi);
      }
      if (end == row) return false;
      row = end;
    }
    return true;
  }

  absl::Status FindGiven(Step& step) const {
    std::vector<bool> given(held_.size());
    for (size_t value = 0; value < held_.size(); ++value) given[value] = !held_[value].empty();
    for (const int op : computing_) {  // of which other bands may be held
      for (const int value : laid_out_.Values(op)) given[value] = false;
    }
    const auto needed = graph::NeededRows(model_.graph, model_.rules, step.wanted, given);
    for (size_t value = 0; value < held_.size(); ++value) {
      if (!given[value] || needed[value].Empty()) continue;
      if (!Holds(static_cast<int>(value), needed[value])) {
        return InvalidArgument("rows {} to {} of \"{}\" are needed, the plan does not provide all of them",
                               needed[value].lo, needed[value].hi, model_.graph.values[value].name);
      }
      step.given.push_back({static_cast<int>(value), needed[value]});
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
  const LaidOutModel laid_out_;
  const RowGraph& graph_;
  const Plan& plan_;
  const Side side_;
  const std::array<std::vector<RowRange>, 2> needed_;
  std::vector<bool> received_;               // of each operator: what this side lacks is waited for by some step
  std::vector<std::vector<RowRange>> held_;  // of each value, after the steps so far
  std::vector<int> computing_;               // operators of the step being gathered
  SideSteps result_;
};

}  // namespace

absl::StatusOr<SideSteps> CompileSteps(const SplitModel& model, const Plan& plan, Side side) {
  return Compiler(model, plan, side).Compile();
}

std::vector<RowsMessage> MessagesFrom(const SplitModel& model, const Plan& plan, Side from) {
  const LaidOutModel laid_out(model, plan);
  const Side to = Other(from);
  const auto needed = NeededRows(laid_out.graph, plan);
  std::vector<RowsMessage> all;
  for (int op = 0; op < laid_out.graph.Size(); ++op) {
    for (RowsMessage& message : MessagesOf(laid_out, op, needed[to][op], plan.rows[to][op])) {
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
