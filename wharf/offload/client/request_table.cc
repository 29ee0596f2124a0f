#include "wharf/offload/client/request_table.h"

#include <algorithm>
#include <cstring>

#include "wharf/base/clock_wait.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using device::CudaError;

// How many waits the program may be ahead of the server.
constexpr uint64_t kMaxElided = 4;
// The same while all it waits for is copies that it has made, such as those of a network's weights.
constexpr uint64_t kMaxCertain = 256;

}  // namespace

RequestTable::RequestTable(const Clock* clock, ErrorState* errors, link::LinkEstimator* estimator,
                           Nanoseconds ping_interval, std::function<void()> ping, ReadHere read_here)
    : clock_(clock),
      errors_(errors),
      estimator_(estimator),
      ping_interval_(ping_interval),
      ping_(std::move(ping)),
      read_here_(std::move(read_here)) {}

void RequestTable::Add(const RequestPtr& request) {
  request->tag = NextTag();
  absl::MutexLock lock(&mutex_);
  const bool elide = may_elide_ && OnlyAwaitsCopies(*request);
  requests_.emplace(request->tag, elide ? Elide(*request) : request);
  if (request->detached) ++detached_;
}

bool RequestTable::OnlyAwaitsCopies(const Request& request) const { return request.certain && elided_ < kMaxCertain; }

uint64_t RequestTable::CountOperation(uint16_t number, std::optional<device::StreamId> stream) {
  const uint64_t index = operations_.fetch_add(1) + 1;
  const bool quiet = number == MapMemory::kNumber || (number == CopyToDevice::kNumber && stream == done_stream_.load());
  if (quiet) return index;
  for (uint64_t last = work_.load(); last < index && !work_.compare_exchange_weak(last, index);) {
  }
  return index;
}

// --- predicted requests ---

RequestTable::Predicted RequestTable::AddPredicted(const RequestPtr& request, bool may_elide,
                                                   std::vector<Sureness>& learnt) {
  learnt.clear();
  absl::MutexLock lock(&mutex_);
  learnt.swap(learnt_);
  if (TakeEarly(*request)) return Predicted::kAnswered;
  const bool alone = requests_.size() == elided_;  // nobody waits for anything else, nor for data
  const bool elide = may_elide_ && ((may_elide && alone && elided_ < kMaxElided) || OnlyAwaitsCopies(*request));
  requests_.emplace(request->tag, elide ? Elide(*request) : request);
  if (request->detached) ++detached_;
  return elide ? Predicted::kElided : Predicted::kWaiting;
}

bool RequestTable::TakeEarly(Request& request) {
  std::optional<EarlyAnswer> early = early_.Take(request.tag & ~Request::kPredicted, request.path);
  if (!early) return false;
  request.known = early->push.known;
  learnt_.emplace_back(request.place, early->push.sure);
  errors_->Latch(early->header, request.detached);
  if (early->header.error == CudaError::kSuccess && early->bulk.size() == request.into.size()) {
    std::copy(early->bulk.begin(), early->bulk.end(), request.into.begin());
  }
  Finish(request, std::move(early->header), early->rest);
  return true;
}

// The request is done; what is returned takes the server's answer.
RequestPtr RequestTable::Elide(Request& request) {
  request.elided = true;
  elided_stream_ = request.stream;
  auto shadow = std::make_shared<Request>(request);
  request.done = true;
  ++elided_;
  ++elided_total_;
  return shadow;
}

void RequestTable::ForbidEliding() {
  absl::MutexLock lock(&mutex_);
  may_elide_ = false;
}

// --- waiting ---

template <typename Done>
void RequestTable::AwaitLocked(By by, Done done) {
  while (!done() && !closed_) {
    const TimePoint ping_at = clock_->Now() + ping_interval_;
    const uint64_t readers = readers_;
    const bool has_read = by == By::kAnswers && ReadUntil(done);
    if (done() || closed_) break;
    if (has_read) {
      if (clock_->Now() < ping_at) continue;
    } else if (readers != readers_) {
      continue;  // who was reading has stopped meanwhile
    } else if (!WaitUntil(changed_, &mutex_, *clock_, ping_at) || closed_) {
      continue;
    }
    mutex_.Unlock();
    ping_();
    mutex_.Lock();
  }
}

// False if somebody else reads.
template <typename Done>
bool RequestTable::ReadUntil(Done done) {
  mutex_.Unlock();
  const auto enough = [&] {
    absl::MutexLock lock(&mutex_);
    return done() || closed_;
  };
  const bool has_read = read_here_(enough, ping_interval_);
  mutex_.Lock();
  if (has_read) {
    ++readers_;
    changed_.SignalAll();  // somebody else who waits reads now
  }
  return has_read;
}

void RequestTable::Await(std::span<const RequestPtr> requests) {
  absl::MutexLock lock(&mutex_);
  AwaitLocked(By::kAnswers, [requests] {
    return std::all_of(requests.begin(), requests.end(), [](const RequestPtr& request) { return request->done; });
  });
}

void RequestTable::AwaitThat(const std::function<bool()>& ready) {
  absl::MutexLock lock(&mutex_);
  AwaitLocked(By::kAnything, [&ready] { return ready(); });
}

void RequestTable::Wake() {
  absl::MutexLock lock(&mutex_);
  changed_.SignalAll();
}

bool RequestTable::AnyDetached() const {
  absl::MutexLock lock(&mutex_);
  return detached_ != 0;
}

void RequestTable::AwaitDetached() {
  absl::MutexLock lock(&mutex_);
  AwaitLocked(By::kAnswers, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return detached_ == 0; });
}

bool RequestTable::MustSettle(uint16_t number, std::optional<device::StreamId> stream) const {
  return elided_.load() != 0 && stream != elided_stream_.load() && number != MapMemory::kNumber;
}

void RequestTable::AwaitElided() {
  absl::MutexLock lock(&mutex_);
  if (elided_ != 0) ++made_up_;
  AwaitLocked(By::kAnswers, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return elided_ == 0; });
}

bool RequestTable::CountWait(std::span<const RequestPtr> requests) {
  bool round_trip = false;
  absl::MutexLock lock(&mutex_);
  for (const RequestPtr& request : requests) {
    round_trip |= !request->elided && (!request->IsPredicted() || request->known > settled_);
  }
  for (const RequestPtr& request : requests) {
    if (!request->elided) settled_ = std::max(settled_, request->index);
  }
  return round_trip;
}

void RequestTable::NoteDone(const Request& request, device::StreamId stream) {
  absl::MutexLock lock(&mutex_);
  if (request.index < done_index_) return;
  done_index_ = request.index;
  done_stream_ = stream;
}

bool RequestTable::OnlyCopiesSince(device::StreamId stream) const {
  absl::MutexLock lock(&mutex_);
  return may_elide_ && done_stream_ == stream && work_ <= done_index_;
}

bool RequestTable::IsKnownDone(device::StreamId stream) const {
  absl::MutexLock lock(&mutex_);
  return done_index_ != 0 && done_stream_ == stream && Operations() == done_index_;
}

PushCounters RequestTable::Pushes() const {
  absl::MutexLock lock(&mutex_);
  return {.pushes = pushes_,
          .early = early_.kept(),
          .voided = early_.voided(),
          .elided = elided_total_,
          .made_up = made_up_};
}

// --- answers ---

absl::StatusOr<std::span<std::byte>> RequestTable::ReplyDestination(const link::FrameHeader& header) {
  absl::MutexLock lock(&mutex_);
  const auto found = requests_.find(header.tag);
  if (found == requests_.end()) return InvalidArgument("the server sent data nobody asked for");
  if (found->second->into.size() != header.bulk_bytes) return InvalidArgument("the server sent data of another size");
  return found->second->into;
}

absl::Status RequestTable::OnReply(const link::FrameHeader& header, std::span<const std::byte> head,
                                   bool has_stray_data) {
  // The header's fields come first; what is left is the operation's own.
  Decoder decoder(head);
  ReplyHeader reply;
  decoder.Get(reply);
  if (!decoder.ok()) return DataLoss("a reply's head is too short");
  absl::MutexLock lock(&mutex_);
  const auto found = requests_.find(header.tag);
  if (found == requests_.end()) return InvalidArgument("a reply nobody waits for");
  const RequestPtr request = found->second;
  requests_.erase(found);
  if (request->detached) --detached_;
  if (request->elided) --elided_;
  if (has_stray_data) return InvalidArgument("a reply's data has no place");
  const bool wants_data = !request->into.empty() && reply.error == CudaError::kSuccess;
  if (wants_data && header.bulk_bytes != request->into.size()) return InvalidArgument("a reply without its data");
  request->received = header.bulk_bytes;
  errors_->Latch(reply, request->detached || request->elided);
  Finish(*request, std::move(reply), decoder.Rest());
  if (!request->elided) Measure(*request);
  return absl::OkStatus();
}

RequestPtr RequestTable::FindPredicted(uint64_t position, uint64_t path) const {
  const auto found = requests_.find(Request::kPredicted | position);
  return found != requests_.end() && found->second->path == path ? found->second : RequestPtr();
}

absl::StatusOr<std::span<std::byte>> RequestTable::PushDestination(const link::FrameHeader& header,
                                                                   std::span<const std::byte> head) {
  PushHeader push;
  Decoder decoder(head);
  decoder.Get(push);
  if (!decoder.ok()) return DataLoss("a push's head is too short");
  absl::MutexLock lock(&mutex_);
  if (const RequestPtr request = FindPredicted(header.tag, push.path)) {
    if (request->into.size() != header.bulk_bytes) return InvalidArgument("the server pushed data of another size");
    return request->into;
  }
  early_.NoteTakenBack(push.taken_back);
  if (!early_.HasRoomFor(header.bulk_bytes)) return InvalidArgument("the server pushes too much");
  return std::span<std::byte>();
}

absl::Status RequestTable::OnPush(const link::FrameHeader& header, std::span<const std::byte> head,
                                  std::vector<std::byte> bulk) {
  Decoder decoder(head);
  PushHeader push;
  ReplyHeader reply;
  decoder.Get(push);
  decoder.Get(reply);
  if (!decoder.ok()) return DataLoss("a push's head is too short");
  const std::span<const std::byte> rest = decoder.Rest();
  absl::MutexLock lock(&mutex_);
  ++pushes_;
  const RequestPtr request = FindPredicted(header.tag, push.path);
  // Errors of operations that the program did make travel with any answer; the answer's own counts once it is taken.
  errors_->Latch(reply, request != nullptr && (request->detached || request->elided));
  if (request == nullptr) {
    return early_.Add(header.tag, {push, std::move(reply), {rest.begin(), rest.end()}, std::move(bulk)});
  }
  const bool wants_data = !request->into.empty() && reply.error == CudaError::kSuccess;
  if (wants_data && header.bulk_bytes != request->into.size()) return InvalidArgument("a push without its data");
  // The request may have come after the data's place was chosen.
  if (wants_data && !bulk.empty()) std::memcpy(request->into.data(), bulk.data(), bulk.size());
  requests_.erase(request->tag);
  if (request->detached) --detached_;
  if (request->elided) --elided_;
  request->received = header.bulk_bytes;
  request->known = push.known;
  learnt_.emplace_back(request->place, push.sure);
  Finish(*request, std::move(reply), rest);
  if (push.known >= request->index && !request->elided) Measure(*request);
  return absl::OkStatus();
}

void RequestTable::Finish(Request& request, ReplyHeader header, std::span<const std::byte> rest) {
  request.head.assign(rest.begin(), rest.end());
  request.header = std::move(header);
  request.done = true;
  changed_.SignalAll();
}

void RequestTable::Measure(const Request& request) {
  const Nanoseconds elapsed = clock_->Now() - request.sent;
  if (request.header.server_nanoseconds >= static_cast<uint64_t>(elapsed.count())) return;  // it may say anything
  const Nanoseconds server(request.header.server_nanoseconds);
  if (request.received == 0) {
    estimator_->OnRoundTrip(elapsed, server);
  } else {
    estimator_->OnDownload(request.received, elapsed - server);
  }
}

void RequestTable::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  requests_.clear();
  early_.Clear();
  changed_.SignalAll();
}

}  // namespace wharf::offload
