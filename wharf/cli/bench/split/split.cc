// wharf bench split: the papers' comparison of systems, simulated from stored profiles.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "wharf/cli/bench/split/report.h"
#include "wharf/cli/bench/split/run.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/shared_data.h"
#include "wharf/cli/split/options.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/report/html_page.h"
#include "wharf/split/simulation/simulate.h"

namespace wharf::cli {
namespace {

constexpr const char* kBenchSplitFooter = R"(
Models are ONNX files, which run: `wharf split` on one half of the cores, over an emulated link, with a server on the
other half, the device slowed down (--slow-down) to be as far behind the server as the paper's robot; every result is
compared with the whole model's. Beside a server on a GPU (--server-device cuda) --slow-down says how slow this
machine's cores are to be. Systems take turns in each round, and each sees a trace from its beginning.

With --simulate, models are names of profiles and nothing runs: the models' measured times on a Jetson Xavier NX and its
server (data/profiles) drive an exact simulation of both processors and the link; latency, transmission and energy are
modelled.

Systems    device-only, server-only, dsccs (layer partition of least latency), mcop (by the algorithm of that name, left out
           unless asked for), spso-ga (of least energy within 1 s),
           loss-de (rows by differential evolution, as published; slow and left out unless asked for), intra-dp (ours)
Scenarios  indoors, outdoors: measured Wi-Fi to a moving robot (simulated: all traces; else the first), inference after
           inference; simulated, the plan is chosen by the rate of the last 0.3 s, in doubt of 20 to 50 %; intra-dp may
           choose dsccs's plans as well. fixed: one inference at each of --rates.

--known-rates: SYSTEM+known-rates takes, of the same plans, the one that the rates to come make best. What it is faster by
is lost by predicting them; what it is above the bound by, by planning, or the bound is too low.

"bound": the mean over the inferences of what no plan could have beaten (docs/split.md). "W", "J": of the device, from
the paper's 13.35 W computing, 4.04 W standing by, and 0.21 W more while something is on its way; "std" is over
inferences, of W over time.)";

struct BenchSplitOptions : SplitOptions {
  bool simulate = false, markdown = false, known_rates = false;
  std::string profiles, traces, json, html;
  std::vector<std::string> models;
  std::vector<std::string> scenarios = {"indoors", "outdoors", "fixed"};
  std::vector<std::string> encodings = {"f32"};
  std::vector<std::string> systems = {"device-only", "server-only", "dsccs", "spso-ga", "intra-dp"};
  int inferences = 20, rounds = 1;
  std::optional<Nanoseconds> duration;
  double slow_down = 0;  // 0: as the stored profile of the model's name
  std::vector<double> server_slow_down = {1};
  bool shared_cores = false;
  std::string server_device = "cpu";
  std::vector<double> megabits = {5, 10, 20, 30, 50, 80, 100, 150, 200, 300, 400};
};

absl::StatusOr<std::string> DataDirectory(const std::string& given, const std::string& name) {
  if (!given.empty()) return given;
  return FindSharedData(name, "--" + name);
}

// All traces whose file's name begins with `name`.
absl::StatusOr<split::Scenario> LoadScenario(const std::string& directory, const std::string& name) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().filename().string().rfind(name + "_", 0) == 0) paths.push_back(entry.path().string());
  }
  if (paths.empty()) return NotFound("{} has no trace {}_….csv", directory, name);
  std::sort(paths.begin(), paths.end());
  split::Scenario scenario{name, 0, {}};
  for (const std::string& path : paths) {
    WHARF_ASSIGN_OR_RETURN(const link::BandwidthTrace trace, link::BandwidthTrace::Load(path));
    split::RateTrace rates{Milliseconds(trace.step), {}};
    for (const double bits : trace.bits_per_second) rates.bytes_per_ms.push_back(bits / 8e3);
    scenario.traces.push_back(std::move(rates));
  }
  return scenario;
}

absl::StatusOr<std::vector<split::Scenario>> LoadScenarios(const BenchSplitOptions& options) {
  std::vector<split::Scenario> scenarios;
  for (const std::string& name : options.scenarios) {
    if (name == "fixed") {
      for (const double megabits : options.megabits) {
        scenarios.push_back({fmt::format("{:g} Mbit/s", megabits), megabits * 1e6 / 8e3, {}});
      }
      continue;
    }
    WHARF_ASSIGN_OR_RETURN(const std::string directory, DataDirectory(options.traces, "traces"));
    WHARF_ASSIGN_OR_RETURN(split::Scenario scenario, LoadScenario(directory, name));
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

absl::Status SimulateModel(const BenchSplitOptions& options, const split::Profile& profile,
                           const std::vector<split::Scenario>& scenarios, std::vector<SplitBenchRow>& rows) {
  const split::RowGraph graph(profile);
  split::Simulation simulation(graph, options.Link());
  std::vector<split::PlanTable> tables;
  for (const std::string& system : options.systems) {
    std::fprintf(stderr, "planning %s, %s, %s\n", profile.model.c_str(), options.encoding.c_str(), system.c_str());
    WHARF_ASSIGN_OR_RETURN(const auto planner, split::MakePlanner(system, graph, options.planner));
    const auto objective = system == "spso-ga" ? split::Objective::Energy(1000) : split::Objective::Latency();
    tables.emplace_back(graph, *planner, options.Link(), objective);
    if (system != "intra-dp") continue;
    WHARF_ASSIGN_OR_RETURN(const auto layers, split::MakePlanner("dsccs", graph, options.planner));
    tables.back().Add(graph, *layers);
  }
  for (const split::Scenario& scenario : scenarios) {
    for (size_t i = 0; i < tables.size(); ++i) {
      for (const split::KnownRates known : {split::KnownRates::kPast, split::KnownRates::kFuture}) {
        const bool knows = known == split::KnownRates::kFuture;
        if (knows && (!options.known_rates || scenario.traces.empty())) continue;
        SplitBenchRow row{simulation.Run(tables[i], scenario, known), std::nullopt};
        row.model = profile.model;
        row.scenario = scenario.name;
        row.system = options.systems[i];
        if (knows) row.system += kKnowingRates;
        row.encoding = options.encoding;
        rows.push_back(std::move(row));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SplitBenchRow>> Simulate(const BenchSplitOptions& options) {
  std::vector<std::string> models = options.models;
  if (models.empty()) {
    models = {"vgg19_bn", "densenet121", "regnet_x_16gf", "convnext_base", "convnext_large", "kapao", "agrnav"};
  }
  WHARF_ASSIGN_OR_RETURN(const std::string profiles, DataDirectory(options.profiles, "profiles"));
  WHARF_ASSIGN_OR_RETURN(const std::vector<split::Scenario> scenarios, LoadScenarios(options));
  std::vector<SplitBenchRow> rows;
  BenchSplitOptions one = options;
  for (const std::string& model : models) {
    for (const std::string& encoding : options.encodings) {
      one.encoding = encoding;
      WHARF_ASSIGN_OR_RETURN(const split::Profile profile, one.LoadProfile(profiles + "/" + model + ".csv"));
      for (const double slowness : options.server_slow_down) {
        split::Profile slower = profile.WithSlower(split::kServer, slowness);
        if (slowness != 1) slower.model += fmt::format(", server {:g} times as slow", slowness);
        WHARF_RETURN_IF_ERROR(SimulateModel(one, slower, scenarios, rows));
      }
    }
  }
  return rows;
}

absl::StatusOr<std::vector<SplitLink>> LinksOf(const BenchSplitOptions& options) {
  std::vector<SplitLink> links;
  for (const std::string& name : options.scenarios) {
    if (name == "fixed") {
      for (const double megabits : options.megabits) {
        links.push_back({fmt::format("{:g} Mbit/s", megabits), {link::BandwidthTrace::Constant(megabits * 1e6)}});
      }
      continue;
    }
    WHARF_ASSIGN_OR_RETURN(const std::string directory, DataDirectory(options.traces, "traces"));
    WHARF_ASSIGN_OR_RETURN(auto trace, link::BandwidthTrace::Load(directory + "/" + name + "_a.csv"));
    links.push_back({name, {std::move(trace)}});
  }
  for (SplitLink& link : links) link.profile.round_trip = options.round_trip;
  return links;
}

// How far behind its server the paper's robot is with the model of this name, or with such models.
double RobotSlowDown(const BenchSplitOptions& options, const std::string& path) {
  constexpr double kUsual = 12.6;  // the median of the stored profiles
  const auto profiles = DataDirectory(options.profiles, "profiles");
  if (!profiles.ok()) return kUsual;
  const auto profile = split::Profile::Load(*profiles + "/" + NameOfModel(path) + ".csv");
  return profile.ok() ? profile->FullMs(split::kDevice) / profile->FullMs(split::kServer) : kUsual;
}

absl::StatusOr<std::vector<SplitBenchRow>> RunForReal(const BenchSplitOptions& options) {
  if (options.models.empty()) {
    return InvalidArgument(
        "say which models: --models a.onnx,b.onnx (tools/export_models.py makes some), or --simulate");
  }
  SplitRunPlan plan;
  for (const std::string& path : options.models) {
    plan.models.push_back({path, options.slow_down > 0 ? options.slow_down : RobotSlowDown(options, path)});
  }
  WHARF_ASSIGN_OR_RETURN(plan.links, LinksOf(options));
  plan.systems = options.systems;
  plan.inferences = options.inferences, plan.duration = options.duration, plan.rounds = options.rounds;
  plan.shared_cores = options.shared_cores;
  plan.server_device = options.server_device;
  std::vector<SplitBenchRow> rows;
  for (const std::string& encoding : options.encodings) {
    plan.encoding = encoding;
    WHARF_ASSIGN_OR_RETURN(const std::vector<SplitBenchRow> some, RunSplits(plan));
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

// How many inferences a row of the tables is about.
std::string SampleOf(const std::vector<SplitBenchRow>& rows) {
  if (rows.empty()) return "none";
  const auto [least, most] = std::ranges::minmax(rows, {}, &SplitBenchRow::inferences);
  const std::string count = least.inferences == most.inferences
                                ? std::to_string(least.inferences)
                                : fmt::format("{} to {}", least.inferences, most.inferences);
  return fmt::format("{} inferences of each system on each link, {}", count,
                     rows.front().measured ? "measured" : "simulated");
}

absl::Status BenchSplit(const BenchSplitOptions& options) {
  for (const std::string& file : {options.json, options.html}) {
    if (!file.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(file));
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<SplitBenchRow> rows,
                         options.simulate ? Simulate(options) : RunForReal(options));
  const report::Table table = SplitRowsAsTable(rows), phases = SplitPhasesAsTable(rows),
                      gains = SplitGainsAsTable(rows), losses = SplitLossesAsTable(rows);
  for (const report::Table* one : {&table, &phases, &gains, &losses}) {
    if (one == &losses && !options.known_rates) continue;
    std::printf("%s\n", (options.markdown ? one->Markdown() : one->Text()).c_str());
  }
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, SplitRowsAsJson(rows)));
  if (options.html.empty()) return absl::OkStatus();
  report::HtmlPage page(options.simulate ? "Splitting inferences: simulated from measured profiles"
                                         : "Splitting inferences: real processes over an emulated link",
                        report::RunRecord::OfThisProcess(SampleOf(rows)));
  page.AddParagraph(
      options.simulate
          ? "Latency, transmission and energy are modelled from measured operator times; see docs/split.md."
          : "The device is played by this machine, slowed down; energy is modelled; see docs/split.md.");
  AddSplitCharts(rows, page);
  if (std::ranges::any_of(rows, [](const SplitBenchRow& row) { return row.system == "intra-dp"; })) {
    page.AddHeading("Against the best of the others");
    page.AddTable(gains);
  }
  page.AddHeading("All");
  page.AddTable(table);
  page.AddHeading("Phases, power and energy");
  page.AddTable(phases);
  return WriteFile(options.html, page.Text());
}

}  // namespace

void AddBenchSplitCommand(CLI::App& app) {
  CLI::App* command = BenchCommand(app).add_subcommand(
      "split", "Systems that split an inference between device and server, by model and link.");
  command->footer(kBenchSplitFooter);
  auto options = std::make_shared<BenchSplitOptions>();
  std::vector<std::string> systems;
  for (const split::PlannerKind& kind : split::PlannerKinds()) systems.emplace_back(kind.name);
  command->add_flag("--simulate", options->simulate, "From stored profiles, without running anything");
  command
      ->add_option("--models", options->models,
                   "ONNX files, or with --simulate names of profiles (default: all), separated by commas")
      ->delimiter(',');
  CLI::Option* count = command->add_option("--inferences", options->inferences, "Of each system in each round");
  count->check(CLI::Range(1, 1'000'000))->capture_default_str();
  AddQuantity(command, "--duration", options->duration, ParseDuration, "Inferences for so long instead, like 30s")
      ->type_name("TIME")
      ->excludes(count);
  command->add_option("--rounds", options->rounds, "In which the systems take turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--slow-down", options->slow_down,
                   "How many times as long the device takes as this machine; default: as the stored profile of the "
                   "model's name says of robot and server, else 12.6")
      ->check(CLI::Range(1.0, 1e4))
      ->type_name("X");
  command
      ->add_option("--server-slow-down", options->server_slow_down,
                   "With --simulate: how many times as long the server takes as the measured one, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 1e4))
      ->default_str("1")
      ->needs("--simulate");
  command->add_flag("--shared-cores", options->shared_cores, "Let all processes use all cores");
  command->add_option("--server-device", options->server_device, "Where the server runs models: cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--scenarios", options->scenarios, "Which links, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"indoors", "outdoors", "fixed"}))
      ->default_str("indoors,outdoors,fixed");
  command->add_option("--systems", options->systems, "Which systems, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(systems))
      ->default_str("device-only,server-only,dsccs,spso-ga,intra-dp");
  command->add_option("--rates", options->megabits, "Mbit/s of the fixed links, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e6))
      ->default_str("5,10,20,30,50,80,100,150,200,300,400");
  command
      ->add_flag("--known-rates", options->known_rates,
                 "With --simulate: each system on traces also as if it knew the rates to come, and what that separates")
      ->needs("--simulate");
  command->add_option("--profiles", options->profiles, "Where the models' profiles are")->type_name("DIR");
  command->add_option("--traces", options->traces, "Where indoors_….csv and outdoors_….csv are")->type_name("DIR");
  command->add_option("--json", options->json, "Write the rows here")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and plots here")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print Markdown tables");
  command
      ->add_option("--encoding", options->encodings,
                   std::string(kEncodingHelp) +
                       "; several separated by commas. Real processes run on random inputs: "
                       "no u8, and with f16 the input travels as halves too")
      ->delimiter(',')
      ->check(CLI::IsMember(split::NamedEncodings()))
      ->default_str("f32");
  AddSplitOptions(command, *options);
  command->callback([options] {
    if (const absl::Status status = BenchSplit(*options); !status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
