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

// "3 (sequence ended 2, other argument 1)"
std::string Misses(const nlohmann::json& misses) {
  uint64_t total = 0;
  std::vector<std::pair<uint64_t, std::string>> reasons;
  for (const auto& [reason, count] : misses.items()) reasons.emplace_back(count.get<uint64_t>(), reason);
  std::sort(reasons.begin(), reasons.end(), std::greater<>());
  std::string text;
  for (const auto& [count, reason] : reasons) {
    total += count;
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, count);
  }
  return text.empty() ? fmt::format("{:>12}", total) : fmt::format("{:>12}  ({})", total, text);
}

std::string Replay(const nlohmann::json& replay) {
  const auto number = [&replay](const char* key) { return replay.at(key).get<uint64_t>(); };
  const uint64_t foreseen = number("hits") + number("changed") + number("jumps");
  const uint64_t all = foreseen + number("explicit");
  std::string text =
      fmt::format("wharf: replay: {}, {} inferences\n", replay.at("phase").get<std::string>(), number("inferences"));
  text += fmt::format("  sequence        {:>12}  operations; {} known\n", number("sequence_length"),
                      number("sequences_known"));
  text += fmt::format("  foreseen        {:>12}  ({:.1f} %): {} as known, {} with other arguments, {} jumps\n",
                      foreseen, all > 0 ? 100.0 * static_cast<double>(foreseen) / static_cast<double>(all) : 0.0,
                      number("hits"), number("changed"), number("jumps"));
  text += fmt::format("  sent whole      {:>12}\n", number("explicit"));
  text += fmt::format("  misses          {}\n", Misses(replay.at("misses")));
  text += fmt::format("  run ahead       {:>12}  operations, {} undone\n", number("run_ahead"), number("undone"));
  return text + fmt::format("  pushed results  {:>12}  ({} round trips)\n", number("pushes"), number("round_trips"));
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
  text += TopFunctions(stats.at("per_function"));
  return stats.contains("replay") ? text + Replay(stats.at("replay")) : text;
}

std::string Summary(const nlohmann::json& stats) {
  if (stats.contains("replay")) return Replay(stats.at("replay"));
  return fmt::format("wharf: mode {}: nothing is replayed\n", stats.at("mode").get<std::string>());
}

absl::StatusOr<std::string> Read(const std::string& json_path, std::string (*show)(const nlohmann::json&)) {
  std::ifstream file(json_path);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return NotFound("no counters: the program made no CUDA call, or did not end by itself");
  }
  try {
    return show(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the counters in {} cannot be read: {}", json_path, error.what());
  }
}

}  // namespace

absl::StatusOr<std::string> StatsTable(const std::string& json_path) { return Read(json_path, Table); }

absl::StatusOr<std::string> ReplaySummary(const std::string& json_path) { return Read(json_path, Summary); }

}  // namespace wharf::cli
