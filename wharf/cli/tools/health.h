// What `wharf doctor` looks at.
#pragma once

#include <string>
#include <vector>

namespace wharf::cli {

enum class Health { kGood, kNote, kBroken };  // kNote: works without, but something is missing or slow

struct Finding {
  std::string name;
  Health health = Health::kGood;
  std::string detail;
  std::string mend;  // what to do; "" if nothing
};

std::vector<Finding> Examine();
// Of these, how workers can be kept: good only if strongly.
Finding ExamineSandbox();

}  // namespace wharf::cli
