#include "wharf/cli/host/report_json.h"

#include <array>
#include <cmath>
#include <vector>

namespace wharf::cli {
namespace {

using nlohmann::json;
using split::Resource;

constexpr size_t kMostOperators = 1500;  // a packet has no room for more

// By Side, then operator of the model.
std::array<std::vector<int>, 2> RowsOf(const split::RowGraph& plain, const split::Plan& plan, bool alone) {
  std::array<std::vector<int>, 2> rows;
  rows.fill(std::vector<int>(static_cast<size_t>(plain.Size()), 0));
  if (alone) {
    for (int op = 0; op < plain.Size(); ++op) rows[split::kDevice][op] = plain.Rows(op);
    return rows;
  }
  const split::RowGraph graph = split::WithLayout(plain, plan.layout);
  for (const split::Side side : {split::kDevice, split::kServer}) {
    for (int op = 0; op < graph.Size(); ++op) rows[side][graph.Operator(op)] += plan.rows[side][op].Size();
  }
  return rows;
}

}  // namespace

json ReportAsJson(split::SplitClient& session) {
  const split::InferenceReport& report = session.Report();
  std::array<double, 4> ms{}, bytes{};  // by Resource
  for (const split::Event& event : session.MeasuredEvents()) {
    if (!std::isfinite(event.end_ms)) continue;
    ms[static_cast<size_t>(event.resource)] += event.end_ms - event.start_ms;
    bytes[static_cast<size_t>(event.resource)] += event.bytes;
  }
  const auto of = [](const std::array<double, 4>& sums, Resource resource) {
    return sums[static_cast<size_t>(resource)];
  };
  const split::Plan& plan = session.Plans()[report.plan];
  json said = {{"ms", report.latency_ms},
               {"planned_ms", report.planned_ms},
               {"alone", report.alone},
               {"lost", std::string(Message(report.lost))},
               {"connected", session.Connected()},
               {"planning", session.Planning()},
               {"bytes_per_second", report.bytes_per_ms * 1e3},
               {"encoding", report.alone ? "" : plan.encoding.Text()},
               {"device_ms", of(ms, Resource::kDevice)},
               {"server_ms", of(ms, Resource::kServer)},
               {"up_ms", of(ms, Resource::kUplink)},
               {"down_ms", of(ms, Resource::kDownlink)},
               {"up_bytes", of(bytes, Resource::kUplink)},
               {"down_bytes", of(bytes, Resource::kDownlink)},
               {"operators", json::array()}};
  const split::RowGraph& plain = session.GetModel().View().rows;
  const auto rows = RowsOf(plain, plan, report.alone);
  const auto& operators = session.GetModel().Operators().operators;
  for (size_t op = 0; op < operators.size() && operators.size() <= kMostOperators; ++op) {
    said["operators"].push_back(
        {operators[op].name, operators[op].rows, rows[split::kDevice][op], rows[split::kServer][op]});
  }
  return said;
}

}  // namespace wharf::cli
