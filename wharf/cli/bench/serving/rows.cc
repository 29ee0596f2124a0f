#include "wharf/cli/bench/serving/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using serving::ClientOutcome;
using serving::EmulationResult;
using serving::System;

constexpr double kLeastSeconds = 5;

const char* MeasureName(serving::Measure measure) {
  return measure == serving::Measure::kNetwork ? "network" : "truth";
}

const char* EngineName(const ServingRow& row) { return row.computed ? "exec" : "emulated"; }

void AddAccounts(const EmulationResult& result, double fps, std::map<std::string, double>& metrics) {
  double frames = 0, drop = 0, true_drop = 0, counted = 0, within = 0, worst = -1;
  for (const ClientOutcome& client : result.clients) {
    const serving::Account& account = client.account;
    frames += static_cast<double>(account.frames);
    drop += account.drop - account.reference;
    true_drop += account.true_drop;
    if (static_cast<double>(account.frames) < kLeastSeconds * fps) continue;
    ++counted;
    within += account.MeanDrop() <= client.sla ? 1 : 0;
    worst = std::max(worst, account.MeanDrop() - client.sla);
  }
  metrics["drop"] = frames > 0 ? drop / frames : 0;
  metrics["clients_within"] = result.MeanClientsWithin();
  metrics["true_drop"] = frames > 0 ? true_drop / frames : 0;
  metrics["within_sla"] = counted > 0 ? within / counted : 1;
  metrics["worst_excess"] = counted > 0 ? worst : 0;
  const std::vector<double> drops = ClientDrops(result, fps), errors = EstimateErrors(result);
  metrics["estimate_error_low"] = errors.empty() ? 0 : std::min(0.0, errors.front());
  metrics["estimate_error_high"] = errors.empty() ? 0 : std::max(0.0, errors.back());
  for (const int percent : {5, 50, 95, 100}) {
    metrics[fmt::format("client_drop_p{}", percent)] = report::Percentile(drops, percent / 100.0);
  }
  for (const int percent : {10, 50, 90}) {
    metrics[fmt::format("estimate_error_p{}", percent)] = report::Percentile(errors, percent / 100.0);
  }
}

void AddStarts(const EmulationResult& result, std::map<std::string, double>& metrics) {
  if (result.late_ms.empty()) return;
  const std::vector<double> late(result.late_ms.begin(), result.late_ms.end());
  const auto over = std::count_if(late.begin(), late.end(), [](double ms) { return ms > 1e-3; });
  metrics["late_batches"] = static_cast<double>(over) / static_cast<double>(late.size());
  const auto far = std::count_if(late.begin(), late.end(), [](double ms) { return ms > 1; });
  metrics["late_1ms"] = static_cast<double>(far) / static_cast<double>(late.size());
  metrics["start_p1_ms"] = report::Percentile(late, 0.01);
  metrics["start_p50_ms"] = report::Percentile(late, 0.5);
  metrics["start_p99_ms"] = report::Percentile(late, 0.99);
  const double requests = static_cast<double>(std::max<uint64_t>(1, result.stats.requests));
  const double bias_s = result.stats.arrival_error_s / requests;
  metrics["arrival_error_ms"] = 1e3 * bias_s;
  metrics["arrival_deviation_ms"] =
      1e3 * std::sqrt(std::max(0.0, result.stats.arrival_error_s2 / requests - bias_s * bias_s));
}

double DropRateOf(const serving::DropTable& table) {
  constexpr int kStride = 8;
  double sum = 0;
  int frames = 0;
  for (int frame = 0; frame + kStride < table.data().frames; frame += kStride, ++frames) {
    sum += table.At(frame, kStride).seen / kStride;
  }
  return frames > 0 ? sum / frames : 0;
}

// The parameters that a system has chosen offline, in words.
std::string ChoiceOf(const serving::SystemOptions& system) {
  const auto& [clients, settings] = system.fixed;
  std::string chosen;
  switch (system.system) {
    case System::kStatic:
    case System::kRefusingStatic:
      chosen = fmt::format("{} clients, interval {}, batches of {}", clients, settings.interval, settings.batch);
      break;
    case System::kClipper:
    case System::kTolerantClipper:
    case System::kRefusingClipper:
      chosen = fmt::format("interval {}, {} at once", settings.interval, system.step);
      break;
    default:
      if (!IsCoordinated(system.system)) chosen = fmt::format("{} at once", system.step);
  }
  if (system.told < 1) chosen += fmt::format("{}{:g} of the SLAs told", chosen.empty() ? "" : ", ", system.told);
  return chosen;
}

serving::EmulationOptions WorkloadOf(const ServingCase& setting, const ServingBenchOptions& options) {
  serving::EmulationOptions workload;
  workload.seconds = options.seconds;
  workload.link = setting.link;
  workload.arrivals_per_s = options.arrivals_per_s;
  workload.sla_from = setting.sla_from;
  workload.sla_to = setting.sla_to;
  workload.measure = options.measure;
  if (setting.task == "detection") {
    workload.curve = track::kBoxCurve;
    workload.cautious_curve = track::kCautiousBoxCurve;
  }
  return workload;
}

// Offline, in virtual time, on the very workload.
serving::SystemOptions Chosen(System system, const std::vector<serving::DropTable>& tables,
                              const serving::InferenceProfile& profile, serving::EmulationOptions workload,
                              const ServingBenchOptions& options) {
  serving::PilotOptions pilot;
  pilot.seconds = options.pilot_seconds;
  pilot.adherence = options.adherence;
  workload.system.system = system;
  workload.seed = 1;
  return serving::Tuned(tables, profile, workload, pilot);
}

absl::StatusOr<EmulationResult> Run(const std::vector<serving::DropTable>& tables,
                                    const serving::InferenceProfile& profile, const serving::EmulationOptions& workload,
                                    const ServingBenchOptions& options) {
  if (options.engine != nullptr) {
    return serving::EmulateOnEngine(tables, profile, workload, Clock::Real(), *options.engine);
  }
  return options.real ? EmulateInRealTime(tables, profile, workload, Clock::Real())
                      : Emulate(tables, profile, workload);
}

std::vector<double> BatchTimes(const serving::InferenceProfile& profile) {
  std::vector<double> times_ms;
  for (int batch = 1; batch <= profile.MaxBatch(); ++batch) times_ms.push_back(1e3 * profile.Seconds(batch));
  return times_ms;
}

}  // namespace

std::string ServingCase::Sla() const {
  return sla_from == sla_to ? fmt::format("{:g}", sla_from) : fmt::format("{:g}-{:g}", sla_from, sla_to);
}

void AddToTotals(const EmulationResult& result, double fps, ServingTotals& totals) {
  for (const ClientOutcome& client : result.clients) {
    const double excess = client.account.MeanDrop() - client.sla;
    const double seconds = static_cast<double>(client.account.frames) / fps, hours = seconds / 3600;
    totals.client_hours += hours;
    if (excess > 0) totals.hours_above += hours;
    if (seconds < kLeastSeconds) continue;
    ++totals.clients;
    if (excess > 0) ++totals.above;
    totals.worst_excess = std::max(totals.worst_excess, excess);
  }
}

std::vector<double> ClientDrops(const EmulationResult& result, double fps) {
  std::vector<double> drops;
  for (const ClientOutcome& client : result.clients) {
    if (static_cast<double>(client.account.frames) >= kLeastSeconds * fps) drops.push_back(client.account.MeanDrop());
  }
  std::ranges::sort(drops);
  return drops;
}

std::vector<double> EstimateErrors(const EmulationResult& result) {
  std::map<size_t, serving::Account> videos;
  for (const ClientOutcome& client : result.clients) {
    serving::Account& video = videos[client.table];
    video.frames += client.account.frames;
    video.drop += client.account.drop;
    video.reference += client.account.reference;
    video.estimate += client.account.estimate;
  }
  std::vector<double> errors;
  for (const auto& [table, video] : videos) errors.push_back(video.MeanEstimate() - video.MeanDrop());
  std::ranges::sort(errors);
  return errors;
}

std::map<std::string, double> ServingMetrics(const EmulationResult& result, double fps) {
  std::map<std::string, double> metrics;
  metrics["clients"] = result.MeanClients();
  metrics["clients_over_time"] = result.ClientsDeviation();
  metrics["batch"] = result.MeanBatch();
  metrics["interval"] = result.MeanInterval(fps);
  metrics["idle"] = result.IdleShare();
  metrics["bound"] = result.Bound();
  double drop_rate = 0;
  for (const serving::Sample& sample : result.samples) drop_rate += sample.drop_rate;
  metrics["drop_rate"] = result.samples.empty() ? 0 : drop_rate / static_cast<double>(result.samples.size());
  AddAccounts(result, fps, metrics);
  AddStarts(result, metrics);
  const std::vector<double> rounds(result.round_ms.begin(), result.round_ms.end());
  metrics["round_ms"] = report::Mean(rounds);
  metrics["round_p99_ms"] = report::Percentile(rounds, 0.99);
  const std::vector<double> stretch(result.stretch.begin(), result.stretch.end());
  metrics["stretch"] = report::Mean(stretch);
  metrics["stretch_p99"] = report::Percentile(stretch, 0.99);
  metrics["admitted"] = static_cast<double>(result.stats.admitted) / std::max(1.0, result.measured_s);
  metrics["evicted"] = static_cast<double>(result.stats.evicted) / std::max(1.0, result.measured_s);
  return metrics;
}

absl::StatusOr<std::vector<ServingRow>> RunServingCase(const ServingCase& setting,
                                                       const std::vector<serving::DropTable>& tables,
                                                       const serving::InferenceProfile& profile,
                                                       const ServingBenchOptions& options,
                                                       const std::function<void(const std::string&)>& progress) {
  serving::EmulationOptions workload = WorkloadOf(setting, options);
  std::vector<serving::SystemOptions> systems;
  std::vector<ServingRow> rows;
  for (const System system : setting.systems) {
    systems.push_back(Chosen(system, tables, profile, workload, options));
    rows.push_back({setting,
                    system,
                    ChoiceOf(systems.back()),
                    profile.name(),
                    BatchTimes(profile),
                    options.measure,
                    options.adherence,
                    options.real,
                    options.engine != nullptr,
                    {},
                    {},
                    {},
                    {}});
  }
  std::vector<std::map<std::string, std::vector<double>>> values(rows.size());
  for (int seed = 1; seed <= options.seeds; ++seed) {
    for (size_t i = 0; i < rows.size(); ++i) {
      progress(fmt::format("{} {} {} videos, SLA {}: {}, seed {}", setting.task, setting.link.name, setting.videos,
                           setting.Sla(), SystemName(rows[i].system), seed));
      workload.seed = static_cast<uint64_t>(seed);
      workload.system = systems[i];
      WHARF_ASSIGN_OR_RETURN(EmulationResult result, Run(tables, profile, workload, options));
      const double fps = tables.front().data().fps;
      for (const auto& [name, value] : ServingMetrics(result, fps)) values[i][name].push_back(value);
      AddToTotals(result, fps, rows[i].totals);
      rows[i].seeds.push_back(workload.seed);
      if (seed == 1) rows[i].first = std::move(result);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [name, of_seeds] : values[i]) rows[i].metrics[name] = report::Summarize(of_seeds);
  }
  return rows;
}

std::vector<serving::DropTable> HalfByDropRate(const std::vector<serving::DropTable>& tables, bool higher) {
  std::vector<double> rates;
  for (const serving::DropTable& table : tables) rates.push_back(DropRateOf(table));
  const double median = report::Median(rates);
  std::vector<serving::DropTable> half;
  for (size_t i = 0; i < tables.size(); ++i) {
    if ((rates[i] > median) == higher) half.push_back(tables[i]);
  }
  return half;
}

const ServingRow* FindServingRow(const std::vector<ServingRow>& rows, const ServingRow& like, System system) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ServingRow& row) {
    const ServingCase &a = row.setting, &b = like.setting;
    return row.system == system && a.figure == b.figure && a.task == b.task && a.videos == b.videos &&
           a.link.name == b.link.name && a.Sla() == b.Sla();
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string ServingRowsAsJson(const std::vector<ServingRow>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const ServingRow& row : rows) {
    nlohmann::ordered_json& object = array.emplace_back(nlohmann::ordered_json{{"figure", row.setting.figure},
                                                                               {"task", row.setting.task},
                                                                               {"link", row.setting.link.name},
                                                                               {"videos", row.setting.videos},
                                                                               {"sla", row.setting.Sla()},
                                                                               {"system", SystemName(row.system)},
                                                                               {"chosen", row.chosen},
                                                                               {"profile", row.profile},
                                                                               {"profile_ms", row.profile_ms},
                                                                               {"measure", MeasureName(row.measure)},
                                                                               {"adherence", row.adherence},
                                                                               {"emulated", true},
                                                                               {"clock", row.real ? "real" : "virtual"},
                                                                               {"engine", EngineName(row)},
                                                                               {"seeds", row.seeds}});
    object["client_hours"] = row.totals.client_hours;
    object["hours_above"] = row.totals.hours_above;
    object["clients_counted"] = row.totals.clients;
    object["clients_above"] = row.totals.above;
    if (row.totals.clients > 0) object["worst_excess_of_all"] = row.totals.worst_excess;
    for (const auto& [name, value] : row.metrics) {
      object[name] = value.mean;
      object[name + "_spread"] = value.spread;
    }
  }
  return array.dump(1) + "\n";
}

}  // namespace wharf::cli
