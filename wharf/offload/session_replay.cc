// The replay modes of Session: operations that the server foresees are counted instead of sent, and their answers come
// as pushes, perhaps before they are asked for. docs/replay.md.
#include <algorithm>
#include <cstring>
#include <utility>

#include "wharf/offload/session.h"
#include "wharf/offload/step_op.h"

namespace wharf::offload {
namespace {

// Progress is told when the program waits, hands over data, or has made this many operations; and otherwise within
// kPace, so that work starts although the program goes on to something else.
constexpr uint64_t kBatch = 64;
constexpr absl::Duration kPace = absl::Milliseconds(1);
constexpr int kQuietRounds = 20;
constexpr size_t kMaxRecordBytes = 64 << 10;
// What the server may send before it is asked for.
constexpr uint64_t kMaxEarlyBytes = 64 << 20;
constexpr size_t kMaxEarlyPushes = 16 << 10;
// How many waits the program may be ahead of the server.
constexpr uint64_t kMaxElided = 4;

uint16_t Number(FrameKind kind) { return static_cast<uint16_t>(kind); }

}  // namespace

Foresight Session::Foresee(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> data) {
  operations_.fetch_add(1);
  const uint64_t epoch = predictor_.Epoch();
  Foresight foresight = Foresight::kNew;
  if (IsStep(number)) {
    foresight = predictor_.Perform(std::min(LanePool::Mine(lanes_), kMaxLanes - 1), number, head, data);
  } else {
    predictor_.PerformOther();
  }
  if (predictor_.Epoch() == epoch) return foresight;
  absl::MutexLock lock(&mutex_);
  epoch_ = predictor_.Epoch();
  void_pushes_ += early_.size();
  early_.clear();
  early_bytes_ = 0;
  return foresight;
}

absl::Status Session::SendProgress(link::Urgency urgency, std::span<const std::byte> bulk,
                                   link::BulkOwnership ownership) {
  return SendProgressUpTo(predictor_.Position(), urgency, bulk, ownership);
}

absl::Status Session::SendProgressUpTo(uint64_t position, link::Urgency urgency, std::span<const std::byte> bulk,
                                       link::BulkOwnership ownership) {
  if (predictor_.Records().Empty() && bulk.empty()) return absl::OkStatus();
  ++progress_frames_;
  const absl::Status sent =
      channel_->Send(Number(FrameKind::kProgress), position, predictor_.Records().Bytes(), bulk, ownership, urgency);
  predictor_.ClearRecords();
  return sent;
}

absl::Status Session::PostForeseen(uint16_t number, const std::vector<std::byte>& head, std::span<const std::byte> bulk,
                                   link::BulkOwnership ownership, std::optional<device::StreamId> stream) {
  absl::MutexLock order(&order_mutex_);
  SettleElided(stream);
  const Foresight foresight = Foresee(number, head, bulk);
  if (foresight == Foresight::kNew) {
    const Busy busy(*this);
    WHARF_RETURN_IF_ERROR(SendProgressBefore());
    return channel_->Send(number, next_tag_.fetch_add(1), head, bulk, ownership, link::Urgency::kSoon);
  }
  // The published scheme begins with the input, whatever it is.
  const bool begins = options_.mode == Mode::kReplaySpeculative && number == CopyToDevice::kNumber;
  if (foresight == Foresight::kWithData || begins) {
    const Busy busy(*this);
    const bool large = bulk.size() > OperationTable::kMaxData;
    if (foresight != Foresight::kWithData) bulk = {};
    return SendProgress(large ? link::Urgency::kNow : link::Urgency::kSoon, bulk, ownership);
  }
  if (predictor_.Unsent() >= kBatch || predictor_.Records().Bytes().size() >= kMaxRecordBytes) {
    const Busy busy(*this);
    return SendProgress(link::Urgency::kNow);
  }
  if (!pacing_) {
    pacing_ = true;
    pace_.Signal();
  }
  return absl::OkStatus();
}

absl::Status Session::RequestForeseen(uint16_t number, const std::vector<std::byte>& head, const RequestPtr& request,
                                      std::optional<device::StreamId> stream) {
  absl::MutexLock order(&order_mutex_);
  SettleElided(stream);
  const Foresight foresight = Foresee(number, head);
  request->index = operations_.load();
  if (foresight == Foresight::kNew) {
    WHARF_RETURN_IF_ERROR(SendProgressBefore());
    return SendWhole(number, head, request);
  }
  request->tag = kForeseen | predictor_.Position();
  request->epoch = predictor_.Epoch();
  request->place = predictor_.LastPlace();
  bool waits = false, answered = false;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [place, sure] : answered_) predictor_.NoteSure(place, sure);
    answered_.clear();
    if (!TakeEarly(*request)) {
      const bool elide = MayElide(number);
      if (elide) elided_stream_ = stream;
      requests_.emplace(request->tag, elide ? Elide(*request) : request);
      if (request->detached) ++detached_;
    }
    waits = !request->detached && !request->elided;
    answered = request->done;
  }
  if (waits) predictor_.NoteWait();
  return SendProgress(waits && !answered ? link::Urgency::kNow : link::Urgency::kSoon);
}

// --- waits for nothing ---
// A program that waits for a stream learns that the work is done, which nobody can tell from "will be done before
// anything that depends on it": work on the same stream is ordered anyway, and before work on another stream is sent
// the wait is made up for. What a wait does show is errors, text that kernels print, host functions that have run and
// data that has landed in host memory. So it is answered here only if there are none of these, and if the server said
// that nothing before it could fail.

bool Session::MayElide(uint16_t number) {
  const bool alone = requests_.size() == elided_;  // nobody waits for anything else, nor for data
  return number == SynchronizeStream::kNumber && predictor_.IsSure() && alone && !has_printed_ &&
         elided_ < kMaxElided && !calls_host_.load(std::memory_order_relaxed);
}

// The request is done; what is returned takes the server's answer.
Session::RequestPtr Session::Elide(Request& request) {
  request.elided = true;
  auto shadow = std::make_shared<Request>(request);
  request.done = true;
  ++elided_;
  ++elided_total_;
  return shadow;
}

// Other streams may have been promised, by the program's own order, that the work is done.
void Session::SettleElided(std::optional<device::StreamId> stream) {
  if (!elided_stream_ || elided_stream_ == stream) return;
  elided_stream_.reset();
  {
    absl::MutexLock lock(&mutex_);
    if (elided_ == 0) return;
  }
  const Busy busy(*this);
  if (!SendProgress(link::Urgency::kNow).ok()) return;
  absl::MutexLock lock(&mutex_);
  Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return elided_ == 0; });
}

// What the whole operation just made must not overtake; the frames leave together.
absl::Status Session::SendProgressBefore() {
  return SendProgressUpTo(predictor_.Position() - 1, link::Urgency::kSoon, {}, link::BulkOwnership::kCopy);
}

bool Session::TakeEarly(Request& request) {
  const auto found = early_.find(request.tag & ~kForeseen);
  if (found == early_.end()) return false;
  EarlyPush early = std::move(found->second);
  early_.erase(found);
  early_bytes_ -= early.bulk.size();
  if (early.push.epoch != request.epoch) return false;
  request.known = early.push.known;
  answered_.emplace_back(request.place, early.push.sure);
  Latch(early.header, request.detached);
  if (early.header.error == device::CudaError::kSuccess && early.bulk.size() == request.into.size()) {
    std::copy(early.bulk.begin(), early.bulk.end(), request.into.begin());
  }
  Finish(request, std::move(early.header), early.rest);
  return true;
}

absl::StatusOr<std::span<std::byte>> Session::PushDestination(const link::FrameHeader& header,
                                                              std::span<const std::byte> head) {
  PushHeader push;
  Decoder decoder(head);
  decoder.Get(push);
  if (!decoder.ok()) return DataLoss("a push's head is too short");
  const auto found = requests_.find(kForeseen | header.tag);
  if (found != requests_.end() && found->second->epoch == push.epoch) {
    if (found->second->into.size() != header.bulk_bytes)
      return InvalidArgument("the server pushed data of another size");
    return found->second->into;
  }
  if (header.bulk_bytes > kMaxEarlyBytes - early_bytes_) return InvalidArgument("the server pushes too much");
  return std::span<std::byte>();
}

absl::Status Session::OnPush(const link::FrameHeader& header, std::span<const std::byte> head,
                             std::vector<std::byte> bulk) {
  Decoder decoder(head);
  PushHeader push;
  ReplyHeader reply;
  decoder.Get(push);
  decoder.Get(reply);
  if (!decoder.ok()) return DataLoss("a push's head is too short");
  absl::MutexLock lock(&mutex_);
  ++pushes_;
  const auto found = requests_.find(kForeseen | header.tag);
  const RequestPtr request =
      found != requests_.end() && found->second->epoch == push.epoch ? found->second : RequestPtr();
  // Errors of operations that the program did make travel with any answer; the answer's own counts once it is taken.
  Latch(reply, request != nullptr && (request->detached || request->elided));
  if (request == nullptr) {
    if (push.epoch != epoch_) {
      ++void_pushes_;
      return absl::OkStatus();
    }
    if (early_.size() >= kMaxEarlyPushes) return InvalidArgument("the server pushes too much");
    ++early_pushes_;
    early_bytes_ += bulk.size();
    const std::span<const std::byte> rest = decoder.Rest();
    early_[header.tag] = {push, std::move(reply), {rest.begin(), rest.end()}, std::move(bulk)};
    return absl::OkStatus();
  }
  const bool wants_data = !request->into.empty() && reply.error == device::CudaError::kSuccess;
  if (wants_data && header.bulk_bytes != request->into.size()) return InvalidArgument("a push without its data");
  // The request may have come after the data's place was chosen.
  if (wants_data && !bulk.empty()) std::memcpy(request->into.data(), bulk.data(), bulk.size());
  requests_.erase(found);
  if (request->detached) --detached_;
  if (request->elided) --elided_;
  request->received = header.bulk_bytes;
  request->known = push.known;
  answered_.emplace_back(request->place, push.sure);
  Finish(*request, std::move(reply), decoder.Rest());
  if (push.known >= request->index && !request->elided) Measure(*request);
  return absl::OkStatus();
}

// Sends what nobody else does: sleeps while the program makes no operations.
void Session::Pace() {
  absl::MutexLock order(&order_mutex_);
  while (!pace_stop_) {
    if (!pacing_) pace_.Wait(&order_mutex_);
    uint64_t seen = progress_frames_;
    for (int quiet = 0; quiet < kQuietRounds && !pace_stop_;) {
      pace_.WaitWithTimeout(&order_mutex_, kPace);
      quiet = predictor_.Records().Empty() ? quiet + 1 : 0;
      if (seen == progress_frames_ && !SendProgress(link::Urgency::kNow).ok()) break;
      seen = progress_frames_;
    }
    pacing_ = false;
  }
}

// Whoever holds the lock may be stuck on a connection that takes nothing.
void Session::FlushProgress(Nanoseconds patience) {
  const absl::Time deadline = absl::Now() + absl::FromChrono(patience);
  while (!order_mutex_.TryLock()) {
    if (absl::Now() >= deadline) return;
    absl::SleepFor(kPace);
  }
  SendProgress(link::Urgency::kNow).IgnoreError();
  order_mutex_.Unlock();
}

// REQUIRES: the channel is closed, so nobody holds the lock for long.
void Session::StopPacing() {
  absl::MutexLock order(&order_mutex_);
  pace_stop_ = true;
  pace_.Signal();
}

}  // namespace wharf::offload
