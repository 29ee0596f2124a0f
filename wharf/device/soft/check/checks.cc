#include "wharf/device/soft/check/checks.h"

#include <algorithm>
#include <array>

#include "wharf/base/split_text.h"

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
  for (const std::string_view name : SplitText(names, ',')) {
    WHARF_ASSIGN_OR_RETURN(const Checks check, CheckNamed(name));
    checks |= check;
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

bool TellsFinding(std::string_view line) {
  constexpr std::string_view kBeginning = "wharf: ";
  if (!line.starts_with(kBeginning)) return false;
  line.remove_prefix(kBeginning.size());
  return std::ranges::any_of(kNamed, [line](const Named& named) {
    return line.starts_with(named.name) && line.substr(named.name.size()).starts_with(": ");
  });
}

}  // namespace wharf::device::soft::check
