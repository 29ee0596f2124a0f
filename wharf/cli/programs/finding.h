// What `wharf doctor` finds, of its own and from the other programs that it asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

enum class Health { kGood, kNote, kBroken };  // kNote: works without, but something is missing or slow
const char* Word(Health health);

struct Finding {
  std::string name;
  Health health = Health::kGood;
  std::string detail;
  std::string mend;  // what to do; "" if nothing
};

// An array of {name, health, detail, mend}. `indent` as nlohmann::json::dump takes it: -1 is one line.
std::string FindingsAsJson(const std::vector<Finding>& findings, int indent);
// kInvalidArgument: something else.
absl::StatusOr<std::vector<Finding>> ParseFindings(std::string_view json);

}  // namespace wharf::cli
