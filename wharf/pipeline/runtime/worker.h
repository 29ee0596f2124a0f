// Worker: computes stages of models for a scheduler, and passes what it made on to other workers. docs/protocol.md,
// "Pipelines".
//
// Who connects says what they are. The scheduler that came last is the worker's: what another wanted is forgotten.
// Workers bring samples; anybody else is sent away.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/peer_access.h"
#include "wharf/pipeline/runtime/peer_connection.h"
#include "wharf/pipeline/runtime/sample_store.h"
#include "wharf/split/runtime/model_files.h"

namespace wharf::pipeline {

class WorkerSession;

struct WorkerConfig {
  // [parts - 1]: of a GPU divided into so many; null: there are no such parts. They must outlive the worker.
  std::vector<const exec::Engine*> engines;
  int gpus = 1;
  const split::ModelFiles* files = nullptr;  // the same
  PeerAccess access;                         // to other workers
  wire::ClientCheck check;                   // of schedulers and other workers
  uint64_t max_model_bytes = uint64_t{1} << 30;
  size_t max_held_bytes = size_t{1} << 30;  // of samples
  // Of what goes into a stage's largest batch and what comes out: a stage of more is refused.
  uint64_t max_batch_bytes = uint64_t{2} << 30;
  link::FrameLimits limits = PipelineFrameLimits();
  size_t max_sessions = 256;
  Clock* clock = &Clock::Real();
};

// A stage the scheduler has defined. Immutable.
struct WorkerStage {
  std::shared_ptr<const StageRunner> runner;
  bool last = false;
  std::vector<Nanoseconds> least;  // [batch - 1]: that a computation takes; empty: what it takes
};

// Sessions are read on threads of their own; each virtual GPU computes on one, and one for each peer sends.
// Thread-safe.
class Worker {
 public:
  explicit Worker(WorkerConfig config);
  // Ends all sessions. Waits for the computation that runs.
  ~Worker();
  // A connection that somebody made.
  void Accept(std::unique_ptr<link::ByteStream> stream);

 private:
  friend class WorkerSession;
  struct Job {
    uint64_t task = 0;
    WorkerStage stage;
    std::vector<uint64_t> samples;
    TimePoint came;
  };
  // Computes one job after the other.
  struct Vgpu {
    std::deque<Job> jobs;
    TimePoint free_at;  // of its thread: when the last one was over
    std::thread computing;
  };

  // For sessions.
  void TakeScheduler(WorkerSession* session);
  void Left(WorkerSession* session);
  absl::Status CheckParts(uint32_t parts) const;
  absl::StatusOr<std::shared_ptr<const BatchedModel>> Load(const OpenModel& open, std::span<const std::byte> bytes);
  absl::Status Define(uint32_t number, WorkerStage stage);
  absl::StatusOr<WorkerStage> Stage(uint32_t number);
  absl::Status Enqueue(uint32_t vgpu, Job job);
  void SendOn(uint64_t task, const Send& message, std::vector<uint64_t> samples);
  // OK if there is no scheduler. Otherwise as Channel::Send fails.
  template <typename T>
  absl::Status Report(FrameKind kind, uint64_t task, const T& message, std::span<const std::byte> bulk = {});
  void ReportFailure(uint64_t task, const absl::Status& why);

  void ComputeLoop(Vgpu& vgpu);
  // Fails with what the scheduler is to be told.
  absl::Status ComputeOne(Vgpu& vgpu, const Job& job);

  const WorkerConfig config_;
  SampleStore store_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Vgpu> vgpus_ ABSL_GUARDED_BY(mutex_);  // those that have had something to do
  std::map<uint32_t, WorkerStage> stages_ ABSL_GUARDED_BY(mutex_);
  // By hash, largest batch and parts.
  std::map<std::tuple<Sha256, uint32_t, uint32_t>, std::shared_ptr<const BatchedModel>> models_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<PeerConnection>> peers_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex reporting_ ABSL_ACQUIRED_AFTER(mutex_);
  WorkerSession* scheduler_ ABSL_GUARDED_BY(reporting_) = nullptr;
  absl::Mutex accepting_;
  std::list<std::unique_ptr<WorkerSession>> sessions_ ABSL_GUARDED_BY(accepting_);
};

}  // namespace wharf::pipeline
