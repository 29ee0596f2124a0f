#include "wharf/cli/bench/offload/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wharf/report/statistics.h"

namespace wharf::cli {
namespace {

double LinkMs(double round_trips, double bytes, const Scenario& scenario) {
  if (scenario.mean_bits_per_second <= 0) return 0;
  return round_trips * Milliseconds(scenario.round_trip) + 8e3 * bytes / scenario.mean_bits_per_second;
}

Prediction ParsePrediction(const nlohmann::json& replay) {
  const auto number = [&replay](const char* key) { return replay.at(key).get<uint64_t>(); };
  Prediction prediction;
  prediction.predicted = number("hits") + number("changed") + number("jumps");
  prediction.sent_whole = number("explicit");
  return prediction;
}

// The program's own counters are of the way to its private server: what crossed the link is in these.
void TakeLink(const nlohmann::json& remote, ProgramRun& run) {
  remote.at("blocking_round_trips").get_to(run.blocking_round_trips);
  remote.at("bytes_up").get_to(run.bytes_up);
  remote.at("bytes_down").get_to(run.bytes_down);
  remote.at("device_busy_ns").get_to(run.device_busy_ns);
}

// How much more the later run has, never below zero.
double Difference(uint64_t later, uint64_t earlier) {
  return later > earlier ? static_cast<double>(later - earlier) : 0.0;
}

std::map<std::string, double> Difference(const std::map<std::string, uint64_t>& later,
                                         const std::map<std::string, uint64_t>& earlier, double divisor) {
  std::map<std::string, double> more;
  for (const auto& [name, count] : later) {
    const auto before = earlier.find(name);
    const double difference = Difference(count, before == earlier.end() ? 0 : before->second);
    if (difference > 0) more[name] = difference / divisor;
  }
  return more;
}

// What the inferences after the warm-up of all rounds cost together.
class Measured {
 public:
  explicit Measured(const std::vector<MeasuredRound>& rounds) : rounds_(rounds) {}

  std::vector<double> Latencies() const {
    std::vector<double> latencies;
    for (const MeasuredRound& round : rounds_) {
      const auto first = round.all.latencies_ms.begin() + static_cast<ptrdiff_t>(round.warm.latencies_ms.size());
      latencies.insert(latencies.end(), first, round.all.latencies_ms.end());
    }
    return latencies;
  }

  template <typename Counter>
  double Sum(const Counter& counter) const {
    double sum = 0;
    for (const MeasuredRound& round : rounds_) sum += Difference(counter(round.all), counter(round.warm));
    return sum;
  }

 private:
  const std::vector<MeasuredRound>& rounds_;
};

void AddPrediction(const Measured& measured, BenchRow& row) {
  const double predicted = measured.Sum([](const ProgramRun& run) { return run.prediction.predicted; });
  const double whole = measured.Sum([](const ProgramRun& run) { return run.prediction.sent_whole; });
  if (predicted > 0) row.predicted_fraction = predicted / (predicted + whole);
  row.phase = row.predicted_fraction > 0.5 ? "replaying" : "recording";
}

absl::Status CheckLengths(const std::vector<MeasuredRound>& rounds, int warm_up) {
  if (rounds.empty()) return FailedPrecondition("nothing was measured");
  for (const MeasuredRound& round : rounds) {
    const size_t before = round.warm.latencies_ms.size(), all = round.all.latencies_ms.size();
    if (before == static_cast<size_t>(warm_up) && all > before) continue;
    return FailedPrecondition("the program ran {} and {} inferences, not {} and more", before, all, warm_up);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProgramRun> ParseRun(const std::string& program_json, const std::string& counters_json) {
  ProgramRun run;
  try {
    run.latencies_ms = nlohmann::json::parse(program_json).at("latency_ms").get<std::vector<double>>();
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the program's --json file has no list \"latency_ms\": {}", error.what());
  }
  try {
    const auto counters = nlohmann::json::parse(counters_json);
    counters.at("calls").get_to(run.calls);
    counters.at("blocking_round_trips").get_to(run.blocking_round_trips);
    counters.at("bytes_up").get_to(run.bytes_up);
    counters.at("bytes_down").get_to(run.bytes_down);
    counters.at("device_busy_ns").get_to(run.device_busy_ns);
    counters.at("per_function").get_to(run.per_function);
    run.replays = counters.at("mode").get<std::string>().starts_with("replay");
    if (run.replays) run.prediction = ParsePrediction(counters.at("replay"));
    if (counters.contains("partition") && !counters.at("partition").is_null()) {
      TakeLink(counters.at("partition").at("there"), run);
    }
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the program's CUDA counters cannot be read (does it load CUDA's shared libraries?): {}",
                    error.what());
  }
  return run;
}

const std::vector<BenchMode>& BenchModes() {
  using Way = BenchMode::Way;
  // Five inferences of warm-up: the sequence is found by the third steady one; then four more are timed for the
  // partition.
  static const auto* const modes = new std::vector<BenchMode>{
      {"device_only", Way::kNoLink, {}, 5, 0},
      {"percall", Way::kLink, {"--mode", "percall"}, 1, 2},
      {"cached", Way::kLink, {"--mode", "cached"}, 2, 5},
      {"posted", Way::kLink, {"--mode", "posted"}, 5, 0},
      {"replay_speculative", Way::kLink, {"--mode", "replay_speculative"}, 5, 0},
      {"replay", Way::kLink, {"--mode", "replay"}, 5, 0},
      {"native", Way::kByHand, {}, 5, 0},
      {"partition", Way::kLink, {"--partition", "auto", "--device", "soft", "--threads", "1"}, 10, 0},
  };
  return *modes;
}

absl::StatusOr<BenchMode> FindBenchMode(const std::string& name) {
  const std::string wanted = name == "local" ? "device_only" : name;
  for (const BenchMode& mode : BenchModes()) {
    if (mode.name == wanted) return mode;
  }
  return NotFound("there is no mode {}", name);
}

absl::StatusOr<BenchRow> MakeRow(const std::vector<MeasuredRound>& rounds, int warm_up, const Scenario& scenario) {
  WHARF_RETURN_IF_ERROR(CheckLengths(rounds, warm_up));
  const Measured measured(rounds);
  const std::vector<double> latencies = measured.Latencies();
  auto each = [&](uint64_t ProgramRun::*counter) {
    return measured.Sum([counter](const ProgramRun& run) { return run.*counter; }) /
           static_cast<double>(latencies.size());
  };
  BenchRow row;
  row.scenario = scenario.name;
  row.inferences = static_cast<int>(latencies.size());
  row.latency_ms_median = report::Median(latencies);
  row.latency_ms_p95 = report::Percentile(latencies, 0.95);
  row.calls = each(&ProgramRun::calls);
  if (scenario.mean_bits_per_second > 0) {  // else nothing leaves the machine
    row.blocking_round_trips = each(&ProgramRun::blocking_round_trips);
    row.bytes_up = each(&ProgramRun::bytes_up);
    row.bytes_down = each(&ProgramRun::bytes_down);
    if (rounds.front().all.replays) AddPrediction(measured, row);
  }
  const double mean_ms = report::Mean(latencies), bytes = row.bytes_up + row.bytes_down;
  if (mean_ms > 0) row.device_busy_fraction = each(&ProgramRun::device_busy_ns) / 1e6 / mean_ms;
  row.energy_j_modelled = ModelEnergy(mean_ms, row.blocking_round_trips, bytes, scenario);
  row.power_w_modelled = mean_ms > 0 ? row.energy_j_modelled / (mean_ms / 1e3) : 0;
  row.link_limit_ms = LinkMs(1, bytes, scenario);
  row.latencies_ms = rounds.front().all.latencies_ms;
  return row;
}

void CompareWithNative(std::vector<BenchRow>& rows) {
  std::map<std::string, double> native;
  for (const BenchRow& row : rows) {
    if (row.mode == "native") native[row.scenario] = row.latency_ms_median;
  }
  for (BenchRow& row : rows) {
    const auto beside = native.find(row.scenario);
    if (beside != native.end() && beside->second > 0) row.times_native = row.latency_ms_median / beside->second;
  }
}

CallStages StagesOfCalls(const ProgramRun& none, const ProgramRun& one, const ProgramRun& warm, const ProgramRun& all) {
  CallStages stages;
  const double inferences =
      static_cast<double>(all.latencies_ms.size()) - static_cast<double>(warm.latencies_ms.size());
  stages.load = Difference(none.per_function, {}, 1);
  stages.first = Difference(one.per_function, none.per_function, 1);
  stages.loop = Difference(all.per_function, warm.per_function, std::max(1.0, inferences));
  return stages;
}

double ModelEnergy(double latency_ms, double round_trips, double bytes, const Scenario& scenario,
                   const PowerStates& states) {
  if (scenario.mean_bits_per_second <= 0) return states.inference * latency_ms / 1e3;
  const double communicating_ms = std::min(latency_ms, LinkMs(round_trips, bytes, scenario));
  return (states.communication * communicating_ms + states.standby * (latency_ms - communicating_ms)) / 1e3;
}

}  // namespace wharf::cli
