// What tests of acceptors share.
#pragma once

#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/server/front/acceptor.h"

namespace wharf::server {

// Keeps what is accepted. Thread-safe.
class Accepted {
 public:
  ~Accepted() {
    for (const int socket : sockets_) close(socket);
  }
  Acceptor::OnConnection Keep() {
    return [this](int socket, Handshake handshake) {
      absl::MutexLock lock(&mutex_);
      sockets_.push_back(socket);
      handshakes_.push_back(std::move(handshake));
    };
  }
  std::vector<int> Await(size_t count) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return sockets_.size() >= count; };
    absl::MutexLock lock(&mutex_, absl::Condition(&enough));
    return sockets_;
  }
  std::vector<bool> WhichAreEvicted() {
    absl::MutexLock lock(&mutex_);
    std::vector<bool> evicted;
    for (const Handshake& one : handshakes_) evicted.push_back(one.Evicted());
    return evicted;
  }

 private:
  absl::Mutex mutex_;
  std::vector<int> sockets_ ABSL_GUARDED_BY(mutex_);
  std::vector<Handshake> handshakes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::server
