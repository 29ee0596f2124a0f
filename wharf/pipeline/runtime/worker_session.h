// WorkerSession: one connection to a worker. Internal to the room.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/worker.h"

namespace wharf::pipeline {

class WorkerSession final : private link::FrameHandler {
 public:
  WorkerSession(Worker& worker, std::unique_ptr<link::ByteStream> stream);
  // Closes it. Waits for a model that is being loaded.
  ~WorkerSession() override;

  bool Over() const { return over_; }
  bool Late(TimePoint now) const { return handshake_.Late(now); }
  link::Channel& Channel() { return *channel_; }

 private:
  friend class Worker;
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  absl::Status CheckBulk(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                      std::span<const std::byte> bulk);
  absl::Status HandleScheduler(const link::FrameHeader& header, std::span<const std::byte> head,
                               std::span<const std::byte> bulk);
  absl::Status OnHello(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnOpenModel(std::span<const std::byte> head);
  absl::Status OnModelPiece(std::span<const std::byte> piece);
  // Says what became of it when it is done: on a thread of its own, for a GPU takes seconds, and tasks of the plan that
  // runs are not to wait behind the next one's model.
  absl::Status StartLoading(std::function<absl::Status()> load);
  absl::Status Load(const OpenModel& open, std::span<const std::byte> bytes);
  absl::Status OnDefineStage(std::span<const std::byte> head);
  absl::Status OnSamples(const link::FrameHeader& header, std::span<const std::byte> head,
                         std::span<const std::byte> bulk);
  absl::Status OnCompute(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnSend(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status End(const absl::Status& why);
  absl::StatusOr<std::vector<uint64_t>> NumbersFor(const WorkerStage& stage, std::span<const std::byte> list) const;

  Worker& worker_;
  wire::ServerHandshake<PipelineProtocol> handshake_;
  // Of the reader thread.
  std::optional<Role> role_;
  std::optional<OpenModel> awaited_;  // a model that is being sent
  std::vector<std::byte> pieces_;
  TimePoint bulk_began_;

  std::thread loading_;
  std::atomic<bool> is_loading_ = false;
  absl::Mutex mutex_;
  std::shared_ptr<const BatchedModel> model_ ABSL_GUARDED_BY(mutex_);  // opened last

  std::atomic<bool> over_ = false;
  bool left_ = false;  // the worker's, with scheduler_: it may not become its scheduler any more
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::pipeline
