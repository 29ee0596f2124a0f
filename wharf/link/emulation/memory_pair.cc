#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>

#include "wharf/link/emulation/emulator.h"

namespace wharf::link {
namespace {

constexpr size_t kUnshapedCapacity = 256 << 10;
// A virtual clock cannot wake us, so it is looked at this often.
constexpr auto kLookAtClock = std::chrono::microseconds(100);

using Bytes = std::span<const std::byte>;
using Lock = std::unique_lock<std::mutex>;

// Both directions share one lock, as a dropped connection hits both.
struct Connection {
  explicit Connection(Clock& clock) : clock(clock) {}

  // Waits for a change, or until `until` on the clock.
  void Wait(Lock& lock, std::optional<TimePoint> until) {
    if (!until.has_value()) {
      changed.wait(lock);
    } else if (&clock == &Clock::Real()) {
      changed.wait_until(lock, std::chrono::steady_clock::time_point(until->since_epoch));
    } else {
      changed.wait_for(lock, kLookAtClock);
    }
  }

  Clock& clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool dropped = false;  // by a fault
};

// One direction. All members under the connection's mutex.
class Pipe {
 public:
  Pipe(Connection& connection, const Faults& faults, const LinkProfile* profile, uint64_t seed_offset)
      : connection_(connection), faults_(faults) {
    if (profile == nullptr) return;
    LinkProfile own = *profile;
    own.seed += seed_offset;
    capacity_ = std::max<size_t>(own.queue_bytes, 1);
    model_.emplace(std::move(own), connection.clock.Now());
  }

  absl::StatusOr<size_t> Read(Lock& lock, std::span<std::byte> into) {
    if (into.empty()) return 0;
    while (true) {
      if (reader_gone_) return 0;
      const TimePoint now = connection_.clock.Now();
      if (!packets_.empty() && packets_.front().delivered <= now) return Take(into, now);
      if (packets_.empty() && connection_.dropped) return Unavailable("connection lost");
      if (packets_.empty() && finished_ && !faults_.stall && end_delivered_ <= now) return 0;
      connection_.Wait(lock, NextDelivery());
    }
  }

  // Bytes taken; less than all only if `wait` is false.
  absl::StatusOr<size_t> Write(Lock& lock, std::span<const Bytes> pieces, bool wait) {
    size_t done = 0;
    for (Bytes piece : pieces) {
      while (!piece.empty()) {
        if (connection_.dropped) return Unavailable("connection lost");
        if (finished_ || reader_gone_) return Unavailable("connection lost: closed");
        const TimePoint now = connection_.clock.Now();
        const size_t room = Room(now);
        if (room == 0) {
          if (!wait) return done;
          connection_.Wait(lock, NextDeparture());
          continue;
        }
        const size_t part = std::min({room, piece.size(), model_.has_value() ? kPacketBytes : kUnshapedCapacity});
        Put(piece.first(part), now);
        piece = piece.subspan(part);
        done += part;
      }
    }
    return done;
  }

  void Finish() {
    if (finished_) return;
    finished_ = true;
    if (model_.has_value()) end_delivered_ = model_->Send(connection_.clock.Now(), 0).delivered;
    connection_.changed.notify_all();
  }
  void LeaveReader() {
    reader_gone_ = true;
    connection_.changed.notify_all();
  }

 private:
  struct Packet {
    std::vector<std::byte> bytes;
    size_t begin = 0;
    TimePoint sent, delivered;
  };

  absl::StatusOr<size_t> Take(std::span<std::byte> into, TimePoint now) {
    NoteArrivals(now);
    size_t done = 0;
    const size_t limit = std::min(into.size(), faults_.max_read);
    while (done < limit && !packets_.empty() && packets_.front().delivered <= now) {
      Packet& packet = packets_.front();
      const size_t part = std::min(limit - done, packet.bytes.size() - packet.begin);
      std::memcpy(into.data() + done, packet.bytes.data() + packet.begin, part);
      done += part;
      packet.begin += part;
      arrived_bytes_ -= part;
      if (packet.begin == packet.bytes.size()) {
        packets_.pop_front();
        --arrived_;
      }
    }
    connection_.changed.notify_all();
    return done;
  }

  // Unshaped, what was written and not read counts. Shaped, what has not left the sender's queue; and nothing is let in
  // while more has arrived than an unshaped stream would hold.
  size_t Room(TimePoint now) {
    NoteArrivals(now);
    while (!queued_.empty() && queued_.front().sent <= now) {
      queued_bytes_ -= queued_.front().size;
      queued_.pop_front();
    }
    if (arrived_bytes_ >= kUnshapedCapacity) return 0;
    if (!model_.has_value()) return kUnshapedCapacity - arrived_bytes_;
    return capacity_ - std::min(capacity_, queued_bytes_);
  }

  void NoteArrivals(TimePoint now) {
    while (arrived_ < packets_.size() && packets_[arrived_].delivered <= now) {
      arrived_bytes_ += packets_[arrived_++].bytes.size();
    }
  }

  std::optional<TimePoint> NextDeparture() const {
    if (queued_.empty()) return std::nullopt;
    return queued_.front().sent;
  }
  std::optional<TimePoint> NextDelivery() const {
    if (!packets_.empty()) return packets_.front().delivered;
    if (finished_ && model_.has_value()) return end_delivered_;
    return std::nullopt;
  }

  void Put(Bytes bytes, TimePoint now) {
    const uint64_t begin = written_;
    written_ += bytes.size();
    const bool cut = written_ >= faults_.cut_after_bytes;
    if (cut) bytes = bytes.first(static_cast<size_t>(faults_.cut_after_bytes - begin));
    if (!faults_.stall && !bytes.empty()) {
      Packet packet{{bytes.begin(), bytes.end()}, 0, now, now};
      const uint64_t corrupt = faults_.corrupt_byte_at;
      if (corrupt >= begin && corrupt < begin + bytes.size()) packet.bytes[corrupt - begin] ^= std::byte{0xff};
      if (model_.has_value()) {
        const LinkModel::Times times = model_->Send(now, bytes.size());
        packet.sent = times.sent;
        packet.delivered = times.delivered;
        queued_.push_back({times.sent, bytes.size()});
        queued_bytes_ += bytes.size();
      }
      packets_.push_back(std::move(packet));
    }
    if (cut) connection_.dropped = true;
    connection_.changed.notify_all();
  }

  struct Queued {
    TimePoint sent;
    size_t size;
  };

  Connection& connection_;
  const Faults faults_;
  std::optional<LinkModel> model_;
  size_t capacity_ = 0;  // of the sender's queue, if shaped
  std::deque<Packet> packets_;
  std::deque<Queued> queued_;  // not yet sent, for the bound on the queue
  size_t queued_bytes_ = 0;
  size_t arrived_ = 0, arrived_bytes_ = 0;  // packets at the front that were delivered and not read
  uint64_t written_ = 0;
  bool finished_ = false, reader_gone_ = false;
  TimePoint end_delivered_;
};

struct PipePair {
  PipePair(const Faults& forth_faults, const Faults& back_faults, const LinkProfile* profile, Clock& clock)
      : connection(clock), forth(connection, forth_faults, profile, 0), back(connection, back_faults, profile, 1) {}
  Connection connection;
  Pipe forth, back;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::shared_ptr<PipePair> pair, Pipe& in, Pipe& out) : pair_(std::move(pair)), in_(in), out_(out) {}
  ~MemoryStream() override { Shutdown(); }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    Lock lock(pair_->connection.mutex);
    return in_.Read(lock, into);
  }
  absl::Status Write(std::span<const Bytes> pieces) override {
    Lock lock(pair_->connection.mutex);
    return out_.Write(lock, pieces, /*wait=*/true).status();
  }
  absl::StatusOr<size_t> TryWrite(std::span<const Bytes> pieces) override {
    Lock lock(pair_->connection.mutex);
    return out_.Write(lock, pieces, /*wait=*/false);
  }
  void FinishWriting() override {
    Lock lock(pair_->connection.mutex);
    out_.Finish();
  }
  void Shutdown() override {
    Lock lock(pair_->connection.mutex);
    out_.Finish();
    in_.LeaveReader();
  }
  std::string Peer() const override { return "memory"; }
  bool IsLocal() const override { return true; }

 private:
  const std::shared_ptr<PipePair> pair_;
  Pipe& in_;
  Pipe& out_;
};

}  // namespace

std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> MemoryPair(const Faults& first_to_second,
                                                                               const Faults& second_to_first,
                                                                               const LinkProfile* profile,
                                                                               Clock& clock) {
  auto pair = std::make_shared<PipePair>(first_to_second, second_to_first, profile, clock);
  auto first = std::make_unique<MemoryStream>(pair, pair->back, pair->forth);
  auto second = std::make_unique<MemoryStream>(pair, pair->forth, pair->back);
  return {std::move(first), std::move(second)};
}

}  // namespace wharf::link
