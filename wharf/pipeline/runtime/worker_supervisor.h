// WorkerSupervisor: looks after one worker: connects to it, prepares it for the stages it is to serve, and connects
// again when it was lost, until it is let go.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/membership/membership.h"
#include "wharf/pipeline/runtime/worker_connection.h"

namespace wharf::pipeline {

// A stage that a worker is to serve.
struct Duty {
  const ModelSource* model = nullptr;  // outlives the supervisor
  int max_batch = 1;
  int parts = 1;  // that each GPU is divided into
  DefineStage stage;
};

// Thread-safe.
class WorkerSupervisor {
 public:
  // `loop` and `events` must outlive it, and what it posts before it goes.
  WorkerSupervisor(Member member, PeerAccess access, EventLoop& loop, WorkerEvents& events);
  // Waits for what it is doing: seconds, at worst.
  ~WorkerSupervisor();
  const Member& GetMember() const { return member_; }
  // In place of what it was to serve. OnWorkerReady follows, also if it does already, and again after a loss.
  void Serve(std::vector<Duty> duties);
  // What it was to serve, once more: after a loss.
  void Again();

 private:
  void Loop();
  // False: it was let go meanwhile.
  bool RestAfterLoss();
  // Connects if it must, has the worker define what it does not serve yet, and reports that it is ready.
  absl::Status Prepare(const std::vector<Duty>& duties);

  const Member member_;
  const PeerAccess access_;
  EventLoop& loop_;
  WorkerEvents& events_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;  // since it was last prepared
  std::vector<Duty> duties_ ABSL_GUARDED_BY(mutex_);
  // Of its thread.
  std::shared_ptr<WorkerConnection> connection_;
  TimePoint connected_;
  Nanoseconds rest_{0};            // the last
  std::vector<uint32_t> defined_;  // on this connection
  std::thread thread_;
};

}  // namespace wharf::pipeline
