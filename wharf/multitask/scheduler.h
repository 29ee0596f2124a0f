// Scheduler: which task, or tasks, the frame at hand is offloaded for. AccuMO and everything it is compared with
// (thesis 2.8.2, 2.8.5) are modes of one class.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/multitask/plan.h"

namespace wharf::multitask {

enum class Mode {
  kLocalOnly,   // nothing is offloaded
  kInTurns,     // task i `turns[i]` times, then the next task
  kAllAtOnce,   // every task of a frame, by one upload
  kPredictive,  // the first step of the best plan over a horizon
};

struct Policy {
  std::string name;
  Mode mode = Mode::kPredictive;
  std::vector<int> turns;        // of kInTurns, for each task; not all 0
  bool local_algorithms = true;  // used where they are estimated better than the tracker
  int horizon = 30;              // frames, of kPredictive
  int balance_limit = 3;         // of kPredictive (plan.h)

  // Whether anything is decided by them; if not, accuracy models need not run.
  bool UsesEstimates() const { return mode == Mode::kPredictive || (mode != Mode::kLocalOnly && local_algorithms); }
};

// "la", "rr", "wrr 3:1" (as many numbers as tasks), "aao", "accumo"; "+local" behind one that is offloaded in turns or
// at once lets it use local algorithms, "accumo-local" takes them from AccuMO. kInvalidArgument for anything else.
absl::StatusOr<Policy> ParsePolicy(std::string_view name, int tasks);

// Not thread-safe.
class Scheduler {
 public:
  // `merge`: for Mode::kPredictive. REQUIRES: 1 <= tasks <= kMaxTasks, and a policy for as many.
  Scheduler(Policy policy, int tasks, AccuracyMerge merge);

  // The tasks to offload the frame of this moment for; none: do not offload. To be asked when nothing is in flight;
  // what it answers counts as offloaded, whether a result comes back or not. Predictive control gives every task its
  // first turn in their order, because there is nothing to compare yet.
  std::vector<int> Next(std::span<const TaskStatus> tasks);

  const Policy& policy() const { return policy_; }

 private:
  int NextInTurns();
  int NextByPlan(std::span<const TaskStatus> tasks);

  const Policy policy_;
  const int tasks_;
  const AccuracyMerge merge_;
  Balance balance_;
  int first_turns_ = 0;       // how many tasks have had theirs
  int turn_ = 0, taken_ = 0;  // in turns: whose, and how often
};

}  // namespace wharf::multitask
