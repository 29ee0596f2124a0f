// PeerConnection: a worker's way to another worker: sends samples there, in order, on a thread of its own; connects
// when there is something to send.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/peer_access.h"
#include "wharf/pipeline/stages/stage_runner.h"

namespace wharf::pipeline {

// Thread-safe.
class PeerConnection final : private link::FrameHandler {
 public:
  struct Parcel {
    uint64_t task = 0;
    uint32_t stage = 0;
    std::vector<uint64_t> numbers;
    std::vector<Sample> samples;
  };
  // `failed` is called on the peer's thread for what could not be sent. What was sent and then lost on the way is for
  // the scheduler to notice.
  PeerConnection(std::string address, PeerAccess access,
                 std::function<void(uint64_t task, const absl::Status&)> failed);
  // Drops what was not sent.
  ~PeerConnection() override;
  void Send(Parcel parcel);

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  void Loop();
  absl::Status Connect();
  absl::Status SendOne(const Parcel& parcel);

  const std::string address_;
  const PeerAccess access_;
  const std::function<void(uint64_t, const absl::Status&)> failed_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false, connected_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Parcel> parcels_ ABSL_GUARDED_BY(mutex_);
  std::optional<wire::ClientHandshake<PipelineProtocol>> handshake_;  // of the channel
  std::unique_ptr<link::Channel> channel_;                            // the peer's thread replaces it, under the mutex
  std::thread thread_;
};

}  // namespace wharf::pipeline
