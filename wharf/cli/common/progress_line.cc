#include "wharf/cli/common/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/time/time.h"

namespace wharf::cli {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0), thread_([this] { Loop(); }) {}

ProgressLine::~ProgressLine() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  thread_.join();
}

void ProgressLine::Set(const std::string& what, double share) {
  absl::MutexLock lock(&mutex_);
  share_ = share;
  if (what == what_) return;
  what_ = what;
  begun_ = Clock::Real().Now();
  last_ = TimePoint();
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

void ProgressLine::Loop() {
  constexpr absl::Duration kBetween = absl::Milliseconds(250);
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&ending_), kBetween)) Show();
}

void ProgressLine::Show() {
  constexpr Nanoseconds kLong = std::chrono::seconds(1), kBetweenLines = std::chrono::seconds(10);
  constexpr int kWidth = 20;
  const TimePoint now = Clock::Real().Now();
  if (what_.empty() || now - begun_ < kLong) return;
  std::string text = what_;
  if (share_ >= 0) text += fmt::format(": {:.0f} %", 100 * share_);
  if (!terminal_) {
    if (last_ != TimePoint() && now - last_ < kBetweenLines) return;
    std::fprintf(stderr, "wharf: %s\n", text.c_str());
  } else {
    const int filled = std::clamp(static_cast<int>(share_ * kWidth), 0, kWidth);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::fprintf(stderr, "\r\033[K%s%s", share_ >= 0 ? ("[" + bar + "] ").c_str() : "", text.c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  last_ = now;
}

}  // namespace wharf::cli
