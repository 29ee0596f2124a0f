#include "wharf/split/messages/messages.h"

namespace wharf::split {

namespace {

// JPEGs have a quality and are made of the input only.
absl::StatusOr<Encoding> DecodeEncoding(const PlanMessage& message) {
  constexpr auto kJpeg = static_cast<uint8_t>(RowCoding::kJpeg);
  const bool jpeg = message.input_coding == kJpeg;
  const bool quality_fits = jpeg ? message.jpeg_quality >= 1 && message.jpeg_quality <= 100 : message.jpeg_quality == 0;
  if (message.input_coding > kJpeg || message.rows_coding >= kJpeg || !quality_fits) {
    return DataLoss("rows cannot be encoded so");
  }
  return Encoding{{RowCoding{message.input_coding}, message.jpeg_quality}, {RowCoding{message.rows_coding}, 0}};
}

}  // namespace

PlanMessage EncodePlan(uint32_t id, const Plan& plan) {
  std::vector<PlanRows> rows;
  for (size_t op = 0; op < plan.rows[kDevice].size(); ++op) {
    const RowRange device = plan.rows[kDevice][op], server = plan.rows[kServer][op];
    rows.push_back({device.lo, device.hi, server.lo, server.hi});
  }
  std::vector<PlanBand> bands;
  for (const Band& band : plan.layout.bands) bands.push_back({band.op, band.rows.lo, band.rows.hi});
  PlanMessage message;
  message.id = id;
  message.input_coding = static_cast<uint8_t>(plan.encoding.input.coding);
  message.jpeg_quality = plan.encoding.input.quality;
  message.rows_coding = static_cast<uint8_t>(plan.encoding.rows.coding);
  message.gathered = plan.layout.gathered;
  message.bands = EncodeList(bands);
  message.rows = EncodeList(rows);
  return message;
}

absl::StatusOr<Plan> DecodePlan(const PlanMessage& message) {
  WHARF_ASSIGN_OR_RETURN(const auto rows, DecodeList<PlanRows>(message.rows));
  Plan plan(static_cast<int>(rows.size()));
  WHARF_ASSIGN_OR_RETURN(plan.encoding, DecodeEncoding(message));
  WHARF_ASSIGN_OR_RETURN(const auto bands, DecodeList<PlanBand>(message.bands));
  plan.layout.gathered = message.gathered;
  for (const PlanBand& band : bands) plan.layout.bands.push_back({band.op, {band.lo, band.hi}});
  for (size_t op = 0; op < rows.size(); ++op) {
    plan.rows[kDevice][op] = {rows[op].device_lo, rows[op].device_hi};
    plan.rows[kServer][op] = {rows[op].server_lo, rows[op].server_hi};
  }
  return plan;
}

}  // namespace wharf::split
