// RequestTable: the requests of a session that wait for their answers. It gives out tags, matches replies and pushes
// with their requests, wakes who waits for them, and knows which of them nobody waits for (*detached*, *elided*).
//
// An asked request is answered by a reply with its tag. A predicted one is answered by a push that names its position,
// perhaps before the program makes it (EarlyAnswers). What was posted or asked also counts as an operation made: the
// table counts these, for round trips and for what is known to be done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/offload/client/early_answers.h"
#include "wharf/offload/client/error_state.h"
#include "wharf/offload/client/prediction/predictor.h"
#include "wharf/offload/client/request.h"

namespace wharf::offload {

struct PushCounters {
  uint64_t pushes = 0, early = 0, voided = 0;  // answers to predicted operations; came before they were asked for; were
                                               // thrown away
  uint64_t elided = 0;                         // waits for nothing but completion, answered on this side
  uint64_t made_up = 0;                        // times that the program then waited for the server's answers after all
};

// Thread-safe. One lock. It comes after the replay client's; under it the table takes those of ErrorState and of the
// estimator. `ping` and `read_here` are called without it.
class RequestTable {
 public:
  // As link::Channel::ReadHere.
  using ReadHere = std::function<bool(absl::FunctionRef<bool()> done, Nanoseconds limit)>;
  // `clock`, `errors` and `estimator` outlive the table. Who has waited for `ping_interval` calls `ping`. Who waits for
  // answers gets them by `read_here`, if that can be.
  RequestTable(const Clock* clock, ErrorState* errors, link::LinkEstimator* estimator, Nanoseconds ping_interval,
               std::function<void()> ping, ReadHere read_here);

  // A number that no request or host call has had.
  uint64_t NextTag() { return next_tag_.fetch_add(1); }
  // The program made one more operation: how many that are.
  uint64_t CountOperation(uint16_t number, std::optional<device::StreamId> stream);
  uint64_t Operations() const { return operations_.load(); }

  // A request that is about to be sent: gives it a tag. If it is certain it may be answered on this side.
  void Add(const RequestPtr& request);

  // --- predicted requests ---
  // What the server said of an operation: whether it was sure that nothing before it could fail.
  using Sureness = std::pair<Predictor::Place, bool>;
  enum class Predicted : uint8_t {
    kAnswered,  // the answer had come before
    kElided,    // answered on this side; the server's answer will come
    kWaiting,
  };
  // A request that the server predicted; tag, path and place say which. It is answered on this side, if the
  // caller permits that, as long as nobody waits for anything else and the server is not far behind. `learnt` becomes
  // what answers have said since the last call; it keeps its memory, so that nothing is allocated.
  Predicted AddPredicted(const RequestPtr& request, bool may_elide, std::vector<Sureness>& learnt);
  // From now on a wait shows more than completion, so none is answered on this side.
  void ForbidEliding();

  // --- waiting ---
  // Until all are done, or the table is closed: also a lost session waits for the channel's last word, for until then
  // its reader may write to the caller's memory.
  void Await(std::span<const RequestPtr> requests);
  // Until `ready`, which is asked whenever a request is done and after Wake, under the lock.
  void AwaitThat(const std::function<bool()>& ready);
  void Wake();
  bool AnyDetached() const;
  void AwaitDetached();
  // Whether what is sent to `stream` has to come behind the server's answers to waits that were answered on this side:
  // the program may have made another stream's work depend on its own order.
  bool MustSettle(uint16_t number, std::optional<device::StreamId> stream) const;
  void AwaitElided();
  // Notes that the program waited for these, which are done. True if that cost a round trip: the server could not have
  // sent one of the answers before it heard what the program has done since its last wait.
  bool CountWait(std::span<const RequestPtr> requests);

  // `request` was answered, and all work sent before it on `stream` was done by then.
  void NoteDone(const Request& request, device::StreamId stream);
  // Whether no operation was made since such a request.
  bool IsKnownDone(device::StreamId stream) const;
  // Whether nothing was made since such a request, or at all, but copies to the device on `stream`, whose data have
  // left the program's memory, and memory for them.
  bool OnlyCopiesSince(device::StreamId stream) const;

  PushCounters Pushes() const;

  // --- on the thread that reads the channel; an error ends the session ---
  absl::StatusOr<std::span<std::byte>> ReplyDestination(const link::FrameHeader& header);
  absl::StatusOr<std::span<std::byte>> PushDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head);
  // `has_stray_data`: data came although there was no place for them.
  absl::Status OnReply(const link::FrameHeader& header, std::span<const std::byte> head, bool has_stray_data);
  absl::Status OnPush(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk);
  // No answer comes any more: ends all waits. The session is lost already.
  void Close();

 private:
  // `by`: what makes it done.
  enum class By : uint8_t { kAnswers, kAnything };
  template <typename Done>
  void AwaitLocked(By by, Done done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Done>
  bool ReadUntil(Done done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RequestPtr FindPredicted(uint64_t position, uint64_t path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeEarly(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it waits for nothing but copies, and the program is not too far ahead of the server with those.
  bool OnlyAwaitsCopies(const Request& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RequestPtr Elide(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(Request& request, ReplyHeader header, std::span<const std::byte> rest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Measure(const Request& request);

  const Clock* const clock_;
  ErrorState* const errors_;
  link::LinkEstimator* const estimator_;
  const Nanoseconds ping_interval_;
  const std::function<void()> ping_;
  const ReadHere read_here_;
  std::atomic<uint64_t> next_tag_{1}, operations_{0};
  std::atomic<uint64_t> work_{0};  // operations made up to the last that was more than a copy to `done_stream_`
  std::atomic<device::StreamId> done_stream_{device::kDefaultStream}, elided_stream_{device::kDefaultStream};

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  std::map<uint64_t, RequestPtr> requests_ ABSL_GUARDED_BY(mutex_);  // by tag
  EarlyAnswers early_ ABSL_GUARDED_BY(mutex_);
  std::vector<Sureness> learnt_ ABSL_GUARDED_BY(mutex_);
  uint64_t detached_ ABSL_GUARDED_BY(mutex_) = 0;  // requests under way that nobody waits for, but for their data
  std::atomic<uint64_t> elided_ = 0;               // the same, for nothing; changed under the lock
  bool may_elide_ ABSL_GUARDED_BY(mutex_) = true;
  uint64_t settled_ ABSL_GUARDED_BY(mutex_) = 0;  // operations made when a wait last ended
  uint64_t done_index_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pushes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t elided_total_ ABSL_GUARDED_BY(mutex_) = 0, made_up_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t readers_ ABSL_GUARDED_BY(mutex_) = 0;  // that have stopped reading
};

}  // namespace wharf::offload
