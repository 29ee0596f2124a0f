// ReplyQueue: what the server's half of a session sends. Device callbacks must not block, and a channel's queue may be
// full, so their replies go through a queue and a thread of its own; the reader's own answers skip both while nothing
// waits there. Replies leave in the order in which they are given, whichever thread sends them: an error of posted
// operations goes with the first, and whoever has a later one knows of it.
//
// Every reply carries CUDA's asynchronous errors (ReplyHeader::posted_error, fault) and is preceded by what kernels
// have printed since the last one.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "wharf/base/clock.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/offload/bulk/bulk_encoder.h"
#include "wharf/offload/in_flight_budget.h"
#include "wharf/offload/small_answer.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// Whether what was run ahead under a guard kept to it: known when the device gets there.
struct GuardCheck {
  std::atomic<bool> violated{false};
  absl::Notification done;
};

// Which request is answered, and when it came.
struct ReplyTicket {
  uint64_t tag = 0;
  TimePoint arrival;
  std::optional<PushHeader> push;  // the request did not come but was predicted: tag is its position
  // Nothing is answered if this was violated by then; null: it depends on no guard.
  std::shared_ptr<const GuardCheck> guard;
  // Takes the data as well, if it is set.
  std::shared_ptr<SmallAnswer> answer;
};

// Thread-safe.
class ReplyQueue {
 public:
  // `channel` outlives the queue, `device` until Stop. At most `unsent_limit` bytes of replies are wanted or waiting
  // before the reader is held back (Budget()).
  ReplyQueue(link::Channel* channel, device::Device* device, uint64_t unsent_limit);
  ~ReplyQueue();
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  // From any thread; never blocks. `body` is the encoded Reply struct. `charged` bytes of the budget are released once
  // the reply has left. Dropped after Stop.
  void Reply(const ReplyTicket& ticket, absl::Status status, std::vector<std::byte> body = {},
             std::vector<std::byte> bulk = {}, uint64_t charged = 0);
  // Sent without changing threads, unless others wait. May block: not from device callbacks, nor from two threads at
  // once.
  void ReplyNow(const ReplyTicket& ticket, const absl::Status& status, std::vector<std::byte> body = {});
  // Any other frame, from any thread; never blocks.
  void Frame(FrameKind kind, uint64_t tag, std::vector<std::byte> head, uint64_t charged = 0);
  // The same from the channel's reader thread only, at once.
  void FrameNow(FrameKind kind, uint64_t tag);

  // Keeps the first error of posted operations for the next reply.
  void LatchPosted(const absl::Status& status);
  // Text a kernel printed. At most kMaxOutputBytes wait for a reply; what is beyond is dropped and said so, as CUDA's
  // own printf buffer does.
  void AddOutput(std::string text);

  // From now on replies' data are coded where that pays; the client can decode them.
  void EnableCodedBulk() { codes_bulk_.store(true, std::memory_order_relaxed); }
  // What the client said of data that were sent.
  void NoteArrived(const Arrived& arrived);
  BulkTraffic Bulk() const { return encoder_.Counters(); }

  InFlightBudget& Budget() { return budget_; }

  // Ends the thread and drops what is queued. REQUIRES: the channel is closed (or its peer reads). Idempotent.
  void Stop();

  static constexpr size_t kMaxOutputBytes = 4 << 20;

 private:
  struct Item {
    FrameKind kind = FrameKind::kReply;
    ReplyTicket ticket;
    absl::Status status;
    std::vector<std::byte> head, bulk;
    uint64_t charged = 0;
  };
  void Run();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || (!items_.empty() && !sending_); }
  // Whether the reader may send a reply itself; if so, EndTurn follows.
  bool TakeTurn();
  void EndTurn();
  void SendItem(Item item);
  absl::Status SendReply(const ReplyTicket& ticket, const absl::Status& status, const std::vector<std::byte>& body,
                         const std::vector<std::byte>& bulk);
  void FillHeader(const ReplyTicket& ticket, const absl::Status& status, ReplyHeader& header);
  absl::Status SendOutput();
  absl::Status SendFrame(FrameKind kind, uint64_t tag, const std::vector<std::byte>& head,
                         const EncodedBulk& bulk = {});
  EncodedBulk EncodeData(std::span<const std::byte> data);
  bool PeerReads();

  link::Channel* const channel_;
  device::Device* const device_;
  InFlightBudget budget_;
  const uint64_t sent_before_;            // by others on this channel
  std::atomic<uint64_t> handed_over_{0};  // bytes given to the channel
  std::atomic<bool> codes_bulk_{false};
  link::LinkEstimator estimator_;
  BulkEncoder encoder_;  // of whoever has the turn to send
  mutable absl::Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;  // a reply is being filled and sent
  absl::Status posted_ ABSL_GUARDED_BY(mutex_);
  std::string output_ ABSL_GUARDED_BY(mutex_);
  bool output_dropped_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::offload
