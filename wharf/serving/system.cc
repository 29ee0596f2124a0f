#include "wharf/serving/system.h"

#include <algorithm>

#include "wharf/serving/coordinated_scheduler.h"

namespace wharf::serving {
namespace {

constexpr std::string_view kNames[] = {"static",
                                       "clipper",
                                       "chameleon",
                                       "arise-alpha",
                                       "arise",
                                       "clipper-tolerant",
                                       "chameleon-tolerant",
                                       "arise-alpha-tolerant",
                                       "arise-plain",
                                       "arise-published-rate",
                                       "arise-memoryless",
                                       "static-refusing",
                                       "clipper-refusing"};

ReactiveOptions OptionsOf(const SystemOptions& options) {
  ReactiveOptions reactive;
  reactive.limits = options.coordinator.limits;
  reactive.limits.coordinated = false;
  reactive.period = options.coordinator.period;
  reactive.horizon = options.coordinator.horizon;
  reactive.step = options.step;
  switch (options.system) {
    case System::kRefusingStatic:
      reactive.refuse = true;
      [[fallthrough]];
    case System::kStatic:
      reactive.fixed = options.fixed;
      break;
    case System::kRefusingClipper:
    case System::kTolerantClipper:
      reactive.tolerant = true;
      [[fallthrough]];
    case System::kClipper:
      reactive.limits.min_interval = reactive.limits.max_interval = options.fixed.settings.interval;
      reactive.keep_hopeless = options.system != System::kRefusingClipper;
      break;
    case System::kTolerantChameleon:
      reactive.tolerant = true;
      [[fallthrough]];
    case System::kChameleon:
      reactive.limits.max_batch = 1;
      break;
    case System::kTolerantAlpha:
      reactive.tolerant = true;
      break;
    case System::kAlpha:
      reactive.verify = true;
      break;
    case System::kArise:
    case System::kPlainArise:
    case System::kPublishedRateArise:
    case System::kMemorylessArise:
      break;
  }
  return reactive;
}

}  // namespace

std::string_view SystemName(System system) { return kNames[static_cast<size_t>(system)]; }

bool IsCoordinated(System system) {
  switch (system) {
    case System::kArise:
    case System::kPlainArise:
    case System::kPublishedRateArise:
    case System::kMemorylessArise:
      return true;
    default:
      return false;
  }
}

std::optional<System> SystemByName(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<System>(found - std::begin(kNames));
}

std::unique_ptr<Scheduler> MakeScheduler(const SystemOptions& options, const InferenceProfile& profile,
                                         const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer) {
  if (IsCoordinated(options.system)) {
    CoordinatorOptions coordinator = options.coordinator;
    if (options.system == System::kPlainArise) {
      coordinator.most_shortened = 0;
      coordinator.remove_costliest = false;
    }
    if (options.system == System::kPlainArise || options.system == System::kMemorylessArise) {
      coordinator.budget.reset();
      coordinator.replace_at = 0;
    }
    return std::make_unique<CoordinatedScheduler>(profile, coordinator, clock, engine, port, balancer);
  }
  return std::make_unique<ReactiveScheduler>(profile, OptionsOf(options), clock, engine, port, balancer);
}

}  // namespace wharf::serving
