// The systems that are compared (thesis 3.6.3): modes of one server.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "wharf/serving/coordinator.h"
#include "wharf/serving/reactive_scheduler.h"

namespace wharf::serving {

enum class System { kStatic, kClipper, kChameleon, kAlpha, kArise };
inline constexpr System kSystems[] = {System::kStatic, System::kClipper, System::kChameleon, System::kAlpha,
                                      System::kArise};
std::string_view SystemName(System system);  // "static", "clipper", "chameleon", "arise-alpha", "arise"
std::optional<System> SystemByName(std::string_view name);

struct SystemOptions {
  System system = System::kArise;
  CoordinatorOptions coordinator;
  // What is chosen offline, by trying (pilot_search.h): the interval for kClipper, all of it for kStatic.
  ReactiveOptions::Fixed fixed;
};

// All must outlive it.
std::unique_ptr<Scheduler> MakeScheduler(const SystemOptions& options, const InferenceProfile& profile,
                                         const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer);

}  // namespace wharf::serving
