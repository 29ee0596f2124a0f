#include "wharf/offload/partition/operation_timer.h"

#include "absl/synchronization/blocking_counter.h"

namespace wharf::offload {
namespace {

constexpr device::EventId kFirstEvent = uint64_t{1} << 62;
constexpr double kMilliseconds = 1e-3;

}  // namespace

device::EventId OperationTimer::NextEvent(Side side) {
  const auto at = static_cast<size_t>(side);
  const device::EventId event = kFirstEvent + used_[at]++;
  if (used_[at] > made_[at]) {
    made_[at] = used_[at];
    On(side).CreateEvent(event, 0).IgnoreError();  // then it has no time
  }
  return event;
}

void OperationTimer::Start(Side side, device::StreamId stream, size_t token) {
  timings_.push_back({side, stream, token, NextEvent(side), NextEvent(side)});
  On(side).RecordEvent(timings_.back().start, stream).IgnoreError();
}

void OperationTimer::Stop(bool queued) {
  if (!queued) {
    timings_.pop_back();
    return;
  }
  const Timing& timing = timings_.back();
  On(timing.side).RecordEvent(timing.stop, timing.stream).IgnoreError();
}

std::vector<MeasuredTime> OperationTimer::Collect() {
  std::vector<absl::StatusOr<float>> answers(timings_.size(), absl::UnknownError("not asked"));
  absl::BlockingCounter left(static_cast<int>(timings_.size()));
  for (size_t i = 0; i < timings_.size(); ++i) {
    const auto answered = [&left, &answer = answers[i]](absl::StatusOr<float> milliseconds) {
      answer = std::move(milliseconds);
      left.DecrementCount();
    };
    if (timings_[i].side == Side::kLocal) {
      answered(local_->ElapsedMs(timings_[i].start, timings_[i].stop));
    } else {
      remote_->ElapsedMs(timings_[i].start, timings_[i].stop, answered);
    }
  }
  left.Wait();
  std::vector<MeasuredTime> times;
  for (size_t i = 0; i < timings_.size(); ++i) {
    if (answers[i].ok()) times.push_back({timings_[i].token, timings_[i].side, *answers[i] * kMilliseconds});
  }
  timings_.clear();
  used_[0] = used_[1] = 0;
  return times;
}

}  // namespace wharf::offload
