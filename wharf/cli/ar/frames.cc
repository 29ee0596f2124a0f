#include "wharf/cli/ar/frames.h"

#include <utility>

#include "wharf/scene/source/source.h"

namespace wharf::cli {
namespace {

constexpr size_t kAhead = 60;  // frames

}  // namespace

PacedFrames::PacedFrames(scene::Source& source) : source_(source), thread_([this] { Loop(); }) {}

PacedFrames::~PacedFrames() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void PacedFrames::Loop() {
  const auto room = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || ready_.size() < kAhead; };
  for (bool more = true; more;) {
    absl::StatusOr<std::optional<scene::Frame>> frame = source_.Next();
    more = frame.ok() && frame->has_value();
    absl::StatusOr<std::shared_ptr<const scene::Frame>> made = nullptr;
    if (!frame.ok()) made = frame.status();
    if (more) made = std::make_shared<const scene::Frame>(**std::move(frame));
    absl::MutexLock lock(&mutex_, absl::Condition(&room));
    if (ending_) return;
    ready_.push_back(std::move(made));
  }
}

absl::StatusOr<std::shared_ptr<const scene::Frame>> PacedFrames::Next() {
  const auto some = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !ready_.empty(); };
  Clock& clock = Clock::Real();
  absl::StatusOr<std::shared_ptr<const scene::Frame>> frame = nullptr;
  {
    absl::MutexLock lock(&mutex_, absl::Condition(&some));
    frame = std::move(ready_.front());
    ready_.pop_front();
  }
  const Nanoseconds interval = FromSeconds(1 / source_.FramesPerSecond());
  const TimePoint now = clock.Now();
  if (due_ && *due_ + interval < now) {
    ++late_;
    due_ = now;  // the camera's clock waits: what is measured is the client, not the maker of frames
  }
  if (!due_) due_ = now;
  clock.SleepUntil(*due_);
  due_ = *due_ + interval;
  return frame;
}

}  // namespace wharf::cli
