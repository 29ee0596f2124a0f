// LivenessMonitor: says when the server counts as lost. While a thread sends or waits, something must be heard from the
// server, or be sent to it, every `timeout`; those who wait ask for a sign of life now and then (Ping), so a server
// that is busy with a long kernel and answers pings is not lost. While nobody wants anything, nobody minds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/link/channel.h"

namespace wharf::offload {

// Thread-safe. One lock, which comes after those of the replay client; under it only the channel is asked for its
// counters. Nothing is sent under it, nor by the monitor's own thread: a full queue must not keep it from its watch.
class LivenessMonitor {
 public:
  // `channel` and `clock` outlive the monitor.
  LivenessMonitor(link::Channel* channel, const Clock* clock, Nanoseconds timeout);
  ~LivenessMonitor();
  LivenessMonitor(const LivenessMonitor&) = delete;
  LivenessMonitor& operator=(const LivenessMonitor&) = delete;

  // Held by a thread while it sends or waits.
  class Busy {
   public:
    explicit Busy(LivenessMonitor& monitor);
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    LivenessMonitor& monitor_;
  };

  Nanoseconds timeout() const { return timeout_; }
  // How often a thread that waits should ask for a sign of life.
  Nanoseconds PingInterval() const;
  // Asks for one. May wait for room in the channel's queue.
  void Ping();
  // A frame, or the beginning of one, came.
  void NoteFrame() { frames_.fetch_add(1, std::memory_order_relaxed); }

  // One look: true if somebody has been busy for the timeout, and there was no sign of life in that time as far as the
  // looks before this one could tell.
  bool IsSilent();

  // Looks every now and then, on a thread of its own, until Stop; `on_silence` is called there if the server is silent,
  // and is the end of it.
  void Start(std::function<void()> on_silence);
  void Stop();  // idempotent
  // Until the thread has ended. REQUIRES: Stop was called.
  void Join();

 private:
  void Watch(const std::function<void()>& on_silence);
  bool LooksSilent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool SawLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  link::Channel* const channel_;
  const Clock* const clock_;
  const Nanoseconds timeout_;
  std::atomic<uint64_t> frames_{0}, pings_{0};
  absl::Mutex mutex_;
  absl::CondVar stopping_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  TimePoint last_life_ ABSL_GUARDED_BY(mutex_);
  // What had been received, in bytes and frames, and sent, at the last look.
  uint64_t received_mark_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t sent_mark_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace wharf::offload
