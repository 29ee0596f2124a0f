// WorkerConnection: the scheduler's connection to one worker: commands go out as frames, and what the worker reports is
// posted to an event loop.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/event_loop.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/model_source.h"
#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::pipeline {

class WorkerConnection;

// Called on the event loop. `worker` is the member's name.
class WorkerEvents {
 public:
  virtual ~WorkerEvents() = default;
  // It serves these stages, and may be commanded through the connection until OnWorkerGone.
  virtual void OnWorkerReady(const std::string& worker, std::shared_ptr<WorkerConnection> connection,
                             const std::vector<uint32_t>& stages) = 0;
  // The last of a connection, given by its id.
  virtual void OnWorkerGone(const std::string& worker, uint64_t connection, const absl::Status& why) = 0;
  // What was said over a connection, given by its id: of any task, also of one that is another worker's.
  virtual void OnWorkerComputed(uint64_t connection, uint64_t task, Nanoseconds took,
                                std::vector<std::byte> outputs) = 0;
  virtual void OnWorkerArrived(uint64_t connection, uint64_t task) = 0;
  virtual void OnWorkerFailed(uint64_t connection, uint64_t task, const absl::Status& why) = 0;
};

// Thread-safe; Prepare is for one thread at a time. Not to be released on its own reader thread, so events that are
// posted name it by its id and never keep it alive.
class WorkerConnection final : private link::FrameHandler {
 public:
  // `loop` and `events` must outlive it, and what it posts before it goes. `worker` is the name events give. Fails as
  // link::Connect.
  static absl::StatusOr<std::shared_ptr<WorkerConnection>> Open(const std::string& worker, const std::string& address,
                                                                const PeerAccess& access, EventLoop& loop,
                                                                WorkerEvents& events);
  ~WorkerConnection() override;

  uint64_t Id() const { return id_; }
  // Whether it has ended; OnWorkerGone comes, or came.
  bool Lost() const { return lost_; }

  // Has the worker load the model, which is sent if it must be, and define stages of it. Waits for it: kUnavailable,
  // what the worker says is wrong, or kDeadlineExceeded if it says nothing for `timeout`. kInternal: its samples have
  // other sizes than `output_bytes` says for the last stage and `input_bytes` for the first.
  // The model is for GPUs divided into `parts`.
  absl::Status Prepare(const ModelSource& model, int max_batch, int parts, const std::vector<DefineStage>& stages,
                       Nanoseconds timeout);

  // The commands; they fail only if the connection is lost, which is reported.
  void Input(uint32_t stage, const std::vector<uint64_t>& samples, std::span<const std::byte> bulk);
  void Compute(uint64_t task, uint32_t stage, uint32_t vgpu, const std::vector<uint64_t>& samples);
  void Send(uint64_t task, uint32_t stage, const std::vector<uint64_t>& samples, const std::string& address);
  // Ends the connection: reported as any other loss.
  void Close();

 private:
  WorkerConnection(std::string worker, EventLoop& loop, WorkerEvents& events);
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  absl::Status OnReport(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  absl::Status OnComputed(uint64_t task, std::span<const std::byte> head, std::vector<std::byte> outputs);
  absl::StatusOr<bool> OpenRemoteModel(const ModelSource& model, int max_batch, int parts, Nanoseconds timeout);
  absl::Status SendModel(const ModelSource& model);
  // One that came.
  template <typename T>
  absl::Status Keep(std::vector<T> WorkerConnection::*list, const T& answer);
  // Waits for a message of that kind.
  template <typename T>
  absl::StatusOr<T> Await(std::vector<T> WorkerConnection::*list, Nanoseconds timeout);

  const std::string worker_;
  const uint64_t id_;  // never used again
  EventLoop& loop_;
  WorkerEvents& events_;
  std::atomic<bool> lost_ = false;
  absl::Mutex mutex_;
  std::vector<ModelState> model_states_ ABSL_GUARDED_BY(mutex_);
  std::vector<StageDefined> defined_ ABSL_GUARDED_BY(mutex_);
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  wire::ClientHandshake<PipelineProtocol> handshake_{"the worker"};
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::pipeline
