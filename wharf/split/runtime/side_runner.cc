#include "wharf/split/runtime/side_runner.h"

#include <algorithm>
#include <utility>

namespace wharf::split {
namespace {

double MsSince(TimePoint start, TimePoint t) { return Milliseconds(t - start); }

class Runner {
 public:
  Runner(const SideRun& run, Holdings& holdings) : run_(run), holdings_(holdings) {}

  absl::Status Run() {
    for (const Step& step : run_.steps.steps) {
      switch (step.kind) {
        case Step::Kind::kReceive:
          WHARF_RETURN_IF_ERROR(Receive(step));
          break;
        case Step::Kind::kCompute:
          WHARF_RETURN_IF_ERROR(Compute(step));
          break;
        case Step::Kind::kSend:
          Send(step);
          break;
      }
      for (const int value : step.release) holdings_[value].reset();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Receive(const Step& step) {
    const TimePoint start = run_.recorder.Now();
    std::optional<TimePoint> deadline;
    if (run_.patience) deadline = start + *run_.patience - waited_;
    WHARF_ASSIGN_OR_RETURN(std::vector<exec::Part> parts, run_.inbox.Take(step.messages, deadline));
    waited_ = waited_ + (run_.recorder.Now() - start);
    // Of several values the parts alternate.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const exec::Part& a, const exec::Part& b) { return a.rows.value < b.rows.value; });
    for (auto first = parts.begin(); first != parts.end();) {
      const auto last = std::find_if(first, parts.end(),
                                     [&](const exec::Part& part) { return part.rows.value != first->rows.value; });
      WHARF_RETURN_IF_ERROR(Add({first, last}));
      first = last;
    }
    return absl::OkStatus();
  }

  // Rows of one value that came: all that is missing around the own ones, or, where those are not needed, all.
  absl::Status Add(std::vector<exec::Part> parts) {
    std::optional<exec::Part>& held = holdings_[parts[0].rows.value];
    const auto touches_own = [&](const exec::Part& part) {
      return part.rows.range.hi == held->rows.range.lo || part.rows.range.lo == held->rows.range.hi;
    };
    if (held && std::all_of(parts.begin(), parts.end(), touches_own)) parts.push_back(*held);
    std::sort(parts.begin(), parts.end(),
              [](const exec::Part& a, const exec::Part& b) { return a.rows.range.lo < b.rows.range.lo; });
    WHARF_ASSIGN_OR_RETURN(held, run_.program.Join(parts));
    return absl::OkStatus();
  }

  absl::Status Compute(const Step& step) {
    std::vector<exec::Part> given;
    for (const exec::Rows& rows : step.given) given.push_back(*holdings_[rows.value]);
    const TimePoint start = run_.recorder.Now();
    WHARF_ASSIGN_OR_RETURN(std::vector<exec::TensorPtr> made, run_.program.Run(given, step.wanted));
    const Lane lane = run_.side == kDevice ? Lane::kDevice : Lane::kServer;
    run_.recorder.Add(lane, step.ops.back(), step.wanted.back().range, start, run_.recorder.Now(), 0);
    for (size_t i = 0; i < made.size(); ++i) {
      holdings_[step.wanted[i].value] = exec::Part{step.wanted[i], std::move(made[i])};
    }
    return absl::OkStatus();
  }

  void Send(const Step& step) {
    for (const RowsMessage& message : step.messages) {
      run_.outbox.Send(message, run_.program.Cut(*holdings_[message.rows.value], message.rows.range));
    }
  }

  const SideRun& run_;
  Holdings& holdings_;
  Nanoseconds waited_{0};
};

}  // namespace

void Recorder::Add(Lane lane, int op, RowRange rows, TimePoint start, TimePoint end, double bytes) {
  absl::MutexLock lock(&mutex_);
  events_.push_back({lane, op, rows, MsSince(start_, start), MsSince(start_, end), bytes});
}

std::vector<Event> Recorder::Events() const {
  absl::MutexLock lock(&mutex_);
  return events_;
}

void Recorder::AddCoded(int value, int64_t plain, int64_t coded) {
  absl::MutexLock lock(&mutex_);
  Coded& sum = coded_[value];
  sum.plain += plain;
  sum.coded += coded;
}

std::map<int, Recorder::Coded> Recorder::CodedSoFar() const {
  absl::MutexLock lock(&mutex_);
  return coded_;
}

absl::Status RunSteps(const SideRun& run, Holdings& holdings) { return Runner(run, holdings).Run(); }

absl::StatusOr<std::vector<exec::TensorPtr>> Finish(const exec::Program& program, const Holdings& holdings) {
  const graph::Graph& graph = program.Graph();
  std::vector<exec::Rows> wanted;
  for (const int output : graph.outputs) wanted.push_back({output, exec::AllRows(program, output)});
  std::vector<bool> given(holdings.size());
  for (size_t value = 0; value < holdings.size(); ++value) given[value] = holdings[value].has_value();
  std::vector<RowRange> needed;
  // A value of which not everything needed is there is computed again, from what is before it.
  for (bool enough = false; !enough;) {
    enough = true;
    needed = graph::NeededRows(graph, program.RowRules(), wanted, given);
    for (size_t value = 0; value < holdings.size(); ++value) {
      if (!given[value] || holdings[value]->rows.range.Contains(needed[value])) continue;
      given[value] = enough = false;
    }
  }
  std::vector<exec::Part> parts;
  for (size_t value = 0; value < holdings.size(); ++value) {
    if (given[value] && !needed[value].Empty()) parts.push_back(*holdings[value]);
  }
  return program.Run(parts, wanted);
}

}  // namespace wharf::split
