#include "wharf/multitask/client.h"

#include <algorithm>
#include <cmath>

#include "wharf/base/status.h"

namespace wharf::multitask {
namespace {

constexpr double kSmoothing = 0.25;  // the newest latency's weight

// Whichever loses less by its estimate. Without any answer a tracker has nothing to start from, so that the local
// algorithm, where there is one, stands in under every policy.
Source Select(const Task& task, const TaskStatus& status, bool answered, const Policy& policy) {
  if (!task.has_local_algorithm()) return Source::kTracker;
  if (!answered || policy.mode == Mode::kLocalOnly) return Source::kLocalAlgorithm;
  if (!policy.local_algorithms) return Source::kTracker;
  return status.local_drop < status.TrackerDrop(status.stride) ? Source::kLocalAlgorithm : Source::kTracker;
}

// A decision takes microseconds, which only the real clock sees.
class RealTimer {
 public:
  Nanoseconds Elapsed() const { return Clock::Real().Now() - start_; }

 private:
  const TimePoint start_ = Clock::Real().Now();
};

}  // namespace

absl::StatusOr<Client> Client::Make(std::vector<Task*> tasks, const Policy& policy, AccuracyMerge merge,
                                    const OffloadProfile& profile, Offloader& offloader, Background& background,
                                    Clock& clock, const ClientOptions& options) {
  const int count = static_cast<int>(tasks.size());
  if (count < 1 || count > kMaxTasks) return InvalidArgument("{} tasks; 1 to {} it can be", count, kMaxTasks);
  std::vector<TaskState> states;
  for (Task* const task : tasks) {
    const TaskLatency* const latency = profile.Find(task->name());
    if (latency == nullptr) return InvalidArgument("the latencies \"{}\" do not know {}", profile.name, task->name());
    const int frames = LatencyFrames(latency->offload_ms, options.frames_per_s);
    states.push_back({.task = task, .newest_answer = std::nullopt, .latency_frames = static_cast<double>(frames)});
  }
  return Client(std::move(states), Scheduler(policy, count, std::move(merge)), offloader, background, clock, options);
}

Client::Client(std::vector<TaskState> tasks, Scheduler scheduler, Offloader& offloader, Background& background,
               Clock& clock, const ClientOptions& options)
    : tasks_(std::move(tasks)),
      scheduler_(std::move(scheduler)),
      offloader_(&offloader),
      background_(&background),
      clock_(&clock),
      options_(options) {
  counts_.offloads.resize(tasks_.size());
}

FrameReport Client::OnFrame(const FramePointer& frame) {
  const int64_t now = frame->index;
  if (!first_frame_.has_value()) first_frame_ = now;
  ++counts_.frames;
  FrameReport report{.frame = now};
  std::vector<absl::Status> observed;
  for (TaskState& state : tasks_) observed.push_back(state.task->Observe(frame));
  TakeReply(now);
  if (scheduler_.policy().UsesEstimates()) RunModels();
  if (!in_flight_.has_value()) Offload(frame, report);
  for (size_t i = 0; i < tasks_.size(); ++i) {
    TaskReport result = Produce(tasks_[i], now);
    result.status.Update(observed[i]);
    if (!result.status.ok()) ++counts_.failed_results;
    report.tasks.push_back(std::move(result));
  }
  return report;
}

void Client::TakeReply(int64_t now) {
  if (!in_flight_.has_value()) return;
  const std::optional<absl::StatusOr<Reply>> reply = offloader_->Poll();
  if (!reply.has_value()) {
    if (clock_->Now() - in_flight_->sent < options_.give_up_after) return;
    offloader_->Cancel();
    ++counts_.lost;
  } else if (!reply->ok()) {
    ++counts_.lost;
  } else {
    TakeAnswers(**reply, now);
  }
  in_flight_.reset();
}

void Client::TakeAnswers(const Reply& reply, int64_t now) {
  const InFlight& sent = *in_flight_;
  if (reply.frame != sent.frame->index || reply.answers.size() != sent.tasks.size()) {
    ++counts_.refused;
    return;
  }
  const auto took = static_cast<double>(now - reply.frame);
  for (size_t i = 0; i < sent.tasks.size(); ++i) {
    TaskState& state = tasks_[sent.tasks[i]];
    // What several tasks shared says little of what one of them takes alone.
    if (sent.tasks.size() == 1) state.latency_frames += kSmoothing * (took - state.latency_frames);
    const absl::StatusOr<AnswerPointer>& answer = reply.answers[i];
    if (!answer.ok() || *answer == nullptr || !state.task->Accept(reply.frame, **answer).ok()) {
      ++counts_.refused;
      continue;
    }
    state.newest_answer = reply.frame;
  }
}

// Each as often as it gets done with, on the newest there is.
void Client::RunModels() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    TaskState& state = tasks_[i];
    if (state.model_runs) {
      const std::optional<absl::StatusOr<double>> drop_rate = background_->Poll(i);
      if (!drop_rate.has_value()) continue;
      state.model_runs = false;
      if (drop_rate->ok()) state.task->SetDropRate(**drop_rate);
      if (!drop_rate->ok()) ++counts_.failed_models;
    }
    if (std::optional<AccuracyModel> model = state.task->TrackerModel()) {
      background_->Start(i, *std::move(model));
      state.model_runs = true;
    }
  }
}

void Client::Offload(const FramePointer& frame, FrameReport& report) {
  std::vector<TaskStatus> status;
  for (const TaskState& state : tasks_) status.push_back(StatusOf(state, frame->index));
  const RealTimer timer;
  std::vector<int> tasks = scheduler_.Next(status);
  report.decision_time = timer.Elapsed();
  if (tasks.empty()) return;
  ++counts_.decisions;
  if (!offloader_->Send(frame, tasks).ok()) {
    ++counts_.lost;
    return;
  }
  for (const int task : tasks) {
    ++counts_.offloads[task];
    tasks_[task].task->Offloaded();
  }
  report.offloaded = tasks;
  in_flight_ = InFlight{frame, std::move(tasks), clock_->Now()};
}

TaskStatus Client::StatusOf(const TaskState& state, int64_t now) const {
  const AccuracyEstimate estimate = state.task->estimate();
  const int64_t since = state.newest_answer.value_or(*first_frame_ - scheduler_.policy().horizon);
  const bool may_run_locally = state.task->has_local_algorithm() && scheduler_.policy().local_algorithms;
  return {.latency_frames = std::max(1, static_cast<int>(std::lround(state.latency_frames))),
          .stride = static_cast<int>(now - since),
          .drop_rate = std::max(0.0, estimate.drop_rate),
          .local_drop = may_run_locally ? std::max(0.0, estimate.local_drop) : kNoLocalAlgorithm,
          .exponent = std::max(0.0, estimate.exponent)};
}

TaskReport Client::Produce(TaskState& state, int64_t now) {
  const TaskStatus status = StatusOf(state, now);
  TaskReport report;
  report.latency_frames = status.latency_frames;
  report.estimate = state.task->estimate();
  report.source = Select(*state.task, status, state.newest_answer.has_value(), scheduler_.policy());
  if (state.newest_answer.has_value()) report.stride = static_cast<int>(now - *state.newest_answer);
  report.status = report.source == Source::kTracker ? state.task->Track() : state.task->RunLocalAlgorithm();
  return report;
}

}  // namespace wharf::multitask
