// An engine whose programs take several times as long: one machine plays a slower one.
#pragma once

#include <memory>

#include "wharf/base/clock.h"
#include "wharf/exec/engine.h"

namespace wharf::split {

// After every Run it waits until `factor` times what the run took has passed, without computing. `clock` must outlive
// the engine and its programs. REQUIRES: factor >= 1.
std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, double factor,
                                               Clock& clock = Clock::Real());

}  // namespace wharf::split
