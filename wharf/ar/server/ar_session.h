// ArSession: one AR client of a server. Internal to the room.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "wharf/ar/server/picture_memory.h"
#include "wharf/ar/server/rate_limit.h"
#include "wharf/ar/server/server.h"
#include "wharf/link/outbox.h"

namespace wharf::ar {

class ArSession final : private link::FrameHandler {
 public:
  // `id`: of this session, not 0 and never used again. `memory` and `tally` must outlive it, as what the config points
  // to. `relay`: to its client's.
  ArSession(const ServerConfig& config, uint64_t id, PictureMemory& memory, ServerTally& tally,
            std::unique_ptr<link::ByteStream> relay);
  ~ArSession() override;
  bool Over() const { return over_; }
  // It has not said who it is for too long.
  bool Late(TimePoint now) const { return handshake_.Late(now); }
  // Tells the client where else to go.
  void Redirect();
  // When anything came of the client.
  TimePoint HeardAt() const { return {Nanoseconds(heard_at_.load())}; }
  // Ends it, for one that needs its place; waits a moment for the client to hear of it.
  void GiveWay();

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  absl::Status CheckBulk(const link::FrameHeader& header) const;
  // Of a relay that has sent its client away.
  absl::Status OnGoodbye(std::span<const std::byte> head);
  // Of a client that was let in.
  absl::Status CountMessage();
  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnHello(const link::FrameHeader& header, std::span<const std::byte> head);
  // To a client that only asks: it was not refused.
  absl::Status AnswerCheck();
  // What the session needs, by its Hello.
  absl::Status Prepare();
  absl::Status OnPicture(int64_t frame, std::span<const std::byte> head);
  void FindAlone(int64_t frame, uint8_t tasks, scene::Image image);
  void Fail(int64_t frame, uint8_t tasks, const absl::Status& why);
  absl::Status End(const absl::Status& why);

  const ServerConfig& config_;
  const uint64_t id_;
  PictureMemory& memory_;
  ServerTally& tally_;
  wire::ServerHandshake<ArProtocol> handshake_;
  std::atomic<bool> over_ = false;
  std::atomic<Nanoseconds::rep> heard_at_;
  std::unique_ptr<link::Channel> channel_;
  std::shared_ptr<link::Outbox> outbox_;
  // Of the reader's thread, once it has greeted.
  Hello hello_;
  std::optional<RateLimit> messages_, pictures_;
  PictureMemory::Share share_;             // goes after what it is for
  scene::Image incoming_;                  // the picture that is being read
  std::unique_ptr<SoloFinder> solo_;       // used on the thread of turns
  std::atomic<uint64_t> coordinated_ = 0;  // its number there
};

}  // namespace wharf::ar
