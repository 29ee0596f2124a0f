#include "wharf/serving/system.h"

#include <algorithm>

#include "wharf/serving/coordinated_scheduler.h"

namespace wharf::serving {
namespace {

constexpr std::string_view kNames[] = {"static", "clipper", "chameleon", "arise-alpha", "arise"};

ReactiveOptions OptionsOf(const SystemOptions& options) {
  ReactiveOptions reactive;
  reactive.limits = options.coordinator.limits;
  reactive.period = options.coordinator.period;
  switch (options.system) {
    case System::kStatic:
      reactive.fixed = options.fixed;
      break;
    case System::kClipper:
      reactive.limits.min_interval = reactive.limits.max_interval = options.fixed.settings.interval;
      break;
    case System::kChameleon:
      reactive.limits.max_batch = 1;
      break;
    case System::kAlpha:
    case System::kArise:
      break;
  }
  return reactive;
}

}  // namespace

std::string_view SystemName(System system) { return kNames[static_cast<size_t>(system)]; }

std::optional<System> SystemByName(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<System>(found - std::begin(kNames));
}

std::unique_ptr<Scheduler> MakeScheduler(const SystemOptions& options, const InferenceProfile& profile,
                                         const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer) {
  if (options.system == System::kArise) {
    return std::make_unique<CoordinatedScheduler>(profile, options.coordinator, clock, engine, port, balancer);
  }
  return std::make_unique<ReactiveScheduler>(profile, OptionsOf(options), clock, engine, port, balancer);
}

}  // namespace wharf::serving
