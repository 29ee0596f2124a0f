#include "wharf/offload/client/liveness_monitor.h"

#include <algorithm>
#include <utility>

#include "wharf/base/clock_wait.h"
#include "wharf/link/threads.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {
namespace {

constexpr Nanoseconds kLeastInterval = std::chrono::milliseconds(1);

}  // namespace

LivenessMonitor::Busy::Busy(LivenessMonitor& monitor) : monitor_(monitor) {
  absl::MutexLock lock(&monitor_.mutex_);
  if (monitor_.busy_++ == 0) monitor_.last_life_ = monitor_.clock_->Now();
}

LivenessMonitor::Busy::~Busy() {
  absl::MutexLock lock(&monitor_.mutex_);
  --monitor_.busy_;
}

LivenessMonitor::LivenessMonitor(link::Channel* channel, const Clock* clock, Nanoseconds timeout)
    : channel_(channel), clock_(clock), timeout_(timeout), last_life_(clock->Now()) {}

LivenessMonitor::~LivenessMonitor() {
  Stop();
  Join();
}

Nanoseconds LivenessMonitor::PingInterval() const { return std::max(timeout_ / 4, kLeastInterval); }

void LivenessMonitor::Ping() {
  pings_.fetch_add(1, std::memory_order_relaxed);
  (void)channel_->Send(static_cast<uint16_t>(FrameKind::kPing), 0, {});
}

// A long upload is a sign of life too, our own pings are not: the kernel takes those of a dead connection as well.
bool LivenessMonitor::SawLife() {
  const uint64_t pinged = pings_.load(std::memory_order_relaxed) * link::kFrameHeaderBytes;
  const link::ChannelStats stats = channel_->Stats();
  const uint64_t received = frames_.load(std::memory_order_relaxed) + stats.bytes_received;
  const int64_t sent = static_cast<int64_t>(stats.bytes_sent) - static_cast<int64_t>(pinged);
  const bool life = received != received_mark_ || sent > sent_mark_;
  received_mark_ = received;
  sent_mark_ = std::max(sent_mark_, sent);
  return life;
}

bool LivenessMonitor::LooksSilent() {
  const TimePoint now = clock_->Now();
  // A stream that is being restored has a limit of its own.
  if (busy_ == 0 || SawLife() || channel_->Stream().Resuming()) last_life_ = now;
  return now - last_life_ >= timeout_;
}

bool LivenessMonitor::IsSilent() {
  absl::MutexLock lock(&mutex_);
  return LooksSilent();
}

void LivenessMonitor::Start(std::function<void()> on_silence) {
  thread_ = link::StartThread("wharf-watch", [this, on_silence = std::move(on_silence)] { Watch(on_silence); });
}

void LivenessMonitor::Watch(const std::function<void()>& on_silence) {
  const Nanoseconds tick = std::max(timeout_ / 8, kLeastInterval);
  {
    absl::MutexLock lock(&mutex_);
    do {
      if (!stopped_) WaitUntil(stopping_, &mutex_, *clock_, clock_->Now() + tick);
      if (stopped_) return;
    } while (!LooksSilent());
  }
  on_silence();
}

void LivenessMonitor::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  stopping_.SignalAll();
}

void LivenessMonitor::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace wharf::offload
