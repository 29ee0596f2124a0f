#include "wharf/split/costs/coding_costs.h"

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

Profile InNamedEncoding(const Profile& profile, std::string_view name) {
  if (name == "f32") return profile;
  const Profile bytes = profile.WithByteInput();
  if (name == "u8") return bytes;
  const CodingCost halves{std::vector<double>(profile.operators.size(), 0.5), 0};
  return Encoded(bytes, {{RowCoding::kPlain, 0}, {RowCoding::kHalf, 0}}, {{RowCoding::kHalf, halves}});
}

}  // namespace wharf::split
