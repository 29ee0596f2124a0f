// The systems that are compared (thesis 3.6.3): modes of one server.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "wharf/serving/coordinator.h"
#include "wharf/serving/reactive_scheduler.h"

namespace wharf::serving {

enum class System {
  // The thesis's: "static", "clipper", "chameleon", "arise-alpha" and "arise".
  kStatic,
  kClipper,
  kChameleon,
  kAlpha,
  kArise,
  // Stronger than the thesis's, "clipper-tolerant", "chameleon-tolerant", "arise-alpha-tolerant": clients are removed
  // only if their SLAs would be missed (ReactiveOptions::tolerant), and nothing is verified.
  kTolerantClipper,
  kTolerantChameleon,
  kTolerantAlpha,
  // "arise-plain", as the thesis writes it: step 1's intervals stand, and who is farthest above its SLA is removed
  // (CoordinatorOptions).
  kPlainArise,
  // "arise-published-rate": ARISE, but drop rates are estimated as the thesis publishes it: drop / stride.
  kPublishedRateArise,
  // "arise-memoryless": ARISE, but what clients have lost so far changes nothing, and nobody is replaced.
  kMemorylessArise,
  // "static-refusing", "clipper-refusing": these, free to refuse whom their settings do not suit, as ARISE is.
  kRefusingStatic,
  kRefusingClipper,
};
inline constexpr System kSystems[] = {System::kStatic, System::kClipper, System::kChameleon, System::kAlpha,
                                      System::kArise};
inline constexpr System kVariants[] = {System::kTolerantClipper, System::kTolerantChameleon,  System::kTolerantAlpha,
                                       System::kPlainArise,      System::kPublishedRateArise, System::kMemorylessArise,
                                       System::kRefusingStatic,  System::kRefusingClipper};
std::string_view SystemName(System system);
bool IsCoordinated(System system);
// Whether what clients have lost so far decides what they may lose next (budget.h).
inline bool KeepsAccount(System system) { return system == System::kArise || system == System::kPublishedRateArise; }
std::optional<System> SystemByName(std::string_view name);

struct SystemOptions {
  System system = System::kArise;
  CoordinatorOptions coordinator;
  // What is chosen offline, by trying (pilot_search.h): the interval for Clipper-like ones, all of it for kStatic; how
  // many clients the other baselines remove or add at once.
  ReactiveOptions::Fixed fixed;
  int step = 1;
  double told = 1;  // of each client's SLA, that the server is told: what is kept back so that more SLAs are kept
};

// All must outlive it.
std::unique_ptr<Scheduler> MakeScheduler(const SystemOptions& options, const InferenceProfile& profile,
                                         const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer);

}  // namespace wharf::serving
