// A server and accuracy models on threads of this process, by the real clock.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/idle_worker.h"
#include "wharf/multitask/client.h"

namespace wharf::multitask {

// Runs the servers' halves on one thread, as a server that is this client's alone would.
class ThreadOffloader final : public Offloader {
 public:
  // Servers must outlive this and are called from its thread only.
  explicit ThreadOffloader(std::vector<TaskServer*> servers);
  ~ThreadOffloader() override;

  absl::Status Send(const FramePointer& frame, std::span<const int> tasks) override;
  std::optional<absl::StatusOr<Reply>> Poll() override;
  // What runs, runs on; kept is nothing of it. Until it ends, Send is refused with kUnavailable.
  void Cancel() override;

 private:
  struct Work {
    FramePointer frame;
    std::vector<int> tasks;
  };
  void ThreadMain();
  Reply Serve(const Work& work);

  const std::vector<TaskServer*> servers_;
  absl::Mutex mutex_;
  std::optional<Work> work_ ABSL_GUARDED_BY(mutex_);  // until it has been served
  std::optional<Reply> reply_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // what is in work_
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Runs accuracy models one after another on a thread of low priority.
class ThreadBackground final : public Background {
 public:
  explicit ThreadBackground(int tasks) : found_(tasks) {}

  void Start(int task, AccuracyModel model) override;
  std::optional<absl::StatusOr<double>> Poll(int task) override;

 private:
  absl::Mutex mutex_;
  std::vector<std::optional<absl::StatusOr<double>>> found_ ABSL_GUARDED_BY(mutex_);
  IdleWorker worker_;  // last: its tasks use the others
};

}  // namespace wharf::multitask
