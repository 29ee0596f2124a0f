#include "wharf/split/execution/side_runner.h"

#include <algorithm>
#include <utility>

namespace wharf::split {
namespace {

double MsSince(TimePoint start, TimePoint t) { return Milliseconds(t - start); }

class Runner {
 public:
  Runner(const SideRun& run, RowStore& store) : run_(run), rows_(store) {}

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
          WHARF_RETURN_IF_ERROR(Send(step));
          break;
      }
      for (const int value : step.release) rows_.Release(value);
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
    for (exec::Part& part : parts) rows_.Add(std::move(part));
    return absl::OkStatus();
  }

  absl::Status Compute(const Step& step) {
    std::vector<exec::Part> given;
    const TimePoint start = run_.recorder.Now();
    for (const exec::Rows& rows : step.given) {
      WHARF_ASSIGN_OR_RETURN(exec::Part part, rows_.Get(run_.program, rows));
      given.push_back(std::move(part));
    }
    WHARF_ASSIGN_OR_RETURN(std::vector<exec::TensorPtr> made, run_.program.Run(given, step.wanted));
    const Resource resource = run_.side == kDevice ? Resource::kDevice : Resource::kServer;
    run_.recorder.Add(resource, step.ops.back(), step.wanted.back().range, start, run_.recorder.Now(), 0);
    for (size_t i = 0; i < made.size(); ++i) rows_.Add({step.wanted[i], std::move(made[i])});
    return absl::OkStatus();
  }

  absl::Status Send(const Step& step) {
    for (const RowsMessage& message : step.messages) {
      WHARF_ASSIGN_OR_RETURN(const exec::Part part, rows_.Get(run_.program, message.rows));
      run_.outbox.Send(message, run_.program.Cut(part, message.rows.range));
    }
    return absl::OkStatus();
  }

  const SideRun& run_;
  RowStore& rows_;
  Nanoseconds waited_{0};
};

}  // namespace

void Recorder::Add(Resource resource, int op, RowRange rows, TimePoint start, TimePoint end, double bytes) {
  absl::MutexLock lock(&mutex_);
  events_.push_back({resource, op, rows, MsSince(start_, start), MsSince(start_, end), bytes});
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

absl::Status RunSteps(const SideRun& run, RowStore& store) { return Runner(run, store).Run(); }

absl::StatusOr<std::vector<exec::TensorPtr>> Finish(const exec::Program& program, RowStore store,
                                                    std::vector<int>* computed) {
  const graph::Graph& graph = program.Graph();
  std::vector<exec::Rows> wanted;
  for (const int output : graph.outputs) wanted.push_back({output, exec::AllRows(program, output)});
  const int values = static_cast<int>(store.Size());
  std::vector<bool> given(values);
  for (int value = 0; value < values; ++value) given[value] = store.Has(value);
  std::vector<RowRange> needed;
  // A value of which not everything needed is there is computed again, from what is before it.
  for (bool enough = false; !enough;) {
    enough = true;
    needed = graph::NeededRows(graph, program.RowRules(), wanted, given);
    for (int value = 0; value < values; ++value) {
      if (given[value] && !store.Covers({value, needed[value]})) given[value] = enough = false;
    }
  }
  for (int value = 0; computed != nullptr && value < values; ++value) {
    computed->push_back(given[value] ? 0 : needed[value].Size());
  }
  std::vector<exec::Part> parts;
  for (int value = 0; value < values; ++value) {
    if (!given[value] || needed[value].Empty()) continue;
    WHARF_ASSIGN_OR_RETURN(exec::Part part, store.Get(program, {value, needed[value]}));
    parts.push_back(std::move(part));
  }
  return program.Run(parts, wanted);
}

}  // namespace wharf::split
