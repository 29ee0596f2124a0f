// Accepts connections on a thread of its own and hands them to a poll loop, a few at a time: what is not taken stays in
// the kernel's backlog.
#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/link/byte_stream.h"

namespace wharf::server {

class Acceptor {
 public:
  explicit Acceptor(std::unique_ptr<link::Listener> listener);
  ~Acceptor();

  // Readable while a connection waits.
  int Event() const { return event_; }
  // A connected socket, owned by the caller; -1 if none waits.
  int Take();
  // Accepts nothing more and closes what waits. Idempotent.
  void Stop();
  std::string Address() const { return address_; }

 private:
  void Run();
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || waiting_.size() < kMaxWaiting; }
  static constexpr size_t kMaxWaiting = 4;

  std::unique_ptr<link::Listener> listener_;
  const std::string address_;
  const int event_;
  absl::Mutex mutex_;
  std::deque<int> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::server
