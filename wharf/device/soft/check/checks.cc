#include "wharf/device/soft/check/checks.h"

#include <algorithm>
#include <array>

namespace wharf::device::soft::check {
namespace {

struct Named {
  std::string_view name;
  Checks check;
};
constexpr std::array<Named, 3> kNamed = {{{"race", kRace}, {"memory", kMemory}, {"init", kInit}}};

absl::StatusOr<Checks> CheckNamed(std::string_view name) {
  if (name == "all") return kAllChecks;
  for (const Named& named : kNamed) {
    if (named.name == name) return named.check;
  }
  return InvalidArgument("'{}' is no check; there are: {}, all", name, Describe(kAllChecks));
}

}  // namespace

absl::StatusOr<Checks> ParseChecks(std::string_view names) {
  Checks checks = 0;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    WHARF_ASSIGN_OR_RETURN(const Checks check, CheckNamed(names.substr(at, end - at)));
    checks |= check;
    at = end + 1;
  }
  return checks;
}

std::string Describe(Checks checks) {
  std::string names;
  for (const Named& named : kNamed) {
    if ((checks & named.check) == 0) continue;
    names += names.empty() ? "" : ", ";
    names += named.name;
  }
  return names;
}

}  // namespace wharf::device::soft::check
