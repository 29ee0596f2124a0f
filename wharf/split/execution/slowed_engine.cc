#include "wharf/split/execution/slowed_engine.h"

#include <utility>

#include "wharf/split/execution/engine_around.h"

namespace wharf::split {

std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, const SlowDown& slow_down) {
  return MakeEngineAround(std::move(engine),
                          [slow_down](const std::function<RunResult()>& run) { return slow_down.Around(run); });
}

}  // namespace wharf::split
