// EventQueue: what happens in an emulation, by time; what happens at once, in the order of its scheduling.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "wharf/base/clock.h"

namespace wharf::serving {

// Not thread-safe.
class EventQueue {
 public:
  // REQUIRES: not before the last event that ran.
  void At(TimePoint time, std::function<void()> action) { events_.push({time, next_++, std::move(action)}); }
  bool Empty() const { return events_.empty(); }
  // REQUIRES: !Empty(), of these two.
  TimePoint NextTime() const { return events_.top().time; }
  void RunNext() {
    const std::function<void()> action = std::move(const_cast<Event&>(events_.top()).action);  // popped right away
    events_.pop();
    action();
  }

 private:
  struct Event {
    TimePoint time;
    uint64_t order;
    std::function<void()> action;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t next_ = 0;
};

}  // namespace wharf::serving
