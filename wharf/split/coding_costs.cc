#include "wharf/split/coding_costs.h"

#include <cmath>

namespace wharf::split {

Profile Encoded(Profile profile, const Encoding& encoding, const CodingCosts& costs) {
  for (size_t op = 0; op < profile.operators.size(); ++op) {
    const auto cost = costs.find(op == 0 ? encoding.input.coding : encoding.rows.coding);
    if (cost == costs.end()) continue;
    ProfiledOperator& one = profile.operators[op];
    const auto plain = static_cast<double>(one.op.output_bytes);
    one.coding_ms = plain * cost->second.ms_per_byte;
    one.op.output_bytes = static_cast<int64_t>(std::ceil(plain * cost->second.size[op]));
  }
  return profile;
}

}  // namespace wharf::split
