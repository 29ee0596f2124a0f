// Client: AccuMO's control loop (thesis 2.5.2). Give it every frame when the camera has it, and every task has its
// result for it before the call returns: nothing in here waits for a server or for an accuracy model. What is offloaded
// when is a Scheduler's decision; tracker or local algorithm, for each task and frame, is made by the lower estimated
// drop.
//
//   Client client({&depth, &odometry}, *ParsePolicy("accumo", 2), WeightedMerge({1, 1}), profile, offloader,
//   background,
//                 clock);
//   const FrameReport report = client.OnFrame(frame);   // depth's and odometry's results are now those of `frame`
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/base/clock.h"
#include "wharf/multitask/offload_profile.h"
#include "wharf/multitask/scheduler.h"
#include "wharf/multitask/task.h"

namespace wharf::multitask {

struct Reply {
  int64_t frame = 0;
  std::vector<absl::StatusOr<AnswerPointer>> answers;  // of the tasks that were asked for, in their order
};

// The way to the server, for one offload at a time. Called from the client's thread only; no call waits.
class Offloader {
 public:
  virtual ~Offloader() = default;
  // Sends `frame` for these tasks, by their numbers in the client. kUnavailable and the like: nothing was sent.
  // REQUIRES: nothing is in flight.
  virtual absl::Status Send(const FramePointer& frame, std::span<const int> tasks) = 0;
  // The reply of what is in flight once it is there; an error if it never will be. Nothing is in flight afterwards.
  virtual std::optional<absl::StatusOr<Reply>> Poll() = 0;
  // Gives up what is in flight: its reply is never polled.
  virtual void Cancel() = 0;
};

// Where accuracy models run, one a task at a time. Called from the client's thread only; no call waits.
class Background {
 public:
  virtual ~Background() = default;
  // REQUIRES: what was started for `task` before was polled.
  virtual void Start(int task, AccuracyModel model) = 0;
  // What the model found, once.
  virtual std::optional<absl::StatusOr<double>> Poll(int task) = 0;
};

enum class Source { kTracker, kLocalAlgorithm };

struct TaskReport {
  Source source = Source::kTracker;
  int stride = -1;         // from the frame of the newest answer; -1: there is none yet
  int latency_frames = 1;  // what the planner takes an offload to last
  AccuracyEstimate estimate;
  absl::Status status;  // of this frame's result
};

struct FrameReport {
  int64_t frame = 0;
  std::vector<TaskReport> tasks;
  std::vector<int> offloaded;    // which tasks this frame is offloaded for
  Nanoseconds decision_time{0};  // of the scheduler, if it was asked; by the real clock
};

struct ClientCounts {
  int64_t frames = 0, decisions = 0;
  std::vector<int64_t> offloads;  // of each task
  int64_t lost = 0;               // offloads that never came back, in time or at all
  int64_t refused = 0;            // answers that a server could not give or a task would not take
  int64_t failed_results = 0;     // frames and tasks for which there was no new result
  int64_t failed_models = 0;
};

struct ClientOptions {
  double frames_per_s = 60;
  Nanoseconds give_up_after = std::chrono::milliseconds(500);  // on an offload
};

// Not thread-safe.
class Client {
 public:
  // Latencies of the profile are what the planner begins with; then it goes by what offloads took. Pointers and
  // references must outlive the client. kInvalidArgument: no tasks or more than kMaxTasks, or one that the profile does
  // not know.
  static absl::StatusOr<Client> Make(std::vector<Task*> tasks, const Policy& policy, AccuracyMerge merge,
                                     const OffloadProfile& profile, Offloader& offloader, Background& background,
                                     Clock& clock, const ClientOptions& options = {});

  // Frames in the order of their indices, each when it is there.
  FrameReport OnFrame(const FramePointer& frame);

  const ClientCounts& counts() const { return counts_; }

 private:
  struct TaskState {
    Task* task;
    std::optional<int64_t> newest_answer;  // the frame it is about
    double latency_frames;                 // of its offloads, smoothed
    bool model_runs = false;
  };
  struct InFlight {
    FramePointer frame;
    std::vector<int> tasks;
    TimePoint sent;
  };

  Client(std::vector<TaskState> tasks, Scheduler scheduler, Offloader& offloader, Background& background, Clock& clock,
         const ClientOptions& options);

  void TakeReply(int64_t now);
  void TakeAnswers(const Reply& reply, int64_t now);
  void RunModels();
  void Offload(const FramePointer& frame, FrameReport& report);
  TaskStatus StatusOf(const TaskState& state, int64_t now) const;
  TaskReport Produce(TaskState& state, int64_t now);

  std::vector<TaskState> tasks_;
  Scheduler scheduler_;
  Offloader* offloader_;
  Background* background_;
  Clock* clock_;
  ClientOptions options_;
  std::optional<InFlight> in_flight_;
  std::optional<int64_t> first_frame_;
  ClientCounts counts_;
};

}  // namespace wharf::multitask
