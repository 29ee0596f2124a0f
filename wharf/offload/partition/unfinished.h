// Which streams of a device may have unfinished work, so that nobody waits for a device that has none.
//
//   work.Note(stream);                 // before it is queued
//   const uint64_t mark = work.Mark();  // before completion is asked for
//   ...
//   work.NoteDone(stream, mark);       // when that is reported
#pragma once

#include <cstdint>
#include <map>

#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"

namespace wharf::offload {

// Thread-safe.
class UnfinishedWork {
 public:
  void Note(device::StreamId stream) {
    absl::MutexLock lock(&mutex_);
    last_[stream] = ++queued_;
  }
  // A call whose failure the device reports with the next answer.
  void NoteCall() {
    absl::MutexLock lock(&mutex_);
    last_call_ = ++queued_;
  }
  bool Any() const {
    absl::MutexLock lock(&mutex_);
    return last_call_ != 0 || !last_.empty();
  }
  // Names all that was queued so far.
  uint64_t Mark() const {
    absl::MutexLock lock(&mutex_);
    return queued_;
  }
  // What was queued on `stream`, or on all streams, before the mark is done.
  void NoteDone(device::StreamId stream, uint64_t mark) {
    absl::MutexLock lock(&mutex_);
    if (last_call_ <= mark) last_call_ = 0;
    const auto found = last_.find(stream);
    if (found != last_.end() && found->second <= mark) last_.erase(found);
  }
  void NoteAllDone(uint64_t mark) {
    absl::MutexLock lock(&mutex_);
    if (last_call_ <= mark) last_call_ = 0;
    std::erase_if(last_, [mark](const auto& entry) { return entry.second <= mark; });
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<device::StreamId, uint64_t> last_ ABSL_GUARDED_BY(mutex_);  // stream -> its last work
  uint64_t last_call_ ABSL_GUARDED_BY(mutex_) = 0;                     // 0: none
  uint64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::offload
