// An engine whose programs take several times as long.
#pragma once

#include <memory>

#include "wharf/exec/engine.h"
#include "wharf/split/execution/slow_down.h"

namespace wharf::split {

// Every Run takes place inside `slow_down`.
std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, const SlowDown& slow_down);

}  // namespace wharf::split
