#include "wharf/cli/bench/multitask/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace wharf::cli {
namespace {

constexpr const char* kAllCategories = "all";

double Overall(const multitask::Score& score, const Weights& weights) {
  const double errors[] = {score.abs_rel, score.t_err, score.box_error};
  return std::inner_product(weights.begin(), weights.end(), errors, 0.0) /
         std::accumulate(weights.begin(), weights.end(), 0.0);
}

MultitaskRow RowOf(const std::string& category, const multitask::System& system, size_t index, const Weights& weights,
                   const std::vector<MultitaskVideo>& videos) {
  MultitaskRow row{category, system.policy, WeightsText(weights), system.profile.name, {}, {}};
  std::map<std::string, std::vector<double>> values;
  for (const MultitaskVideo& video : videos) {
    if (video.category != category) continue;
    row.seeds.push_back(video.seed);
    const multitask::Score& score = video.results[index].score;
    for (const multitask::ScoreField& field : multitask::ScoreFields())
      values[field.name].push_back(score.*field.value);
    values["overall"].push_back(Overall(score, weights));
  }
  for (const auto& [name, list] : values) row.metrics[name] = report::Summarize(list);
  return row;
}

// Of rows that are the same but for the category.
MultitaskRow OverCategories(const std::vector<const MultitaskRow*>& rows) {
  MultitaskRow all = *rows.front();
  all.category = kAllCategories;
  all.seeds.clear();
  for (const MultitaskRow* const row : rows) all.seeds.insert(all.seeds.end(), row->seeds.begin(), row->seeds.end());
  for (auto& [name, value] : all.metrics) {
    std::vector<double> means;
    for (const MultitaskRow* const row : rows) means.push_back(row->metrics.at(name).mean);
    value = report::Summarize(means);
  }
  return all;
}

// In the order of first appearance.
std::vector<std::string> Categories(const std::vector<MultitaskVideo>& videos) {
  std::vector<std::string> categories;
  for (const MultitaskVideo& video : videos) {
    if (std::find(categories.begin(), categories.end(), video.category) == categories.end())
      categories.push_back(video.category);
  }
  return categories;
}

}  // namespace

std::string WeightsText(const Weights& weights) { return fmt::format("{:g}", fmt::join(weights, ":")); }

std::vector<MultitaskRow> Summarise(const std::vector<multitask::System>& systems, const std::vector<Weights>& weights,
                                    const std::vector<MultitaskVideo>& videos) {
  std::vector<MultitaskRow> rows;
  const std::vector<std::string> categories = Categories(videos);
  for (size_t i = 0; i < systems.size(); ++i) {
    for (const Weights& one : systems[i].weights.empty() ? weights : std::vector<Weights>{systems[i].weights}) {
      std::vector<MultitaskRow> of_system;
      for (const std::string& category : categories) of_system.push_back(RowOf(category, systems[i], i, one, videos));
      std::vector<const MultitaskRow*> parts;
      for (const MultitaskRow& row : of_system) parts.push_back(&row);
      if (parts.size() > 1) rows.push_back(OverCategories(parts));
      rows.insert(rows.end(), of_system.begin(), of_system.end());
    }
  }
  return rows;
}

const MultitaskRow* FindRow(const std::vector<MultitaskRow>& rows, const std::string& category,
                            const std::string& system, const std::string& weights, const std::string& latencies) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const MultitaskRow& row) {
    return row.category == category && row.system == system && row.weights == weights &&
           (latencies.empty() || row.latencies == latencies);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string RowsAsJson(const std::vector<MultitaskRow>& rows, bool oracle) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const MultitaskRow& row : rows) {
    nlohmann::ordered_json& object = array.emplace_back(nlohmann::ordered_json{{"category", row.category},
                                                                               {"system", row.system},
                                                                               {"weights", row.weights},
                                                                               {"latencies", row.latencies},
                                                                               {"oracle", oracle},
                                                                               {"videos", row.seeds.size()},
                                                                               {"seeds", row.seeds}});
    for (const auto& [name, value] : row.metrics) {
      object[name] = value.mean;
      object[name + "_spread"] = value.spread;
    }
  }
  return array.dump(1) + "\n";
}

}  // namespace wharf::cli
