#include "wharf/offload/client/error_state.h"

#include <utility>

#include "wharf/base/log.h"

namespace wharf::offload {

using device::CudaError;

namespace {

// The message of code that cannot run names the kernel and the instruction: the user needs it, and CUDA's error has it
// not.
LogLevel LevelOf(CudaError error) {
  const bool about_code =
      error == CudaError::kUnsupportedPtx || error == CudaError::kInvalidPtx || error == CudaError::kNoBinaryForDevice;
  return about_code ? LogLevel::kWarning : LogLevel::kInfo;
}

}  // namespace

void ErrorState::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

bool ErrorState::Close() {
  absl::MutexLock lock(&mutex_);
  return !std::exchange(closing_, true);
}

std::string ErrorState::StickyMessage() const {
  absl::MutexLock lock(&mutex_);
  return sticky_message_;
}

bool ErrorState::Keep(CudaError error) {
  CudaError none = CudaError::kSuccess;
  return pending_.compare_exchange_strong(none, error, std::memory_order_acq_rel);
}

CudaError ErrorState::TakePending() {
  return HasPending() ? pending_.exchange(CudaError::kSuccess, std::memory_order_acq_rel) : CudaError::kSuccess;
}

void ErrorState::Latch(ReplyHeader& header, bool include_own) {
  CudaError posted = std::exchange(header.posted_error, CudaError::kSuccess);
  if (include_own && posted == CudaError::kSuccess) posted = header.error;
  if (posted != CudaError::kSuccess && Keep(posted)) {
    Log(LevelOf(posted), "an earlier call failed on the server", {{"message", header.message}});
  }
  if (header.fault == CudaError::kSuccess) return;
  absl::MutexLock lock(&mutex_);
  if (Sticky() != CudaError::kSuccess) return;
  sticky_message_ = header.message;
  sticky_.store(header.fault, std::memory_order_release);
  Log(LogLevel::kWarning, "the device faulted", {{"message", header.message}});
}

CudaError ErrorState::Outcome(std::span<const RequestPtr> requests) {
  if (const CudaError error = Sticky(); error != CudaError::kSuccess) return error;
  if (const CudaError error = TakePending(); error != CudaError::kSuccess) return error;
  for (const RequestPtr& request : requests) {
    const ReplyHeader& header = request->header;
    if (header.error == CudaError::kSuccess) continue;
    if (!header.message.empty() && header.error != CudaError::kNotReady) {
      Log(LevelOf(header.error), "the server reports an error", {{"message", header.message}});
    }
    return header.error;
  }
  return CudaError::kSuccess;
}

void ErrorState::NoteGoodbye(std::string reason) {
  absl::MutexLock lock(&mutex_);
  goodbye_ = std::move(reason);
}

std::string ErrorState::Goodbye() const {
  absl::MutexLock lock(&mutex_);
  return goodbye_;
}

void ErrorState::Lose(std::string reason) {
  absl::MutexLock lock(&mutex_);
  if (open_ && !closing_ && !told_) {
    told_ = true;
    sticky_message_ = goodbye_.empty() ? std::move(reason) : goodbye_;
    if (on_lost_) on_lost_(sticky_message_);
  }
  sticky_.store(CudaError::kRemoteLost, std::memory_order_release);
}

}  // namespace wharf::offload
