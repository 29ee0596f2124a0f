#include "wharf/offload/client/replay_client.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "wharf/base/clock_wait.h"
#include "wharf/link/threads.h"
#include "wharf/offload/replay/step_op.h"

namespace wharf::offload {
namespace {

// Progress is told when the program waits, hands over data, or has made this many operations; and otherwise within
// PaceFor, so that work starts although the program goes on to something else.
constexpr uint64_t kBatch = 64;
constexpr Nanoseconds kLeastPace = std::chrono::microseconds(100), kMostPace = std::chrono::milliseconds(1);
constexpr int kQuietRounds = 20;
constexpr size_t kMaxRecordBytes = 64 << 10;

}  // namespace

Nanoseconds PaceFor(Nanoseconds round_trip) {
  return round_trip == Nanoseconds(0) ? kMostPace : std::clamp(round_trip / 2, kLeastPace, kMostPace);
}

ReplayClient::ReplayClient(UploadSender* uploads, RequestTable* requests, LivenessMonitor* liveness, const Clock* clock,
                           bool begins_with_input, LaneSearchFactory search)
    : uploads_(uploads),
      requests_(requests),
      liveness_(liveness),
      clock_(clock),
      begins_with_input_(begins_with_input),
      predictor_(search) {}

ReplayClient::~ReplayClient() {
  Stop();
  Join();
}

Prediction ReplayClient::Predict(const OutgoingOperation& operation) {
  requests_->CountOperation(operation.number, operation.stream);
  if (IsStep(operation.number)) {
    const uint64_t lane = std::min(ThreadNumbers::Mine(threads_), kMaxLanes - 1);
    return predictor_.Perform(lane, operation.number, operation.head, operation.bulk);
  }
  predictor_.PerformOther();
  return Prediction::kNew;
}

absl::Status ReplayClient::SendProgress(link::Urgency urgency, const OutgoingOperation& operation) {
  return SendProgressUpTo(predictor_.Position(), urgency, operation);
}

// What the whole operation just made must not overtake; the frames leave together.
absl::Status ReplayClient::SendProgressBefore() {
  return SendProgressUpTo(predictor_.Position() - 1, link::Urgency::kSoon, {});
}

absl::Status ReplayClient::SendProgressUpTo(uint64_t position, link::Urgency urgency,
                                            const OutgoingOperation& operation) {
  if (predictor_.Records().Empty() && operation.bulk.empty()) return absl::OkStatus();
  ++progress_frames_;
  const UploadFrame frame{static_cast<uint16_t>(FrameKind::kProgress), position, predictor_.Records().Bytes(),
                          operation.ownership, urgency};
  const absl::Status sent = uploads_->Send(frame, {operation.number, operation.head}, operation.bulk);
  predictor_.ClearRecords();
  return sent;
}

absl::Status ReplayClient::Post(const OutgoingOperation& operation) {
  absl::MutexLock lock(&mutex_);
  SettleElided(operation);
  const Prediction prediction = Predict(operation);
  if (prediction == Prediction::kNew) {
    const LivenessMonitor::Busy busy(*liveness_);
    WHARF_RETURN_IF_ERROR(SendProgressBefore());
    const UploadFrame frame{operation.number, requests_->NextTag(), operation.head, operation.ownership,
                            link::Urgency::kSoon};
    return uploads_->Send(frame, {operation.number, operation.head}, operation.bulk);
  }
  const bool begins = begins_with_input_ && operation.number == CopyToDevice::kNumber;
  if (prediction == Prediction::kWithData || begins) {
    const LivenessMonitor::Busy busy(*liveness_);
    const bool large = operation.bulk.size() > OperationTable::kMaxData;
    const link::Urgency urgency = large ? link::Urgency::kNow : link::Urgency::kSoon;
    return prediction == Prediction::kWithData ? SendProgress(urgency, operation) : SendProgress(urgency);
  }
  if (predictor_.Unsent() >= kBatch || predictor_.Records().Bytes().size() >= kMaxRecordBytes) {
    const LivenessMonitor::Busy busy(*liveness_);
    return SendProgress(link::Urgency::kNow);
  }
  if (!pacing_) {
    pacing_ = true;
    pace_.Signal();
  }
  return absl::OkStatus();
}

// A program that waits for a stream learns that the work is done, which nobody can tell from "will be done before
// anything that depends on it": work on the same stream is ordered anyway, and before work on another stream is sent
// the wait is made up for (SettleElided). What a wait does show is errors, text that kernels print, host functions that
// have run and data that has landed in host memory. So it is answered on this side only if there are none of these,
// and if the server said that nothing before it could fail.
absl::Status ReplayClient::Ask(const OutgoingOperation& operation, const RequestPtr& request) {
  absl::MutexLock lock(&mutex_);
  SettleElided(operation);
  const Prediction prediction = Predict(operation);
  request->index = requests_->Operations();
  if (prediction == Prediction::kNew) {
    WHARF_RETURN_IF_ERROR(SendProgressBefore());
    requests_->Add(request);
    return uploads_->channel().Send(operation.number, request->tag, operation.head);
  }
  request->tag = Request::kPredicted | predictor_.Position();
  request->path = predictor_.Path();
  request->place = predictor_.LastPlace();
  const bool may_elide = operation.number == SynchronizeStream::kNumber && predictor_.IsSure();
  const RequestTable::Predicted answer = requests_->AddPredicted(request, may_elide, learnt_);
  for (const auto& [place, sure] : learnt_) predictor_.NoteSure(place, sure);
  const bool waits = !request->detached && answer != RequestTable::Predicted::kElided;
  if (waits) predictor_.NoteWait();
  const bool holds_up = waits && answer == RequestTable::Predicted::kWaiting;
  return SendProgress(holds_up ? link::Urgency::kNow : link::Urgency::kSoon);
}

// Other streams may have been promised, by the program's own order, that the work is done.
void ReplayClient::SettleElided(const OutgoingOperation& operation) {
  if (!requests_->MustSettle(operation.number, operation.stream)) return;
  const LivenessMonitor::Busy busy(*liveness_);
  if (SendProgress(link::Urgency::kNow).ok()) requests_->AwaitElided();
}

ReplayClientCounters ReplayClient::Counters() const {
  absl::MutexLock lock(&mutex_);
  return {predictor_.Counters(), predictor_.Sequences(), predictor_.KnownOperations()};
}

void ReplayClient::Start() {
  pacer_ = link::StartThread("wharf-pace", [this] { Pace(); });
}

// Sends what nobody else does: sleeps while the program makes no operations.
void ReplayClient::Pace() {
  absl::MutexLock lock(&mutex_);
  while (!stopped_) {
    if (!pacing_) pace_.Wait(&mutex_);
    uint64_t seen = progress_frames_;
    for (int quiet = 0; quiet < kQuietRounds && !stopped_;) {
      WaitUntil(pace_, &mutex_, *clock_, clock_->Now() + PaceFor(uploads_->RoundTrip()));
      quiet = predictor_.Records().Empty() ? quiet + 1 : 0;
      if (seen == progress_frames_ && !SendProgress(link::Urgency::kNow).ok()) break;
      seen = progress_frames_;
    }
    pacing_ = false;
  }
}

// Whoever holds the lock may be stuck on a connection that takes nothing.
void ReplayClient::Flush(Nanoseconds patience) {
  const TimePoint deadline = clock_->Now() + patience;
  while (!mutex_.TryLock()) {
    if (clock_->Now() >= deadline) return;
    absl::SleepFor(absl::FromChrono(kMostPace));
  }
  SendProgress(link::Urgency::kNow).IgnoreError();
  mutex_.Unlock();
}

void ReplayClient::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  pace_.Signal();
}

void ReplayClient::Join() {
  if (pacer_.joinable()) pacer_.join();
}

}  // namespace wharf::offload
