#include "wharf/cli/stats_table.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "wharf/cli/text.h"

namespace wharf::cli {
namespace {

constexpr size_t kTopFunctions = 12;

std::string TopFunctions(const nlohmann::json& per_function) {
  std::vector<std::pair<uint64_t, std::string>> counts;
  for (const auto& [name, count] : per_function.items()) counts.emplace_back(count.get<uint64_t>(), name);
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::string text;
  for (size_t i = 0; i < counts.size() && i < kTopFunctions; ++i) {
    text += fmt::format("    {:>12}  {}\n", counts[i].first, counts[i].second);
  }
  if (counts.size() > kTopFunctions) text += fmt::format("    {:>12}  others\n", counts.size() - kTopFunctions);
  return text;
}

std::string Table(const nlohmann::json& stats) {
  const auto number = [&stats](const char* key) { return stats.at(key).get<uint64_t>(); };
  const double wall = stats.at("wall_s").get<double>();
  const double busy = static_cast<double>(number("device_busy_ns")) / 1e9;
  std::string text = fmt::format("wharf: mode {}, {:.3f} s\n", stats.at("mode").get<std::string>(), wall);
  text += fmt::format("  calls           {:>12}  ({} local, {} posted, {} blocking)\n", number("calls"),
                      number("local_calls"), number("posted_calls"), number("blocking_calls"));
  text += fmt::format("  round trips     {:>12}\n", number("blocking_round_trips"));
  text += fmt::format("  one-way         {:>12}\n", number("posted_operations"));
  text += fmt::format("  up / down       {:>12}  / {}\n", FormatBytes(number("bytes_up")),
                      FormatBytes(number("bytes_down")));
  text += fmt::format("  device busy     {:>10.3f} s  ({:.0f} %)\n", busy, wall > 0 ? 100 * busy / wall : 0);
  return text + TopFunctions(stats.at("per_function"));
}

}  // namespace

absl::StatusOr<std::string> StatsTable(const std::string& json_path) {
  std::ifstream file(json_path);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return NotFound("no counters: the program made no CUDA call, or did not end by itself");
  }
  try {
    return Table(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the counters in {} cannot be read: {}", json_path, error.what());
  }
}

}  // namespace wharf::cli
