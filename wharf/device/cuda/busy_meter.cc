#include "wharf/device/cuda/busy_meter.h"

namespace wharf::device::cuda {

BusyMeter::~BusyMeter() {
  absl::MutexLock lock(&mutex_);
  for (const Pair& pair : pending_) PutBack(pair);
}

void BusyMeter::PutBack(Pair pair) {
  if (pair.begin != nullptr) events_.Put(pair.begin);
  if (pair.end != nullptr) events_.Put(pair.end);
}

BusyMeter::Pair BusyMeter::Begin(StreamHandle stream) {
  uint32_t weight = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (pending_.size() >= kMostPending) return {};
    weight = sample_.WeightOfNext();
  }
  if (weight == 0) return {};
  auto begin = events_.Get(), end = events_.Get();
  Pair pair{begin.ok() ? *begin : nullptr, end.ok() ? *end : nullptr, weight};
  if (pair.begin == nullptr || pair.end == nullptr || (*gpu_)->EventRecord(pair.begin, stream) != kResultSuccess) {
    PutBack(pair);
    return {};
  }
  return pair;
}

void BusyMeter::End(StreamHandle stream, Pair pair) {
  if (pair.begin == nullptr) return;
  if ((*gpu_)->EventRecord(pair.end, stream) != kResultSuccess) return PutBack(pair);
  absl::MutexLock lock(&mutex_);
  pending_.push_back(pair);
  if (++since_harvest_ >= kHarvestAt) Harvest();
}

void BusyMeter::Harvest() {
  since_harvest_ = 0;
  while (!pending_.empty()) {
    const Pair pair = pending_.front();
    const Result result = (*gpu_)->EventQuery(pair.end);
    if (result == kResultNotReady) return;
    float milliseconds = 0;
    if (result == kResultSuccess && (*gpu_)->EventElapsedTime(&milliseconds, pair.begin, pair.end) == kResultSuccess) {
      total_ += FromSeconds(pair.weight * milliseconds * 1e-3);
    }
    PutBack(pair);
    pending_.pop_front();
  }
}

Nanoseconds BusyMeter::Total() {
  absl::MutexLock lock(&mutex_);
  if (gpu_->Enter().ok()) Harvest();
  return total_;
}

}  // namespace wharf::device::cuda
