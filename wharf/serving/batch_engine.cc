#include "wharf/serving/batch_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace wharf::serving {
namespace {

class ThreadedEngine final : public BatchEngine {
 public:
  ThreadedEngine(RunBatch run, Clock& clock) : run_(std::move(run)), clock_(clock), thread_([this] { Loop(); }) {}

  ~ThreadedEngine() override {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    thread_.join();
  }

  void Start(std::vector<VideoFrame> batch) override {
    absl::MutexLock lock(&mutex_);
    batch_ = std::move(batch);
    started_ = clock_.Now();
  }

  absl::StatusOr<std::optional<Nanoseconds>> Wait(TimePoint deadline) override {
    const Nanoseconds wait = std::max(Nanoseconds{0}, deadline - clock_.Now());
    absl::MutexLock lock(&mutex_);
    const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return done_.has_value(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&done), absl::FromChrono(wait))) return std::optional<Nanoseconds>();
    const absl::StatusOr<Nanoseconds> took = *std::exchange(done_, std::nullopt);
    if (!took.ok()) return took.status();
    return std::optional(*took);
  }

 private:
  void Loop() {
    const auto wanted = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || !batch_.empty(); };
    for (;;) {
      std::vector<VideoFrame> batch;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(&wanted));
        if (batch_.empty()) return;
        batch.swap(batch_);
      }
      const absl::Status status = run_(batch);
      absl::MutexLock lock(&mutex_);
      done_ = status.ok() ? absl::StatusOr<Nanoseconds>(clock_.Now() - started_) : status;
    }
  }

  const RunBatch run_;
  Clock& clock_;
  absl::Mutex mutex_;
  std::vector<VideoFrame> batch_ ABSL_GUARDED_BY(mutex_);  // to be run
  TimePoint started_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::StatusOr<Nanoseconds>> done_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<BatchEngine> MakeThreadedEngine(RunBatch run, Clock& clock) {
  return std::make_unique<ThreadedEngine>(std::move(run), clock);
}

}  // namespace wharf::serving
