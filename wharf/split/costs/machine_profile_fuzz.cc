// What ParseMachineProfile takes, it takes again from what ToJson makes of it, unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wharf/split/costs/machine_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wharf::split::ParseMachineProfile;
  const auto profile = ParseMachineProfile({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  const auto again = ParseMachineProfile(ToJson(*profile));
  if (!again.ok() || *again != *profile) std::abort();
  return 0;
}
