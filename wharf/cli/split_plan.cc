#include "wharf/cli/split_plan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "wharf/report/table.h"
#include "wharf/split/coding_costs.h"

namespace wharf::cli {
namespace {

using nlohmann::json;
using split::RowRange;

constexpr const char* kFormat = "wharf-split-plan/1";

json RangesAsJson(const std::vector<RowRange>& ranges) {
  json array = json::array();
  for (const RowRange range : ranges) array.push_back({range.lo, range.hi});
  return array;
}

absl::StatusOr<std::vector<RowRange>> ParseRanges(const json& object, const char* side) {
  const auto found = object.find(side);
  if (found == object.end() || !found->is_array()) return InvalidArgument("a plan without \"{}\"", side);
  std::vector<RowRange> ranges;
  for (const json& one : *found) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_integer() || !one[1].is_number_integer()) {
      return InvalidArgument("\"{}\" has something else than ranges of two numbers", side);
    }
    ranges.push_back({one[0].get<int>(), one[1].get<int>()});
  }
  return ranges;
}

json LayoutAsJson(const split::Layout& layout) {
  json bands = json::array();
  for (const split::Band& band : layout.bands) bands.push_back({band.op, band.rows.lo, band.rows.hi});
  return {{"gathered", layout.gathered}, {"bands", std::move(bands)}};
}

absl::StatusOr<split::Layout> ParseLayout(const json& object) {
  split::Layout layout;
  layout.gathered = object.value("gathered", false);
  for (const json& one : object.value("bands", json::array())) {
    const auto is_number = [](const json& field) { return field.is_number_integer(); };
    if (!one.is_array() || one.size() != 3 || !std::all_of(one.begin(), one.end(), is_number)) {
      return InvalidArgument("\"bands\" has something else than an operator and its rows");
    }
    layout.bands.push_back({one[0].get<int>(), {one[1].get<int>(), one[2].get<int>()}});
  }
  return layout;
}

json AsJson(const StoredPlan& stored) {
  json object = {{"format", kFormat},
                 {"model", stored.model},
                 {"planner", stored.planner},
                 {"encoding", stored.encoding},
                 {"slice_fixed_ms", stored.slice_cost.fixed_ms},
                 {"slice_inflation", stored.slice_cost.inflation},
                 {"bytes_per_second", stored.link.bytes_per_ms * 1e3},
                 {"round_trip_ms", stored.link.round_trip_ms},
                 {"message_overhead_ms", stored.link.message_overhead_ms},
                 {"objective", stored.objective.energy ? "energy" : "latency"},
                 {"lower_bound_ms", stored.lower_bound_ms},
                 {"device", RangesAsJson(stored.plan.rows[split::kDevice])},
                 {"server", RangesAsJson(stored.plan.rows[split::kServer])}};
  if (std::isfinite(stored.objective.deadline_ms)) object["deadline_ms"] = stored.objective.deadline_ms;
  if (!stored.plan.layout.Plain()) object["layout"] = LayoutAsJson(stored.plan.layout);
  const ProfileSource& source = stored.source;
  for (const auto& [name, path] :
       {std::pair("profile", source.csv), std::pair("model_file", source.model),
        std::pair("device_profile", source.device_profile), std::pair("server_profile", source.server_profile)}) {
    if (!path.empty()) object[name] = path;
  }
  if (source.split_attention > 0) object["split_attention"] = source.split_attention;
  return object;
}

absl::StatusOr<StoredPlan> Parse(const json& object) {
  if (!object.is_object() || object.value("format", "") != kFormat) {
    return InvalidArgument("not a plan of format {}", kFormat);
  }
  StoredPlan stored;
  stored.model = object.value("model", "");
  stored.source = {object.value("profile", ""), object.value("model_file", ""), object.value("device_profile", ""),
                   object.value("server_profile", ""), object.value("split_attention", 0)};
  stored.planner = object.value("planner", "");
  stored.encoding = object.value("encoding", stored.encoding);
  const std::vector<std::string>& known = split::NamedEncodings();
  if (std::find(known.begin(), known.end(), stored.encoding) == known.end()) {
    return InvalidArgument("there is no encoding \"{}\"", stored.encoding);
  }
  stored.slice_cost.fixed_ms = object.value("slice_fixed_ms", stored.slice_cost.fixed_ms);
  stored.slice_cost.inflation = object.value("slice_inflation", stored.slice_cost.inflation);
  stored.link.bytes_per_ms = object.value("bytes_per_second", 0.0) / 1e3;
  stored.link.round_trip_ms = object.value("round_trip_ms", stored.link.round_trip_ms);
  stored.link.message_overhead_ms = object.value("message_overhead_ms", stored.link.message_overhead_ms);
  stored.objective.energy = object.value("objective", "latency") == "energy";
  stored.objective.deadline_ms = object.value("deadline_ms", stored.objective.deadline_ms);
  stored.lower_bound_ms = object.value("lower_bound_ms", 0.0);
  WHARF_ASSIGN_OR_RETURN(stored.plan.rows[split::kDevice], ParseRanges(object, "device"));
  WHARF_ASSIGN_OR_RETURN(stored.plan.rows[split::kServer], ParseRanges(object, "server"));
  if (object.contains("layout")) {
    WHARF_ASSIGN_OR_RETURN(stored.plan.layout, ParseLayout(object["layout"]));
  }
  return stored;
}

std::string RangeText(const split::RowGraph& graph, int op, RowRange range) {
  if (range.Empty()) return "-";
  const int first = graph.FirstRow(op);
  return range.Size() == graph.OperatorRows(op) ? "all" : fmt::format("{}-{}", first + range.lo, first + range.hi - 1);
}

// Whether `next` is the operator behind `op`, with the same rows (of one band, if there are bands).
bool Follows(const split::RowGraph& graph, int next, int op) {
  return graph.Operator(next) == graph.Operator(op) + 1 && graph.FirstRow(next) == graph.FirstRow(op) &&
         graph.Rows(next) == graph.Rows(op);
}

std::string Kilobytes(double bytes) { return bytes > 0 ? fmt::format("{:.1f}", bytes / 1e3) : ""; }

}  // namespace

std::string PlansAsJson(const std::vector<StoredPlan>& plans) {
  json array = json::array();
  for (const StoredPlan& plan : plans) array.push_back(AsJson(plan));
  return array.dump() + "\n";
}

absl::StatusOr<std::vector<StoredPlan>> ParsePlans(const std::string& text) {
  const json array = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array()) return InvalidArgument("no JSON array of plans");
  std::vector<StoredPlan> plans;
  try {
    for (const json& object : array) {
      WHARF_ASSIGN_OR_RETURN(StoredPlan plan, Parse(object));
      plans.push_back(std::move(plan));
    }
  } catch (const json::exception& error) {  // a field of another type
    return InvalidArgument("{}", error.what());
  }
  return plans;
}

std::string PlanAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Plan& plan) {
  std::vector<double> up(graph.Size(), 0), down(graph.Size(), 0);
  for (const split::Transfer& transfer : split::Transfers(graph, plan)) {
    (transfer.from == split::kDevice ? up : down)[transfer.op] += transfer.bytes;
  }
  report::Table table({{"operators"},
                       {"name"},
                       {"rows", report::Align::kRight},
                       {"device", report::Align::kRight},
                       {"server", report::Align::kRight},
                       {"up KB", report::Align::kRight},
                       {"down KB", report::Align::kRight},
                       {"device ms", report::Align::kRight},
                       {"server ms", report::Align::kRight}});
  for (int first = 0, next = 0; first < graph.Size(); first = next) {
    double device_ms = 0, server_ms = 0;
    const RowRange device = plan.rows[split::kDevice][first], server = plan.rows[split::kServer][first];
    do {
      device_ms += graph.Ms(split::kDevice, next, plan.rows[split::kDevice][next].Size());
      server_ms += graph.Ms(split::kServer, next, plan.rows[split::kServer][next].Size());
      ++next;
    } while (next < graph.Size() && up[next - 1] == 0 && down[next - 1] == 0 && Follows(graph, next, next - 1) &&
             plan.rows[split::kDevice][next] == device && plan.rows[split::kServer][next] == server);
    const int last = next - 1, first_op = graph.Operator(first), last_op = graph.Operator(last);
    const std::string &from = profile.operators[first_op].op.name, &to = profile.operators[last_op].op.name;
    table.AddRow({first == last ? fmt::format("{}", first_op) : fmt::format("{}-{}", first_op, last_op),
                  first == last ? from : from + " … " + to, fmt::format("{}", graph.Rows(first)),
                  RangeText(graph, first, device), RangeText(graph, first, server), Kilobytes(up[last]),
                  Kilobytes(down[last]), fmt::format("{:.2f}", device_ms), fmt::format("{:.2f}", server_ms)});
  }
  return table.Text();
}

}  // namespace wharf::cli
