#include "wharf/offload/small_answer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wharf::offload {

void SmallAnswer::Fill(const absl::Status& status, std::span<const std::byte> data) {
  std::function<void()> call;
  {
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      count_ = std::min(data.size() / sizeof(uint32_t), kMaxWords);
      std::memcpy(words_.data(), data.data(), count_ * sizeof(uint32_t));
    }
    here_ = true;
    call = std::exchange(call_, nullptr);
  }
  if (call) call();
}

bool SmallAnswer::IsHere() const {
  absl::MutexLock lock(&mutex_);
  return here_;
}

std::span<const uint32_t> SmallAnswer::Words() const {
  if (!IsHere()) return {};
  return std::span(words_).first(count_);
}

void SmallAnswer::WhenHere(std::function<void()> call) const {
  {
    absl::MutexLock lock(&mutex_);
    if (!here_) {
      call_ = std::move(call);
      return;
    }
  }
  call();
}

}  // namespace wharf::offload
