#include "wharf/base/event_loop.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace wharf {
namespace {

constexpr Nanoseconds kLongestWait = std::chrono::seconds(1);

}  // namespace

void EventLoop::Post(std::function<void()> event) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) events_.push_back(std::move(event));
}

void EventLoop::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

void EventLoop::Run(const Clock& clock, const std::function<TimePoint()>& step) {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopped_ || !events_.empty(); };
  for (;;) {
    const TimePoint next = step();
    const TimePoint now = clock.Now();
    std::vector<std::function<void()>> events;
    bool stopped = false;
    {
      absl::MutexLock lock(&mutex_);
      const Nanoseconds wait = next <= now ? Nanoseconds{0} : std::min(next - now, kLongestWait);
      mutex_.AwaitWithTimeout(absl::Condition(&work), absl::FromChrono(wait));
      events.swap(events_);
      stopped = stopped_;
    }
    for (const auto& event : events) event();
    if (stopped) return;
  }
}

}  // namespace wharf
