#include "wharf/cli/offload/stats_table.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "wharf/cli/common/text.h"

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
  uint64_t others = 0;
  for (size_t i = kTopFunctions; i < counts.size(); ++i) others += counts[i].first;
  if (others > 0) text += fmt::format("    {:>12}  of {} others\n", others, counts.size() - kTopFunctions);
  return text;
}

// Which calls waited, the longest first.
std::string Waits(const nlohmann::json& waits) {
  struct Row {
    double ms;
    uint64_t round_trips;
    std::string name;
  };
  std::vector<Row> rows;
  for (const auto& [name, wait] : waits.items())
    rows.push_back({wait.at("ms").get<double>(), wait.at("round_trips").get<uint64_t>(), name});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ms > b.ms; });
  std::string text;
  for (const Row& row : rows) text += fmt::format("    {:>24}  in {}, {:.3f} ms\n", row.round_trips, row.name, row.ms);
  return text;
}

// "3  misses (sequence ended 2, other argument 1)"
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
  return fmt::format("{:>12}  misses{}", total, text.empty() ? "" : fmt::format(" ({})", text));
}

// One line a field that is there, and what it counts.
std::string Counts(const nlohmann::json& replay) {
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"sequence_length", "operations in the sequence"},
      {"sequences_known", "sequences known"},
      {"operations_known", "operations known"},
      {"inferences", "inferences"},
      {"run_ahead", "operations the server ran ahead"},
      {"undone", "of them undone"},
      {"pushes", "results pushed"},
      {"early_pushes", "of them before they were asked for"},
      {"void_pushes", "of them thrown away"},
      {"elided", "waits answered here"},
      {"round_trips", "round trips"},
  };
  std::string text;
  for (const auto& [key, meaning] : kFields) {
    if (replay.contains(key)) text += fmt::format("    {:>12}  {}\n", replay.at(key).get<uint64_t>(), meaning);
  }
  return text;
}

std::string Replay(const nlohmann::json& replay) {
  const auto number = [&replay](const char* key) { return replay.at(key).get<uint64_t>(); };
  const uint64_t predicted = number("hits") + number("changed") + number("jumps");
  const uint64_t all = predicted + number("explicit");
  const std::string phase = replay.contains("phase") ? ", " + replay.at("phase").get<std::string>() : "";
  std::string text =
      fmt::format("wharf: replay{}: {} of {} operations for the server predicted ({:.1f} %)\n", phase, predicted, all,
                  all > 0 ? 100.0 * static_cast<double>(predicted) / static_cast<double>(all) : 0.0);
  text += fmt::format("    {:>12}  as known\n    {:>12}  with other arguments\n", number("hits"), number("changed"));
  text += fmt::format("    {:>12}  another way than the last time\n", number("jumps"));
  text += fmt::format("    {:>12}  sent whole\n", number("explicit"));
  return text + fmt::format("    {}\n", Misses(replay.at("misses"))) + Counts(replay);
}

// Every mode writes the object, but only these fill it.
bool Replays(const nlohmann::json& stats) {
  return stats.at("mode").get<std::string>().starts_with("replay") && stats.contains("replay");
}

// What ran where.
std::string Partition(const nlohmann::json& partition) {
  const auto number = [](const nlohmann::json& object, const char* key) { return object.at(key).get<uint64_t>(); };
  const nlohmann::json& there = partition.at("there");
  std::string text = fmt::format("wharf: partition: {} operations on memory here, {} on the server\n",
                                 number(partition, "operations_local"), number(partition, "operations_remote"));
  text +=
      fmt::format("    {:>12}  waits for memory of the other side ({} up, {} down)\n", number(partition, "transfers"),
                  FormatBytes(number(partition, "transferred_up")), FormatBytes(number(partition, "transferred_down")));
  text += fmt::format("    {:>12}  round trips to the server ({} up, {} down)\n", number(there, "blocking_round_trips"),
                      FormatBytes(number(there, "bytes_up")), FormatBytes(number(there, "bytes_down")));
  if (partition.at("plan").is_null()) return text;
  const nlohmann::json& plan = partition.at("plan");
  return text + fmt::format("    {:>12}  of {} operators of the inference here by plan, which has changed {} times\n",
                            number(plan, "operators_local"), number(plan, "operators"), number(plan, "changes"));
}

// "245.8 kB became 1.2 kB (LZ4 1, zstd 19, of these 18 as differences) in 12 ms"; "nothing" if nothing was compressed.
std::string Compressed(const nlohmann::json& bulk) {
  const auto number = [&bulk](const char* codec, const char* key) { return bulk.at(codec).at(key).get<uint64_t>(); };
  const uint64_t lz4 = number("lz4", "payloads"), zstd = number("zstd", "payloads");
  if (lz4 + zstd == 0) return "nothing";
  return fmt::format("{} became {} (LZ4 {}, zstd {}, of these {} as differences) in {:.0f} ms",
                     FormatBytes(number("lz4", "bytes_before") + number("zstd", "bytes_before")),
                     FormatBytes(number("lz4", "bytes_after") + number("zstd", "bytes_after")), lz4, zstd,
                     bulk.at("differences").get<uint64_t>(), bulk.at("processor_ms").get<double>());
}

std::string Table(const nlohmann::json& stats) {
  const auto number = [&stats](const char* key) { return stats.at(key).get<uint64_t>(); };
  const double wall = stats.at("wall_s").get<double>();
  const double busy = static_cast<double>(number("device_busy_ns")) / 1e9;
  std::string text = fmt::format("wharf: mode {}, {:.3f} s\n", stats.at("mode").get<std::string>(), wall);
  text += fmt::format(
      "  calls           {:>12}  ({} local, {} posted, {} that may wait; besides them {} of the compiler's)\n",
      number("calls"), number("local_calls"), number("posted_calls"), number("blocking_calls"),
      number("compiler_calls"));
  text += fmt::format("  round trips     {:>12}  waits for the server\n", number("blocking_round_trips"));
  if (stats.contains("waits")) text += Waits(stats.at("waits"));
  text += fmt::format("  one-way         {:>12}  operations sent without waiting\n", number("posted_operations"));
  text += fmt::format("  up / down       {:>12}  / {}\n", FormatBytes(number("bytes_up")),
                      FormatBytes(number("bytes_down")));
  if (stats.contains("compression")) {
    const nlohmann::json& compression = stats.at("compression");
    text += fmt::format("  compressed up   {:>12}\n  compressed down {:>12}\n", Compressed(compression.at("up")),
                        Compressed(compression.at("down")));
  }
  text += fmt::format("  device busy     {:>10.3f} s  ({:.0f} %)\n", busy, wall > 0 ? 100 * busy / wall : 0);
  text += TopFunctions(stats.at("per_function"));
  if (stats.contains("partition") && !stats.at("partition").is_null()) text += Partition(stats.at("partition"));
  return Replays(stats) ? text + Replay(stats.at("replay")) : text;
}

std::string Summary(const nlohmann::json& stats) {
  if (Replays(stats)) return Replay(stats.at("replay"));
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
