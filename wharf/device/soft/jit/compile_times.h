// What compiling a kernel takes, phase by phase.
#pragma once

#include <ctime>

#include "wharf/base/clock.h"

namespace wharf::device::soft {

// Of processor time.
struct CompileTimes {
  Nanoseconds generate{0};  // PTX to LLVM's code
  Nanoseconds simplify{0};  // before threads are put in lanes
  Nanoseconds widen{0};     // regions and lanes
  Nanoseconds optimize{0};
  Nanoseconds emit{0};  // walls and machine code

  Nanoseconds Total() const { return generate + simplify + widen + optimize + emit; }
};

// Adds what the calling thread takes to one phase after the other; to none if there are no times.
class PhaseClock {
 public:
  explicit PhaseClock(CompileTimes* times) : times_(times) { since_ = Now(); }

  // What passed since the phase before.
  void End(Nanoseconds CompileTimes::*phase) {
    if (times_ == nullptr) return;
    const Nanoseconds now = Now();
    times_->*phase += now - since_;
    since_ = now;
  }

 private:
  static Nanoseconds Now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  }

  CompileTimes* const times_;
  Nanoseconds since_{0};
};

}  // namespace wharf::device::soft
