#include "wharf/multitask/plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace wharf::multitask {

AccuracyMerge WeightedMerge(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  assert(sum > 0);
  for (double& weight : weights) weight /= sum;
  return [weights = std::move(weights)](std::span<const double> drops) {
    return std::inner_product(drops.begin(), drops.end(), weights.begin(), 0.0);
  };
}

bool Balance::Allows(int task) const {
  return std::none_of(since_[task].begin(), since_[task].begin() + tasks_,
                      [this](uint8_t count) { return count >= limit_; });
}

void Balance::Offloaded(int task) {
  for (int other = 0; other < tasks_; ++other) {
    uint8_t& count = since_[task][other];
    if (other != task && count < limit_) ++count;
    since_[other][task] = 0;
  }
}

PlanEnumerator::PlanEnumerator(std::vector<int> latencies, int horizon, const Balance& balance)
    : latencies_(std::move(latencies)), horizon_(horizon), balances_{balance} {}

const Plan* PlanEnumerator::Next() {
  if (!started_) {
    started_ = true;
    Extend(0);
    return &plan_;
  }
  while (!plan_.empty()) {
    const PlannedOffload last = plan_.back();
    plan_.pop_back();
    balances_.pop_back();
    end_ = last.frame;
    if (Extend(last.task + 1)) return &plan_;
  }
  return nullptr;
}

// Adds the next allowed offload, of `first_task` or later, and then the first allowed ones until the horizon.
bool PlanEnumerator::Extend(int first_task) {
  const int tasks = static_cast<int>(latencies_.size());
  for (int task = first_task;; task = 0) {
    while (task < tasks && !balances_.back().Allows(task)) ++task;
    if (task == tasks) return false;  // only ever in place of the first: else whoever waits longest is allowed
    plan_.push_back({end_, task});
    balances_.push_back(balances_.back());
    balances_.back().Offloaded(task);
    end_ += latencies_[task];
    if (end_ >= horizon_) return true;
  }
}

double SimulatePlan(const Plan& plan, std::span<const TaskStatus> tasks, int horizon, const AccuracyMerge& merge) {
  std::vector<int> newest(tasks.size());  // the frame whose result the tracker starts from
  for (size_t t = 0; t < tasks.size(); ++t) newest[t] = -tasks[t].stride;
  std::vector<double> drops(tasks.size());
  double sum = 0;
  for (int frame = 0; frame < horizon; ++frame) {
    for (const PlannedOffload& offload : plan) {
      if (offload.frame + tasks[offload.task].latency_frames == frame) newest[offload.task] = offload.frame;
    }
    for (size_t t = 0; t < tasks.size(); ++t) drops[t] = tasks[t].Drop(frame - newest[t]);
    sum += merge(drops);
  }
  return sum;
}

namespace {

// A beginning of a plan: everything before `frame`, in which the next offload begins.
struct Beginning {
  Beginning(const Balance& before, int tasks_done) : balance(before), task(tasks_done) {}

  int frame = 0;
  Balance balance;
  int task;                             // the last offload's
  std::array<int, kMaxTasks> newest{};  // of each task, the frame the tracker starts from
  double drop = 0;                      // of the frames before `frame`
  int next_task = 0;                    // the first that was not tried yet
  bool reached_horizon = false;         // by a task that was: all that do cost the same
};

class Search {
 public:
  Search(std::span<const TaskStatus> tasks, int horizon, const AccuracyMerge& merge)
      : tasks_(tasks), horizon_(horizon), merge_(merge), floor_(LowestDropOfAFrame()) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      for (int frame = 0; frame < horizon; ++frame) {
        drops_[t].push_back({tasks[t].Drop(frame), tasks[t].Drop(frame + tasks[t].stride)});
      }
    }
  }

  BestPlan Run(const Balance& balance) {
    Beginning& root = stack_.emplace_back(balance, -1);
    for (size_t t = 0; t < tasks_.size(); ++t) root.newest[t] = -tasks_[t].stride;
    while (!stack_.empty()) {
      if (stack_.back().frame >= horizon_) {
        Record();
        stack_.pop_back();
      } else if (!Descend()) {
        stack_.pop_back();
      }
    }
    return std::move(best_);
  }

 private:
  // No plan can do better in any frame: a task's stride is the one it has now, or more, or begins with a result whose
  // latency has passed.
  double LowestDropOfAFrame() const {
    std::array<double, kMaxTasks> drops{};
    for (size_t t = 0; t < tasks_.size(); ++t)
      drops[t] = tasks_[t].Drop(std::min(tasks_[t].stride, tasks_[t].latency_frames));
    return merge_({drops.data(), tasks_.size()});
  }

  // The same numbers again and again, of which a power takes longer than to look it up.
  double DropOf(size_t task, int frame, int newest) const {
    return newest < 0 ? drops_[task][frame].now : drops_[task][frame - newest].fresh;
  }

  // Of every plan that goes on from `one`. The factor covers the rounding of up to 2^13 additions of what is not
  // negative.
  bool CannotBeBetter(const Beginning& one) const {
    return found_ && (one.drop + (horizon_ - one.frame) * floor_) * (1 - 1e-12) > best_.drop;
  }

  // Goes on by the next task that is worth trying; false if none is left.
  bool Descend() {
    Beginning& top = stack_.back();
    for (; top.next_task < static_cast<int>(tasks_.size()); ++top.next_task) {
      const int task = top.next_task;
      if (!top.balance.Allows(task)) continue;
      const bool reaches_horizon = top.frame + tasks_[task].latency_frames >= horizon_;
      if (reaches_horizon && std::exchange(top.reached_horizon, true)) continue;
      ++top.next_task;
      Beginning next = After(top, task);
      if (!CannotBeBetter(next)) stack_.push_back(next);
      return true;
    }
    return false;
  }

  Beginning After(const Beginning& before, int task) {
    Beginning next = before;
    next.task = task;
    next.next_task = 0;
    next.reached_horizon = false;
    next.frame = std::min(before.frame + tasks_[task].latency_frames, horizon_);
    next.balance.Offloaded(task);
    std::array<double, kMaxTasks> drops;
    for (int frame = before.frame; frame < next.frame; ++frame) {
      for (size_t t = 0; t < tasks_.size(); ++t) drops[t] = DropOf(t, frame, before.newest[t]);
      next.drop += merge_({drops.data(), tasks_.size()});
    }
    next.newest[task] = before.frame;
    ++best_.segments;
    return next;
  }

  void Record() {
    if (found_ && stack_.back().drop >= best_.drop) return;
    found_ = true;
    best_.drop = stack_.back().drop;
    best_.plan.clear();
    for (size_t i = 1; i < stack_.size(); ++i) best_.plan.push_back({stack_[i - 1].frame, stack_[i].task});
  }

  const std::span<const TaskStatus> tasks_;
  const int horizon_;
  const AccuracyMerge& merge_;
  const double floor_;
  struct Drops {
    double fresh = 0, now = 0;  // by a result of so many frames ago, by the newest there is so many frames from now
  };
  std::array<std::vector<Drops>, kMaxTasks> drops_;
  std::vector<Beginning> stack_;
  BestPlan best_;
  bool found_ = false;
};

}  // namespace

BestPlan FindBestPlan(std::span<const TaskStatus> tasks, int horizon, const Balance& balance,
                      const AccuracyMerge& merge) {
  return Search(tasks, horizon, merge).Run(balance);
}

}  // namespace wharf::multitask
