// What ParsePlans takes, it takes again from what PlansAsJson makes of it, unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wharf/split/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wharf::split::ParsePlans;
  const auto plans = ParsePlans({reinterpret_cast<const char*>(data), size});
  if (!plans.ok()) return 0;
  const auto again = ParsePlans(PlansAsJson(*plans));
  if (!again.ok() || again->size() != plans->size()) std::abort();
  for (size_t i = 0; i < plans->size(); ++i) {
    const auto &one = (*plans)[i], &other = (*again)[i];
    if (other.plan != one.plan || other.operators != one.operators || other.source != one.source) std::abort();
    if (!CheckFits(other, one.operators, one.model_hash).ok()) std::abort();
  }
  return 0;
}
