// What ParsePlan takes, it takes again from what ToJson makes of it, unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wharf/pipeline/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wharf::pipeline::ParsePlan;
  const auto plan = ParsePlan({reinterpret_cast<const char*>(data), size});
  if (!plan.ok()) return 0;
  const auto again = ParsePlan(ToJson(*plan));
  if (!again.ok() || *again != *plan) std::abort();
  return 0;
}
