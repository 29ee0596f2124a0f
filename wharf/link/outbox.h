// Outbox: frames on their way to a peer that may not read them. Who puts one in never waits: a thread of its own sends,
// and a peer that lets too much pile up loses the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/link/channel.h"

namespace wharf::link {

// Thread-safe. Shared with those who still have something to say when the peer is gone: after Close it takes nothing.
class Outbox {
 public:
  // `channel` must outlive Close. Closes it when more than `limit_bytes` wait.
  Outbox(Channel& channel, size_t limit_bytes);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void Put(uint16_t kind, uint64_t tag, std::vector<std::byte> head, std::vector<std::byte> bulk = {});
  // Returns when nothing is sent any more; what waits is dropped. Not from the channel's handler.
  // REQUIRES: the channel was closed, or the peer reads.
  void Close();

 private:
  struct Entry {
    uint16_t kind = 0;
    uint64_t tag = 0;
    std::vector<std::byte> head, bulk;
    size_t Bytes() const { return head.size() + bulk.size() + kFrameHeaderBytes; }
  };
  void SendAll();

  Channel& channel_;
  const size_t limit_bytes_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace wharf::link
