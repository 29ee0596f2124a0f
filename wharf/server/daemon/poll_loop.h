// PollLoop: the daemon's event loop: calls handlers for descriptors that can be read, for signals, and for what other
// threads post, one after the other on the thread that turns it.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"

namespace wharf::server {

// Not thread-safe but for Post. Handlers may watch, forget and post.
class PollLoop {
 public:
  static absl::StatusOr<std::unique_ptr<PollLoop>> Create();
  ~PollLoop();

  // `on_readable` is called whenever `fd` can be read or is at its end, until Forget, which comes before it is closed.
  void Watch(int fd, std::function<void()> on_readable);
  void Forget(int fd);
  // Blocks `signals` in the calling thread and the threads and processes it starts, and calls `on_signal` with each
  // that comes to the process. Threads that there are already, as those of a library, may leave them unblocked: a
  // handler passes on what comes to one of these. Once in a process, by the thread that turns the loop.
  absl::Status WatchSignals(const sigset_t& signals, std::function<void(int signal)> on_signal);
  // Runs `event` in the next turn. Thread-safe.
  void Post(std::function<void()> event);

  // Waits until there is something to do, at most `timeout_ms` (-1: as long as it takes), and does it: descriptors in
  // the order in which they were watched, then what was posted. False if the time was up. A turn may find nothing to do
  // before that: a signal that wakes it can come to another thread first, and is passed on for the next.
  bool Turn(int timeout_ms);

 private:
  struct Watched {
    int fd = -1;
    std::function<void()> on_readable;
  };
  explicit PollLoop(int wake);
  void ReadSignals();
  void RunPosted();

  const int wake_;  // an eventfd: something was posted
  int signals_ = -1;
  std::function<void(int)> on_signal_;
  uint64_t next_watch_ = 0;
  std::map<uint64_t, Watched> watched_;  // in the order of watching; a number is never used again, a descriptor is
  absl::Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::server
