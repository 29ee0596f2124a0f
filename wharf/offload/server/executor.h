// Executor: the server's half of an offloaded CUDA program. It takes the frames of one session from a channel, decodes
// them (wire.h is the only description) and drives a Device; replies leave when the device gets there.
//
//   Executor executor(std::move(device), channel.get(), {});
//   channel->Start(&executor);
//   …
//   executor.Stop();   // then the channel may go, then the executor
//   channel.reset();
//
// What arrives is hostile until checked: an unknown operation, a malformed head or a bulk part that does not match its
// extent ends the session with a Goodbye; a well-formed operation that the device refuses is CUDA's error to the
// client. Memory held for the peer is bounded by ExecutorOptions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"
#include "wharf/link/channel.h"
#include "wharf/offload/bulk/arrival_meter.h"
#include "wharf/offload/bulk/bulk_decoder.h"
#include "wharf/offload/in_flight_budget.h"
#include "wharf/offload/replay/replay_follower.h"
#include "wharf/offload/reply_queue.h"
#include "wharf/offload/server/frame_worker.h"
#include "wharf/offload/server/host_calls.h"
#include "wharf/offload/server/resumer.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

struct ExecutorOptions {
  uint64_t queued_bytes = 256 << 20;     // work queued on the device before reading stops
  uint64_t queued_bytes_hard = 1 << 30;  // the same, and frames, while a host call holds a stream
  uint64_t unsent_bytes = 256 << 20;     // replies wanted or waiting before reading stops
  // All module images of a session, those not yet whole included, with its textures and surfaces; not more than the
  // device's memory either (its quota), but kLeastModuleBytes.
  uint64_t module_bytes = uint64_t{2} << 30;
  // Streams, events, modules, functions, mappings, pending host calls: each; textures and surfaces together.
  uint64_t objects = 1 << 20;
};

inline constexpr uint64_t kLeastModuleBytes = 16 << 20;  // a program has code, however little memory it wants
inline constexpr uint64_t kModuleBytes = 4096;           // what a module counts for beside its image
inline constexpr uint64_t kTextureBytes = 512;           // and what a texture or a surface does

struct ExecutorCounters {
  uint64_t operations = 0, blocking_operations = 0, launches = 0, posted_errors = 0;
  uint64_t mapped_bytes = 0, peak_mapped_bytes = 0;
  ReplayCounters replay;
  BulkTraffic bulk_in, bulk_out;
};

// The executor's channel must have these limits.
link::FrameLimits ExecutorFrameLimits();

class Executor final : public link::FrameHandler, private ReplayPerformer {
 public:
  // `channel` must live until Stop has returned.
  Executor(std::unique_ptr<device::Device> device, link::Channel* channel, const ExecutorOptions& options = {});
  // Frees the device with all the session's memory; waits for kernels that are running. REQUIRES: Stop was called and
  // the channel's reader has ended.
  ~Executor() override;

  // Remembers the session's operations and accepts Progress frames. Call before the channel is started.
  void EnableReplay(const ReplayOptions& replay);
  // Data may come coded, and leave so. Call before the client is let in.
  void EnableCodedBulk();

  // Closes the channel and sends nothing more. Not from within a handler.
  void Stop();

  // link::FrameHandler, on the channel's reader thread.
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  // Lets go of everything that waits for the peer: a held stream, a held reader. Thread-safe, idempotent.
  void Release();

  // Asks the peer for a sign of life. Thread-safe, never blocks.
  void Ping() { replies_->Frame(FrameKind::kPing, 0, {}); }

  // Thread-safe.
  ExecutorCounters Counters() const;
  const device::Device& Device() const { return *device_; }
  // Processor time that the operation under way has taken which the reader does not carry out itself, since this was
  // asked of it first; zero if there is none. From one thread.
  Nanoseconds WorkerTime() { return worker_.HandlingTime(); }

 private:
  template <typename... Ops>
  absl::Status DispatchAny(OpList<Ops...>, const link::FrameHeader& header, std::span<const std::byte> head,
                           std::vector<std::byte>& bulk);
  template <typename Op>
  absl::Status Dispatch(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte>& bulk);
  absl::Status Route(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  absl::Status Take(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  absl::StatusOr<std::vector<std::byte>> DecodeBulk(const link::FrameHeader& header, std::span<const std::byte> head,
                                                    std::vector<std::byte> bulk);
  absl::Status OnControlFrame(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnProgress(const link::FrameHeader& header, std::span<const std::byte> head,
                          std::vector<std::byte> bulk);
  template <typename Op>
  void Count();

  // ReplayPerformer
  absl::Status Perform(const StepOp& op, std::vector<std::byte> bulk, const ReplyTicket& ticket) override;
  device::Submission Submit(device::WorkList& list, size_t first, size_t count, size_t launches,
                            device::StreamId stream) override;
  absl::Status LaunchGuarded(const Launch& op, const device::Guard& guard) override;
  void Latch(const absl::Status& status) override;
  void ResumeWhenHere(const std::shared_ptr<const SmallAnswer>& answer) override;
  bool HasIdleRoom() override;
  const Mappings& Allocations() const override { return mappings_; }
  bool HasOneStream() const override { return streams_.empty(); }
  bool OthersAreIdle(device::StreamId stream) override;
  absl::Status CloseWith(const absl::Status& why);
  void Resume();

  // Posted: the status is latched for the next reply.
  absl::Status Handle(const MapMemory& op);
  absl::Status Handle(const UnmapMemory& op);
  absl::Status Handle(const LoadModule& op, std::vector<std::byte> piece);
  absl::Status Handle(const UnloadModule& op);
  absl::Status Handle(const DefineFunction& op);
  absl::Status Handle(const SetMaxDynamicShared& op);
  absl::Status Handle(const CreateStream& op);
  absl::Status Handle(const DestroyStream& op);
  absl::Status Handle(const CreateEvent& op);
  absl::Status Handle(const DestroyEvent& op);
  absl::Status Handle(const RecordEvent& op);
  absl::Status Handle(const WaitEvent& op);
  absl::Status Handle(const CopyToDevice& op, std::vector<std::byte> bulk);
  absl::Status Handle(const CopyOnDevice& op);
  absl::Status Handle(const Fill& op);
  absl::Status Handle(Launch& op);
  absl::Status Handle(const RunGemm& op);
  template <RunsPrimitive Op>
  absl::Status Handle(const Op& op);
  absl::Status Handle(const RequestHostCall& op);
  absl::Status Handle(const HostCallDone& op);
  absl::Status Handle(const DestroyTexture& op);
  absl::Status Handle(const DestroySurface& op);

  // Blocking: answered now or from a callback. What it was refused with, if it was; the client has been told.
  absl::Status Answer(const CopyToHost& op, const ReplyTicket& ticket);
  absl::Status Answer(const SynchronizeStream& op, const ReplyTicket& ticket);
  absl::Status Answer(const SynchronizeDevice& op, const ReplyTicket& ticket);
  absl::Status Answer(const SynchronizeEvent& op, const ReplyTicket& ticket);
  absl::Status Answer(const QueryStream& op, const ReplyTicket& ticket);
  absl::Status Answer(const QueryEvent& op, const ReplyTicket& ticket);
  absl::Status Answer(const ElapsedTime& op, const ReplyTicket& ticket);
  absl::Status Answer(const FindSymbol& op, const ReplyTicket& ticket);
  absl::Status Answer(const GetAttributes& op, const ReplyTicket& ticket);
  absl::Status Answer(const Acknowledge& op, const ReplyTicket& ticket);
  absl::Status Answer(const SessionStats& op, const ReplyTicket& ticket);
  absl::Status Answer(const DescribeDevice& op, const ReplyTicket& ticket);
  absl::Status Answer(const CreateTexture& op, const ReplyTicket& ticket);
  absl::Status Answer(const CreateSurface& op, const ReplyTicket& ticket);
  absl::Status Answer(const EncodeTensorMap& op, const ReplyTicket& ticket);
  device::Done ReplyWhenDone(const ReplyTicket& ticket);
  absl::Status AnswerNow(const ReplyTicket& ticket, const absl::Status& status, std::vector<std::byte> body = {});
  // `queued`, after answering what it refuses at once, so that no later question is answered before: the client counts
  // on being told of what was refused.
  absl::Status ReplyIfFailed(const ReplyTicket& ticket, const absl::Status& queued, uint64_t charged);

  // Queues work with `call`, a call of the device, and accounts it with `bytes` until the stream has got past it; holds
  // the reader back as the options say.
  template <typename Call>
  absl::Status Queue(device::StreamId stream, uint64_t bytes, Call call);
  absl::Status WaitForRoom(uint64_t bytes);
  void Account(device::StreamId stream, uint64_t bytes);
  void ReleaseWhenDone(device::StreamId stream, uint64_t bytes);
  void SettleAllStreams();
  absl::Status CheckCount(uint64_t count, const char* what) const;
  // What a module, a piece of one or a texture costs; refused beyond the session's limit.
  absl::Status ChargeKept(uint64_t bytes);
  // Makes a texture or a surface by `create`, a call of the device.
  template <typename Op, typename Create>
  absl::Status AnswerCreated(const ReplyTicket& ticket, Create create);
  void ReleaseTexture();

  const ExecutorOptions options_;
  link::Channel* const channel_;
  std::unique_ptr<device::Device> device_;
  const uint64_t most_kept_bytes_;
  // Shared with callbacks, which may run until the device is gone.
  std::shared_ptr<ReplyQueue> replies_;
  std::shared_ptr<InFlightBudget> queued_;
  std::shared_ptr<HostCalls> host_calls_;

  // Whoever carries out the client's operations: the channel's reader or its worker, and the thread that resumes
  // running ahead.
  absl::Mutex turn_;
  // Under turn_, but for what the reader alone needs.
  std::unordered_map<device::StreamId, uint64_t> uncharged_;  // bytes no notification covers yet
  std::unordered_map<device::ModuleId, std::vector<std::byte>> partial_modules_;
  struct LoadedModule {
    uint64_t bytes = 0, functions = 0;
  };
  std::unordered_map<device::ModuleId, LoadedModule> modules_;
  Mappings mappings_;
  std::unordered_set<device::StreamId> streams_;
  uint64_t kept_bytes_ = 0;  // of modules, textures and surfaces
  uint64_t events_ = 0, functions_ = 0, textures_ = 0;
  std::unique_ptr<ReplayFollower> replay_;  // null unless enabled
  std::unique_ptr<Resumer> resumer_;        // the same
  bool codes_bulk_ = false;
  ArrivalMeter arrivals_;
  BulkDecoder decoder_;
  FrameWorker worker_;

  mutable absl::Mutex counters_mutex_;
  ExecutorCounters counters_ ABSL_GUARDED_BY(counters_mutex_);
};

}  // namespace wharf::offload
