#include "wharf/device/cuda/completion.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace wharf::device::cuda {
namespace {
constexpr StreamSerial kFinishedSerial = ~StreamSerial{0};
// A sweep without result is repeated at once this often, then the thread naps between sweeps: short kernels are seen
// within microseconds, long ones cost no CPU.
constexpr int kSpins = 200;
constexpr absl::Duration kNap = absl::Microseconds(50);
}  // namespace

CompletionThread::CompletionThread(Gpu* gpu, EventPool* events, std::function<void()> before_callbacks)
    : gpu_(gpu), events_(events), before_callbacks_(std::move(before_callbacks)), thread_([this] { Loop(); }) {}

CompletionThread::~CompletionThread() { Stop(); }

void CompletionThread::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  FailAll(Aborted("the device is going away"));
}

absl::Status CompletionThread::Add(StreamSerial serial, StreamHandle stream, Done done) {
  Pending pending{nullptr, std::move(done)};
  if (gpu_->Fault().ok()) {
    WHARF_ASSIGN_OR_RETURN(pending.marker, events_->Get());
    absl::Status recorded = gpu_->Check((*gpu_)->EventRecord(pending.marker, stream), "cuEventRecord");
    if (!recorded.ok()) {
      events_->Put(std::exchange(pending.marker, nullptr));
      if (gpu_->Fault().ok()) return recorded;
    }
  }
  Enqueue(serial, std::move(pending));
  return absl::OkStatus();
}

void CompletionThread::AddFinished(Done done) { Enqueue(kFinishedSerial, {nullptr, std::move(done)}); }

void CompletionThread::Enqueue(StreamSerial serial, Pending pending) {
  absl::MutexLock lock(&mutex_);
  queues_[serial].push_back(std::move(pending));
  changed_.Signal();
}

void CompletionThread::Loop() {
  // The device made the context in this process a moment ago; if it cannot be entered the first query says so.
  gpu_->Enter().IgnoreError();
  int idle_sweeps = 0;
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      while (!stop_ && queues_.empty()) changed_.Wait(&mutex_);
      if (stop_) return;
      if (idle_sweeps > kSpins) changed_.WaitWithTimeout(&mutex_, kNap);
      if (stop_) return;
    }
    idle_sweeps = Sweep() ? 0 : idle_sweeps + 1;
  }
}

bool CompletionThread::Sweep() {
  std::vector<std::pair<StreamSerial, EventHandle>> heads;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [serial, queue] : queues_) heads.emplace_back(serial, queue.front().marker);
  }
  bool progress = false;
  for (const auto& [serial, marker] : heads) {
    if (absl::Status fault = gpu_->Fault(); !fault.ok()) {
      before_callbacks_();
      FailAll(fault);
      return true;
    }
    if (marker == nullptr) {
      progress |= Finish(serial, absl::OkStatus());
      continue;
    }
    const Result result = (*gpu_)->EventQuery(marker);
    if (result == kResultNotReady) continue;
    absl::Status status = gpu_->Check(result, "an earlier operation failed");
    // Returns at once; makes the driver flush what kernels printed.
    if (status.ok()) status = gpu_->Check((*gpu_)->EventSynchronize(marker), "cuEventSynchronize");
    before_callbacks_();
    progress |= Finish(serial, status);
  }
  return progress;
}

bool CompletionThread::Finish(StreamSerial serial, const absl::Status& status) {
  Pending finished;
  {
    absl::MutexLock lock(&mutex_);
    auto it = queues_.find(serial);
    finished = std::move(it->second.front());
    it->second.pop_front();
    if (it->second.empty()) queues_.erase(it);
  }
  if (finished.marker != nullptr) events_->Put(finished.marker);
  finished.done(status);
  return true;
}

void CompletionThread::FailAll(const absl::Status& status) {
  Queues queues;
  {
    absl::MutexLock lock(&mutex_);
    queues.swap(queues_);
  }
  for (auto& [serial, queue] : queues) {
    for (Pending& pending : queue) {
      if (pending.marker != nullptr) events_->Put(pending.marker);
      pending.done(status);
    }
  }
}

}  // namespace wharf::device::cuda
