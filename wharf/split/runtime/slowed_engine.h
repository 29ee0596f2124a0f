// An engine whose programs take several times as long: one machine plays a slower one.
#pragma once

#include <memory>

#include "wharf/base/clock.h"
#include "wharf/exec/engine.h"

namespace wharf::split {

// What the calling thread has computed, whatever else the machine does. Nobody can wait by it.
Clock& ThreadCpuTime();

// After every Run it waits, without computing, until `factor` times what the run took by `work` has passed on `clock`.
// The clocks must outlive the engine and its programs. REQUIRES: factor >= 1.
std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, double factor,
                                               Clock& clock = Clock::Real(), const Clock& work = ThreadCpuTime());

}  // namespace wharf::split
