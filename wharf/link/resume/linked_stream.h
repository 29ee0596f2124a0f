// The one resumable stream there is, for both ends. Internal to the room; resumable_stream.h is the way in.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wharf/link/resume/byte_queue.h"
#include "wharf/link/resume/resumable_stream.h"
#include "wharf/link/resume/resume_chunk.h"

namespace wharf::link {

// One chunk: what is kept of it is soon sent and still in a cache, and an acknowledgement does not wait long for its
// turn; large against the price of the system calls at its ends.
inline constexpr size_t kChunkBytes = 1 << 20;
inline constexpr size_t kAcknowledgeAfter = 256 << 10;

// One thread at a time holds the right to write (`writing_`), one the right to read (`reading_`); both use the
// connection with the lock released. A keeper thread watches the time, dials, and sends again what was lost.
class LinkedStream final : public ResumableStream {
 public:
  using Pieces = std::span<const std::span<const std::byte>>;

  // `dial` is empty on the server.
  LinkedStream(std::shared_ptr<ByteStream> link, Dial dial, const ResumeKey& key, const ResumeOptions& options);
  ~LinkedStream() override {
    Shutdown();
    keeper_.join();
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override;
  absl::Status Write(Pieces pieces) override;
  absl::StatusOr<size_t> TryWrite(Pieces pieces) override;
  void FinishWriting() override;
  void Shutdown() override;
  bool Resume(std::unique_ptr<ByteStream> connection, const Opening& opening) override;

  std::string Peer() const override { return Link()->Peer(); }
  bool IsLocal() const override { return Link()->IsLocal(); }
  std::optional<TransportInfo> Info() const override { return Link()->Info(); }
  // That of the first connection, on both sides: the later ones are proved by the stream's secret.
  std::string ChannelBinding() const override { return binding_; }
  std::vector<std::string> PeerUnits() const override { return units_; }
  bool Resuming() const override {
    std::lock_guard lock(mutex_);
    return state_ == State::kDown || state_ == State::kResending;
  }

 private:
  using Bytes = std::span<const std::byte>;
  using Lock = std::unique_lock<std::mutex>;

  enum class State {
    kUp,
    kDown,       // no connection; link_ is the last one
    kResending,  // connected, and the keeper sends again what was lost
    kOver
  };

  std::shared_ptr<ByteStream> Link() const {
    std::lock_guard lock(mutex_);
    return link_;
  }
  TimePoint Now() const { return options_.clock->Now(); }
  uint64_t Sent() const { return acknowledged_ + kept_.size(); }
  bool Connected() const { return state_ == State::kUp || state_ == State::kResending; }

  // All with mutex_ held; those that take the lock may release it meanwhile.
  void Break(const absl::Status& why);
  void Fail(const absl::Status& why);
  void Forget();

  Bytes NextPayload(size_t limit);
  void OnAcknowledgement(uint64_t place);
  size_t TakePayload(std::span<std::byte> into);
  size_t ReadLink(Lock& lock, std::span<std::byte> into);
  void ReadAhead(Lock& lock);
  void KeepAhead();
  void OnConsumed(Lock& lock, size_t bytes);

  bool Writable() const { return state_ == State::kUp && !writing_ && !deaf_ && !finished_ && HasRoom(); }
  bool HasRoom() const { return owed_ > 0 || kept_.size() < kResumeWindow; }
  bool ControlDue() const { return tell_now_ || ping_ || !unsent_.empty() || received_ - told_ >= kAcknowledgeAfter; }
  absl::Status AwaitWritable(Lock& lock);
  size_t WriteChunk(Lock& lock, Pieces pieces, size_t skip, bool wait);
  size_t Gather(Pieces pieces, size_t skip);
  absl::StatusOr<size_t> WriteGathered(Lock& lock, bool wait);
  size_t OnTaken(size_t bytes);
  void QueueControl();
  void SendControl(Lock& lock);

  void Keep();
  void TakeOffer(Lock& lock);
  void Redial(Lock& lock);
  void AwaitOffer(Lock& lock);
  bool Install(Lock& lock, std::shared_ptr<ByteStream> link, uint64_t peer_received);
  void Resend(Lock& lock);
  void Watch(Lock& lock);
  void OnTick(Lock& lock);
  bool Quiet() const { return kept_.empty() && received_ == told_ && unsent_.empty(); }

  const Dial dial_;
  const ResumeKey key_;
  const ResumeOptions options_;
  const Nanoseconds tick_;
  const std::string binding_;
  const std::vector<std::string> units_;

  mutable std::mutex mutex_;
  std::condition_variable readable_, writable_, work_;  // of readers, writers, the keeper
  State state_ = State::kUp;
  std::shared_ptr<ByteStream> link_;  // never null
  std::shared_ptr<ByteStream> candidate_;
  uint64_t epoch_ = 0;  // counts breaks and connections: what was under way belongs to the one before
  absl::Status failed_;
  bool shut_ = false;

  // Writing.
  bool writing_ = false, finished_ = false;
  bool may_wait_ = false;      // whoever is writing may wait for the peer
  bool deaf_ = false;          // the connection takes nothing more; what it still brings is read before it is given up
  uint64_t acknowledged_ = 0;  // by the peer
  ByteQueue kept_;             // from acknowledged_ on
  ChunkQueue unsent_;          // goes before anything else
  size_t owed_ = 0;            // of the chunk whose header was sent or stands in unsent_
  std::vector<Bytes> gathered_;  // of whoever writes
  uint64_t resend_at_ = 0;
  std::vector<std::byte> resent_;

  // Reading.
  bool reading_ = false, ended_ = false;
  uint64_t received_ = 0;  // handed to the reader
  uint64_t told_ = 0;      // acknowledged to the peer
  bool tell_ = false;      // with the next chunk
  bool tell_now_ = false;  // even if there is none
  bool ping_ = false;
  ChunkBuffer buffer_;
  ByteQueue ahead_;  // what a waiting writer read for the reader

  // The keeper.
  bool keeper_sleeps_ = false;
  TimePoint next_tick_, next_attempt_, down_since_;
  Nanoseconds backoff_{0};
  uint64_t progress_ = 0;  // at the last break
  absl::Status why_down_;
  uint64_t reads_ = 0, reads_at_tick_ = 0;
  int quiet_ticks_ = 0;
  std::shared_ptr<ByteStream> offered_;
  uint64_t offered_received_ = 0;
  std::thread keeper_;
};

}  // namespace wharf::link
