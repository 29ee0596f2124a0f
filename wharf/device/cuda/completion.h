// CompletionThread: tells when work queued on a stream is done. Each request leaves an event behind that work; one
// thread looks at the oldest event of every stream and runs the callbacks. It polls, because the driver can wait for
// one event or be called back by one thread that a host function may hold up, but cannot wait for the first of several.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// A number for each stream that was ever made, for handles come again. Requests on one stream finish in order.
using StreamSerial = uint64_t;

// Thread-safe.
class CompletionThread {
 public:
  // `before_callbacks` runs on the thread when something finished, before its callback (delivers kernels' output).
  CompletionThread(Gpu* gpu, EventPool* events, std::function<void()> before_callbacks);
  // Stops; callbacks not yet run get kAborted.
  ~CompletionThread();

  // Runs `done` on the thread when everything queued on `stream` so far has finished: OK, or the latched fault.
  // After a fault the callback runs at once, with the fault. REQUIRES: the context is current.
  absl::Status Add(StreamSerial serial, StreamHandle stream, Done done);
  // Runs `done` on the thread, soon.
  void AddFinished(Done done);
  void Stop();

 private:
  struct Pending {
    EventHandle marker = nullptr;  // null: finished
    Done done;
  };
  using Queues = std::map<StreamSerial, std::deque<Pending>>;

  void Loop();
  // One look at the head of every queue; true if a callback ran.
  bool Sweep();
  bool Finish(StreamSerial serial, const absl::Status& status);
  void FailAll(const absl::Status& status);
  void Enqueue(StreamSerial serial, Pending pending);

  Gpu* gpu_;
  EventPool* events_;
  std::function<void()> before_callbacks_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  Queues queues_ ABSL_GUARDED_BY(mutex_);  // none is empty
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::device::cuda
