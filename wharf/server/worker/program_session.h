// ProgramSession: one client on one channel, from Hello to the end. It authenticates, asks for admission, makes the
// device and hands every later frame to an offload::Executor.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"
#include "wharf/link/channel.h"
#include "wharf/offload/handshake.h"
#include "wharf/offload/server/executor.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

struct ProgramSessionConfig {
  uint64_t id = 0;
  wire::ClientCheck check;
  std::string driver;  // of the devices make_device makes
  uint64_t memory_quota = 0;
  bool unsafe_replay = false;     // is there for who asks for it
  bool has_kernel_packs = false;  // the device may find PTX for programs that carry none
  // Called once, on the channel's reader thread, after the client has proved itself; may block.
  std::function<Verdict()> admit;
  // The same, of a client that only asks; without: the server is idle.
  std::function<ServerLoad()> load;
  // Called at most once, with the quota to use.
  std::function<absl::StatusOr<std::unique_ptr<device::Device>>(uint64_t memory_quota)> make_device;
  // The client is not let in; must not block. From any thread.
  std::function<void(const std::string& peer, const std::string& why)> on_refused;
  std::function<void()> on_closed;  // from the reader thread; must not block
};

class ProgramSession final : public link::FrameHandler {
 public:
  // `channel` must live until Stop has returned; the session outlives the channel, whose handler it is.
  ProgramSession(ProgramSessionConfig config, link::Channel* channel);

  // link::FrameHandler
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  // --- from any thread ---
  enum class Phase { kAwaitingHello, kRunning, kRefused, kClosed };  // kRefused: answered, and closing
  Phase CurrentPhase() const;
  // True while the reader handles a frame: then silence is ours, not the peer's.
  bool Handling() const { return handling_.Handling(); }
  // Processor time that handling the frame under way has taken, on its thread, since this was asked of it first: of
  // parsing and compiling, as kernels run on others. Zero if none is. From one thread; costs the others nothing.
  Nanoseconds HandlingTime();
  // Refuses a peer that has not said Hello, or says Goodbye to one that has; then closes. Waits if the peer does not
  // read, until Stop.
  void End(offload::RefusalReason refusal, const std::string& reason);
  // Asks a running session's peer for a sign of life; never blocks.
  void Ping();
  // Closes the channel, lets go of everything that waits for the peer, sends nothing more. Not from within a handler.
  void Stop();
  SessionReport Report() const;
  bool Admitted() const { return ExecutorOrNull() != nullptr; }
  absl::Status WhyClosed() const;

 private:
  absl::Status OnHello(const link::FrameHeader& header, std::span<const std::byte> head);
  uint64_t FeaturesOf(const offload::Hello& hello) const;
  absl::Status AnswerCheck(const offload::Hello& hello);
  absl::Status Open(const offload::Hello& hello);
  absl::Status Refuse(offload::RefusalReason reason, const std::string& message);
  void SetPhase(Phase phase);

  ProgramSessionConfig config_;
  link::Channel* const channel_;
  wire::ServerHandshake<offload::ProgramProtocol> handshake_;
  offload::HandlingClock handling_;
  mutable absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kAwaitingHello;
  absl::Status why_closed_ ABSL_GUARDED_BY(mutex_);
  // Made on the reader thread, once; read elsewhere through ExecutorOrNull.
  offload::Executor* ExecutorOrNull() const;
  std::unique_ptr<offload::Executor> executor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::server
