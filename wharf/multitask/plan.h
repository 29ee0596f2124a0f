// Offload plans: which task each of the next offloads goes to, and what that costs by the estimates of the moment.
//
// Model predictive control after AccuMO (thesis, 2.5.5, Algorithm 1): of all valid plans over a horizon the one of the
// lowest accumulated drop is found, its first step is taken, and the next decision plans anew. Time is counted in
// frames from the one the decision is for, frame 0. An offload of a task occupies the link and the server for the
// task's latency; the next begins in the frame in which its result is there.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace wharf::multitask {

inline constexpr int kMaxTasks = 8;
inline constexpr double kNoLocalAlgorithm = std::numeric_limits<double>::infinity();

// A task as the planner sees it.
struct TaskStatus {
  int latency_frames = 1;                 // of an offload: its result serves the frame this many after it. At least 1
  int stride = 0;                         // from the frame whose result is the newest here to frame 0
  double drop_rate = 0;                   // of the local tracker, per frame of stride; not negative
  double local_drop = kNoLocalAlgorithm;  // of the local algorithm, relative to the server; not negative
  double exponent = 1;                    // with which power of the stride the tracker's drop grows; not negative

  // What is lost at `stride` frames by the local tracker alone, and by the better of it and the local algorithm.
  double TrackerDrop(int at_stride) const {
    return drop_rate * (exponent == 1 ? at_stride : std::pow(at_stride, exponent));
  }
  double Drop(int at_stride) const { return std::min(TrackerDrop(at_stride), local_drop); }
};

// The overall drop of one frame, given the drop of every task. Must not be negative where no drop is, and must not fall
// where one rises: the search leaves out plans by that.
using AccuracyMerge = std::function<double(std::span<const double> drops)>;
// The average by these weights. REQUIRES: none is negative, their sum is positive.
AccuracyMerge WeightedMerge(std::vector<double> weights);

// Whose turn may come: no task is offloaded more than `limit` times between two offloads of another, so that of two
// tasks, the other is next when one was offloaded `limit` times in a row. Some task is always allowed: the one that
// waits longest.
class Balance {
 public:
  // REQUIRES: 1 <= tasks <= kMaxTasks, 1 <= limit <= 255.
  Balance(int tasks, int limit) : tasks_(tasks), limit_(static_cast<uint8_t>(limit)) {}
  int tasks() const { return tasks_; }
  bool Allows(int task) const;
  void Offloaded(int task);

 private:
  int tasks_;
  uint8_t limit_;
  std::array<std::array<uint8_t, kMaxTasks>, kMaxTasks>
      since_{};  // [a][b]: offloads of a since b's last; at most the limit
};

struct PlannedOffload {
  int frame = 0, task = 0;
  friend bool operator==(const PlannedOffload&, const PlannedOffload&) = default;
};
// By frame. Begins at frame 0; each next begins when the one before is back, and the last result is not there before
// the horizon ends.
using Plan = std::vector<PlannedOffload>;

// All valid plans, one after another, in the lexical order of their tasks.
class PlanEnumerator {
 public:
  // `latencies`: in frames, of each task; all at least 1. REQUIRES: horizon >= 1, as many latencies as balance has
  // tasks.
  PlanEnumerator(std::vector<int> latencies, int horizon, const Balance& balance);
  // The next plan, valid until the next call; nullptr after the last.
  const Plan* Next();

 private:
  bool Extend(int first_task);

  const std::vector<int> latencies_;
  const int horizon_;
  std::vector<Balance> balances_;  // before each offload of plan_, and after the last
  Plan plan_;
  int end_ = 0;  // the frame in which the last result is there
  bool started_ = false;
};

// The sum of the merged drops of frames 0 to horizon - 1 when `plan` is carried out (Algorithm 1, SimulatePlan).
double SimulatePlan(const Plan& plan, std::span<const TaskStatus> tasks, int horizon, const AccuracyMerge& merge);

struct BestPlan {
  Plan plan;
  double drop = 0;       // as SimulatePlan gives it
  int64_t segments = 0;  // stretches between two decisions that were simulated
};
// The first of those valid plans that SimulatePlan gives the lowest drop, bit for bit what trying them one after
// another finds: plans share the simulation of the beginnings they share, and are left where not even results at their
// freshest in every remaining frame could make them better than the best so far. A few microseconds for two tasks and
// 30 frames. REQUIRES: as many tasks as balance has, 1 <= horizon, latencies of at least 1.
BestPlan FindBestPlan(std::span<const TaskStatus> tasks, int horizon, const Balance& balance,
                      const AccuracyMerge& merge);

}  // namespace wharf::multitask
