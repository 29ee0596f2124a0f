// WaitingRoom: where accepted connections wait until they say something. One costs a descriptor here, and nothing is
// read of it: so thousands that never speak keep nobody out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/server/front/waiting_list.h"

namespace wharf::server {

// Thread-safe.
class WaitingRoom {
 public:
  // Owns `socket`, which has bytes to be read.
  using OnSpeech = std::function<void(int socket, const std::string& address)>;

  // `on_speech` is called on the room's thread, until Stop returns.
  WaitingRoom(const WaitingLimits& limits, OnSpeech on_speech);
  ~WaitingRoom();
  // Closes all that wait. Idempotent; by one thread at a time.
  void Stop();
  // Takes the connected `socket`. One that ends without a word is closed, and so is one that gives way or is late.
  void Enter(int socket, const std::string& address);

 private:
  void Run();
  int TimeoutMs() const;
  void OnReadable(uint64_t number);
  void CloseLate();

  const OnSpeech on_speech_;
  const int ready_, bell_;  // an epoll's descriptor, and an eventfd in it: look at what has changed
  mutable absl::Mutex mutex_;
  WaitingList waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::server
