// PictureMemory: what the decoded pictures of all clients of a server may take together. Each client has its most
// counted when it comes, so that none of them can take what others have been promised.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"

namespace wharf::ar {

// Thread-safe. Must outlive the shares it gives.
class PictureMemory {
 public:
  explicit PictureMemory(uint64_t bytes) : bytes_(bytes) {}

  // One session's, given back when this goes.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), bytes_(std::exchange(other.bytes_, uint64_t{0})) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (of_ != nullptr) of_->GiveBack(bytes_);
    }

   private:
    friend class PictureMemory;
    Share(PictureMemory* of, uint64_t bytes) : of_(of), bytes_(bytes) {}
    PictureMemory* of_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // Most that a session with such pictures takes, here and in its relay. REQUIRES: sides of 1 to
  // kMaxSide.
  static uint64_t Of(int width, int height);
  // kResourceExhausted, with what to do: there is no room for it. REQUIRES: as Of.
  absl::StatusOr<Share> Admit(int width, int height);
  // Sessions that have one now.
  uint64_t Shares() const;

 private:
  void GiveBack(uint64_t bytes);

  const uint64_t bytes_;
  mutable absl::Mutex mutex_;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t shares_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::ar
