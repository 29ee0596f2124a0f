// An engine whose programs run inside something: behind a delay, in a session's turn on a shared machine.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "wharf/exec/engine.h"

namespace wharf::split {

using RunResult = absl::StatusOr<std::vector<exec::TensorPtr>>;
// Called in place of every Program::Run, with what does it; thread-safe.
using AroundRun = std::function<RunResult(const std::function<RunResult()>& run)>;

// Everything else is as with `engine`. What `around` uses must outlive the engine and its programs.
std::unique_ptr<exec::Engine> MakeEngineAround(std::unique_ptr<exec::Engine> engine, AroundRun around);

}  // namespace wharf::split
