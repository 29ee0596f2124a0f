#include "wharf/split/runtime/messages.h"

#include <algorithm>

namespace wharf::split {

PlanMessage EncodePlan(uint32_t id, const Plan& plan) {
  std::vector<PlanRows> rows;
  for (size_t op = 0; op < plan.rows[kDevice].size(); ++op) {
    const RowRange device = plan.rows[kDevice][op], server = plan.rows[kServer][op];
    rows.push_back({device.lo, device.hi, server.lo, server.hi});
  }
  return {id, EncodeList(rows)};
}

absl::StatusOr<Plan> DecodePlan(const PlanMessage& message) {
  WHARF_ASSIGN_OR_RETURN(const auto rows, DecodeList<PlanRows>(message.rows));
  Plan plan(static_cast<int>(rows.size()));
  for (size_t op = 0; op < rows.size(); ++op) {
    plan.rows[kDevice][op] = {rows[op].device_lo, rows[op].device_hi};
    plan.rows[kServer][op] = {rows[op].server_lo, rows[op].server_hi};
  }
  return plan;
}

absl::Status StatusOf(const Goodbye& goodbye) {
  constexpr size_t kMaxMessage = 500;
  const bool known = goodbye.code > 0 && goodbye.code <= static_cast<uint16_t>(absl::StatusCode::kUnauthenticated);
  std::string message = goodbye.message.substr(0, kMaxMessage);
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return MakeStatus(known ? static_cast<absl::StatusCode>(goodbye.code) : absl::StatusCode::kUnavailable, "{}",
                    message.empty() ? "the peer ended the session" : message);
}

Goodbye GoodbyeOf(const absl::Status& status) {
  return {static_cast<uint16_t>(status.code()), std::string(Message(status))};
}

}  // namespace wharf::split
