// SmallAnswer: what a program gets to see of device memory, if that is little: a count, a flag, a loss. From such words
// programs compute what they do next (call_sites.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"

namespace wharf::offload {

// Thread-safe.
class SmallAnswer {
 public:
  static constexpr size_t kMaxWords = 4, kMaxBytes = 4 * kMaxWords;

  // It has come, or was refused: then it has no words. Once; from any thread. Never blocks.
  void Fill(const absl::Status& status, std::span<const std::byte> data);
  bool IsHere() const;
  // Little-endian, whole ones only. Empty until it is here.
  std::span<const uint32_t> Words() const;
  // Calls this when it comes, on the thread that brings it, or at once. `call` must not block; a second one replaces
  // the first.
  void WhenHere(std::function<void()> call) const;

 private:
  mutable absl::Mutex mutex_;
  bool here_ ABSL_GUARDED_BY(mutex_) = false;
  std::array<uint32_t, kMaxWords> words_{};  // written before here_ is set, never after
  size_t count_ = 0;                         // the same
  mutable std::function<void()> call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::offload
