// WorkerLink: the scheduler's connection to one worker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/model_source.h"
#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::pipeline {

// What a worker says; called on the link's reader thread.
class WorkerReports {
 public:
  virtual ~WorkerReports() = default;
  virtual void OnComputed(uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) = 0;
  virtual void OnArrived(uint64_t task, Nanoseconds took) = 0;
  virtual void OnFailed(uint64_t task, const absl::Status& why) = 0;
  // Last call.
  virtual void OnLost(const absl::Status& why) = 0;
};

// Thread-safe; Prepare is for one thread at a time.
class WorkerLink final : private link::FrameHandler {
 public:
  // `reports` must outlive it. Fails as link::Connect.
  static absl::StatusOr<std::unique_ptr<WorkerLink>> Open(const std::string& address, const PeerAccess& access,
                                                          WorkerReports& reports);
  ~WorkerLink() override;

  // Has the worker load the model, which is sent if it must be, and define stages of it. Waits for it: kUnavailable,
  // what the worker says is wrong, or kDeadlineExceeded if it says nothing for `timeout`. kInternal: its samples have
  // other sizes than `output_bytes` says for the last stage and `input_bytes` for the first.
  // The model is for GPUs divided into `parts`.
  absl::Status Prepare(const ModelSource& model, int max_batch, int parts, const std::vector<DefineStage>& stages,
                       Nanoseconds timeout);

  // The commands; they fail only if the link is lost, which is reported.
  void Input(uint32_t stage, const std::vector<uint64_t>& samples, std::span<const std::byte> bulk);
  void Compute(uint64_t task, uint32_t stage, uint32_t vgpu, const std::vector<uint64_t>& samples);
  void Send(uint64_t task, uint32_t stage, const std::vector<uint64_t>& samples, const std::string& address);
  // The link is lost: reported as any other loss.
  void Cut();

 private:
  explicit WorkerLink(WorkerReports& reports) : reports_(reports) {}
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  absl::Status OnReport(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  absl::StatusOr<bool> OpenModelThere(const ModelSource& model, int max_batch, int parts, Nanoseconds timeout);
  absl::Status SendModel(const ModelSource& model);
  // Waits for a message of that kind.
  template <typename T>
  absl::StatusOr<T> Await(std::vector<T>& arrived, Nanoseconds timeout);

  WorkerReports& reports_;
  absl::Mutex mutex_;
  std::vector<ModelState> model_states_ ABSL_GUARDED_BY(mutex_);
  std::vector<StageDefined> defined_ ABSL_GUARDED_BY(mutex_);
  std::vector<Welcome> welcomes_ ABSL_GUARDED_BY(mutex_);
  absl::Status goodbye_ ABSL_GUARDED_BY(mutex_), closed_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::pipeline
