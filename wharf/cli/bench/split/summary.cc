// What of wharf bench split's runs needs no process: inferences as `wharf split --json` has them, as one row.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "wharf/cli/bench/split/run.h"
#include "wharf/report/statistics.h"

namespace wharf::cli {
namespace {

struct Series {
  std::vector<split::Outcome> outcomes;
  std::vector<double> planned, message_error, measured_energy;
  double largest_share_of_bound = 0;
  int finished_alone = 0;

  // Throws what nlohmann::json does.
  void Add(const nlohmann::json& one) {
    const double ms = one.at("latency_ms").get<double>();
    split::Outcome& outcome = outcomes.emplace_back();
    outcome.latency_ms = ms;
    outcome.busy_ms = {one.at("device_ms").get<double>(), one.at("server_ms").get<double>()};
    outcome.link_ms = one.at("link_ms").get<double>();
    planned.push_back(one.at("planned_ms").get<double>());
    const double bound_ms = one.at("bound_ms").get<double>();  // 0: the device alone, which was not profiled
    if (bound_ms > 0) largest_share_of_bound = std::max(largest_share_of_bound, ms / bound_ms);
    if (one.at("messages").get<int>() > 0) message_error.push_back(one.at("message_error_ms_mean").get<double>());
    if (!one.at("lost").get<std::string>().empty()) ++finished_alone;
    if (one.contains("energy_j_measured")) measured_energy.push_back(one["energy_j_measured"].get<double>());
  }
};

SplitBenchRow RowOf(const Series& series) {
  MeasuredSplit measured;
  measured.planned_ms_mean = report::Mean(series.planned);
  measured.message_error_ms_mean = report::Mean(series.message_error);
  measured.largest_share_of_bound = series.largest_share_of_bound;
  measured.finished_alone = series.finished_alone;
  if (!series.measured_energy.empty()) measured.energy_j = report::Mean(series.measured_energy);
  return {split::RowOf(series.outcomes), measured};
}

}  // namespace

std::string NameOfModel(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = file.stem().string(), directory = file.parent_path().filename().string();
  return name == "model" && !directory.empty() ? directory : name;
}

absl::StatusOr<SplitBenchRow> SummariseSplit(const std::vector<std::string>& jsons, std::optional<int> asked) {
  Series series;
  int lost = 0;
  try {
    for (const std::string& json : jsons) {
      const nlohmann::json inferences = nlohmann::json::parse(json);
      for (const nlohmann::json& one : inferences) series.Add(one);
      if (asked) lost += std::max(0, *asked - static_cast<int>(inferences.size()));
    }
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("what wharf split wrote is not its --json: {}", error.what());
  }
  if (series.outcomes.empty()) return DataLoss("wharf split wrote of no inference");
  SplitBenchRow row = RowOf(series);
  row.lost_inferences = lost;
  return row;
}

}  // namespace wharf::cli
