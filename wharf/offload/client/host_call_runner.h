// HostCallRunner: runs the program's host functions (cudaLaunchHostFunc) on a thread of its own when the device's
// streams get to them. They may take their time and make CUDA calls, so no other thread of the session may run them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf::offload {

// Thread-safe. One lock, under which nothing else is called or taken.
class HostCallRunner {
 public:
  struct Callbacks {
    std::function<void(uint64_t call)> done;  // the function has run
    // No function has run for kIdle. This thread may wait for the channel, unlike others, so it keeps the connection
    // alive.
    std::function<void()> idle;
  };
  // Middle boxes forget a connection that is idle for longer.
  static constexpr Nanoseconds kIdle = std::chrono::seconds(15);

  // Both callbacks come from the runner's thread. `clock` outlives it.
  HostCallRunner(const Clock* clock, Callbacks callbacks) : clock_(clock), callbacks_(std::move(callbacks)) {}
  ~HostCallRunner();
  HostCallRunner(const HostCallRunner&) = delete;
  HostCallRunner& operator=(const HostCallRunner&) = delete;

  // `function` will be run when the device gets to `call`, a number of its own.
  void Add(uint64_t call, std::function<void()> function);
  // The device got there. Functions run in this order; a call that is not known is ignored.
  void Run(uint64_t call);

  void Start();
  // No function begins any more. Idempotent.
  void Stop();
  // Until the function that runs has ended. REQUIRES: Stop was called.
  void Join();

 private:
  void Loop();
  // Waits for the next one. False when it is stopped; `function` is null if none came in time.
  bool Next(uint64_t& call, std::function<void()>& function);

  const Clock* const clock_;
  const Callbacks callbacks_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::map<uint64_t, std::function<void()>> functions_ ABSL_GUARDED_BY(mutex_);
  // No more than were added, whatever the server says.
  std::deque<std::pair<uint64_t, std::function<void()>>> ready_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::offload
