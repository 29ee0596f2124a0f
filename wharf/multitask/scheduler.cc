#include "wharf/multitask/scheduler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "wharf/base/split_text.h"
#include "wharf/base/status.h"

namespace wharf::multitask {
namespace {

absl::StatusOr<std::vector<int>> ParseTurns(std::string_view text, int tasks) {
  std::vector<int> turns;
  for (const std::string_view part : SplitText(text, ':')) {
    int times = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), times);
    if (error != std::errc() || end != part.data() + part.size() || times < 0 || times > 1000)
      return InvalidArgument("\"{}\" is not how often a task's turn is", part);
    turns.push_back(times);
  }
  if (static_cast<int>(turns.size()) != tasks) return InvalidArgument("\"{}\" is not for {} tasks", text, tasks);
  if (std::accumulate(turns.begin(), turns.end(), 0) == 0)
    return InvalidArgument("nobody's turn comes in \"{}\"", text);
  return turns;
}

// Takes `suffix` off if it is there.
bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Frames that a plan looks ahead: the policy's horizon, or as many as some 2^14 plans cover where there are more. A
// plan has to be found within a fraction of a frame, and their number grows by one factor with each frame: so little
// for two or three tasks with the thesis's latencies that it is the horizon, for four that are answered after two
// frames so much that it would be a thousand times too many. The factor is where the sum of factor^-latency is 1.
int PlannedFrames(std::span<const TaskStatus> tasks, int horizon) {
  constexpr double kLogOfMostPlans = 9.7;
  double low = 0, high = std::log(static_cast<double>(tasks.size()));  // of the factor's logarithm
  for (int step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const TaskStatus& task : tasks) sum += std::exp(-middle * task.latency_frames);
    (sum > 1 ? low : high) = middle;
  }
  const double frames = high > 0 ? kLogOfMostPlans / high : horizon;
  return frames < horizon ? static_cast<int>(frames) : horizon;
}

}  // namespace

absl::StatusOr<Policy> ParsePolicy(std::string_view name, int tasks) {
  Policy policy;
  policy.name = name;
  const bool with_local = TakeSuffix(name, "+local"), without_local = TakeSuffix(name, "-local");
  policy.local_algorithms = with_local;
  if (name == "rr" && !without_local) {
    policy.mode = Mode::kInTurns;
    policy.turns.assign(tasks, 1);
  } else if (name.starts_with("wrr ") && !without_local) {
    policy.mode = Mode::kInTurns;
    WHARF_ASSIGN_OR_RETURN(policy.turns, ParseTurns(name.substr(4), tasks));
  } else if (name == "aao" && !without_local) {
    policy.mode = Mode::kAllAtOnce;
  } else if (name == "la" && !with_local && !without_local) {
    policy.mode = Mode::kLocalOnly;
    policy.local_algorithms = true;
  } else if (name == "accumo" && !with_local) {
    policy.local_algorithms = !without_local;
  } else {
    return InvalidArgument("\"{}\" is none of la, rr, wrr X:Y, aao and accumo, with +local or accumo-local",
                           policy.name);
  }
  return policy;
}

Scheduler::Scheduler(Policy policy, int tasks, AccuracyMerge merge)
    : policy_(std::move(policy)), tasks_(tasks), merge_(std::move(merge)), balance_(tasks, policy_.balance_limit) {}

std::vector<int> Scheduler::Next(std::span<const TaskStatus> tasks) {
  switch (policy_.mode) {
    case Mode::kLocalOnly:
      return {};
    case Mode::kInTurns:
      return {NextInTurns()};
    case Mode::kAllAtOnce: {
      std::vector<int> all(tasks_);
      std::iota(all.begin(), all.end(), 0);
      return all;
    }
    case Mode::kPredictive:
      return {NextByPlan(tasks)};
  }
  return {};
}

int Scheduler::NextInTurns() {
  while (taken_ >= policy_.turns[turn_]) {
    turn_ = (turn_ + 1) % tasks_;
    taken_ = 0;
  }
  ++taken_;
  return turn_;
}

int Scheduler::NextByPlan(std::span<const TaskStatus> tasks) {
  const int next = first_turns_ < tasks_
                       ? first_turns_++
                       : FindBestPlan(tasks, PlannedFrames(tasks, policy_.horizon), balance_, merge_).plan[0].task;
  balance_.Offloaded(next);
  return next;
}

}  // namespace wharf::multitask
