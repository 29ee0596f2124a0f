// wharf pipeline simulate: serve a plan in virtual time.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/pipeline/case.h"
#include "wharf/cli/pipeline/simulation_report.h"

namespace wharf::cli {
namespace {

constexpr const char* kPipelineSimulateFooter = R"(
The scheduler is the one that serves for real, on a virtual clock; GPUs take the plan's times, and transfers share their
hosts' links. Load 1 is what the plan says it serves, divided among the models by their weights.

--trace poisson | bursty (calm and bursts of 1.5 times the mean rate, half a second long on average) | FILE: a CSV table
with the header time_s or time_s,model, repeated and scaled in time to the load.

Example: wharf pipeline simulate plan.json --load 0.95 --trace bursty --seconds 60 --timeline timeline.svg)";

// A simulation keeps every arrival in memory.
constexpr double kMostRequests = 1e8;

struct SimulateOptions : SimulationSetup {
  SimulateOptions() {
    trace = "poisson";
    scheduler = "ours";
    load = 0.9;
    seconds = 30;
    seed = 1;
  }
  std::string variation = "lognormal", json, requests, timeline;
  double guard = 0;
};

absl::StatusOr<std::vector<pipeline::Arrival>> MakeArrivals(const SimulateOptions& options,
                                                            const pipeline::Deployment& deployment) {
  std::vector<double> rates;
  std::vector<std::string> names;
  double total = 0;
  for (const pipeline::DeployedModel& model : deployment.models) {
    rates.push_back(options.load * model.planned_rate);
    names.push_back(model.name);
    total += rates.back();
  }
  if (total * options.seconds > kMostRequests) {
    return InvalidArgument("{:.3g} requests are too many to simulate: at most {:.0g}", total * options.seconds,
                           kMostRequests);
  }
  if (options.trace == "poisson") return pipeline::PoissonArrivals(rates, options.seconds, options.seed);
  if (options.trace == "bursty") return pipeline::BurstyArrivals(rates, {}, options.seconds, options.seed);
  WHARF_ASSIGN_OR_RETURN(const std::string csv, ReadFile(options.trace));
  const auto trace = pipeline::ParseArrivalTrace(csv, names);
  if (!trace.ok()) return InvalidArgument("{}: {}", options.trace, Message(trace.status()));
  return pipeline::TraceArrivals(*trace, rates, options.seconds, options.seed);
}

// From the middle of the simulation, three of the longest SLOs.
std::string Timeline(const SimulateOptions& options, const pipeline::Deployment& deployment,
                     const pipeline::SimulationResult& result) {
  Nanoseconds slo(1);
  for (const pipeline::DeployedModel& model : deployment.models) slo = std::max(slo, model.slo);
  const TimePoint from{FromSeconds(options.seconds / 2)};
  return SimulationAsSvg(options, deployment, result, from, from + 3 * slo);
}

absl::Status RunSimulate(const SimulateOptions& options) {
  for (const std::string& path : {options.json, options.requests, options.timeline}) {
    if (!path.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(path));
  }
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.plan));
  const auto plan = pipeline::ParsePlan(text);
  if (!plan.ok()) return InvalidArgument("{}: {}", options.plan, Message(plan.status()));
  WHARF_ASSIGN_OR_RETURN(const PipelineAlgorithm algorithm, ParsePipelineAlgorithm(options.scheduler));
  if (algorithm.mode != pipeline::Mode::kOurs) return InvalidArgument("--scheduler is ours or reactive");
  WHARF_ASSIGN_OR_RETURN(const pipeline::Deployment deployment, pipeline::Deploy(*plan, algorithm.placement));
  WHARF_ASSIGN_OR_RETURN(const std::vector<pipeline::Arrival> arrivals, MakeArrivals(options, deployment));
  pipeline::SimulationOptions simulation;
  simulation.scheduler = algorithm.scheduler;
  simulation.scheduling.reactive = algorithm.rules;
  simulation.scheduling.guard = options.guard;
  simulation.variation.kind =
      options.variation == "gaussian" ? pipeline::VariationKind::kGaussian : pipeline::VariationKind::kLognormal;
  simulation.variation.compute_cv = options.compute_cv;
  simulation.variation.transfer_cv = options.transfer_cv;
  simulation.seed = options.seed;
  simulation.seconds = options.seconds;
  simulation.keep_records = !options.requests.empty();
  simulation.keep_timeline = !options.timeline.empty();
  const pipeline::SimulationResult result = pipeline::Simulate(deployment, arrivals, simulation);
  std::fputs(SimulationAsText(options, deployment, result).c_str(), stdout);
  if (!options.json.empty())
    WHARF_RETURN_IF_ERROR(WriteFile(options.json, SimulationAsJson(options, deployment, result)));
  if (!options.requests.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.requests, RequestsAsCsv(deployment, result)));
  return options.timeline.empty() ? absl::OkStatus()
                                  : WriteFile(options.timeline, Timeline(options, deployment, result));
}

}  // namespace

void AddPipelineSimulateCommand(CLI::App& app) {
  CLI::App* command = PipelineCommand(app).add_subcommand(
      "simulate", "Serve a plan in virtual time: SLO attainment, utilisation, where time went.");
  command->footer(kPipelineSimulateFooter);
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("plan", options->plan, "What wharf pipeline plan --json wrote")
      ->type_name("PLAN.json")
      ->required();
  command->add_option("--load", options->load, "Of what the plan serves")
      ->check(CLI::Range(1e-6, 100.0))
      ->capture_default_str();
  command->add_option("--trace", options->trace, "When requests come")
      ->type_name("poisson|bursty|FILE")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "How long requests come")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of everything random")->capture_default_str();
  command
      ->add_option("--scheduler", options->scheduler,
                   "ours reserves; reactive has a queue before each pool; +VARIANT as wharf bench pipeline has them")
      ->capture_default_str();
  command->add_option("--compute-cv", options->compute_cv, "Computing varies by this, standard deviation over mean")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command->add_option("--transfer-cv", options->transfer_cv, "And so do transfers")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command->add_option("--variation", options->variation, "How they vary")
      ->check(CLI::IsMember({"lognormal", "gaussian"}))
      ->capture_default_str();
  command->add_option("--guard", options->guard, "Share of the SLO that batches are to be done before their deadline")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write the result here")->type_name("FILE");
  command->add_option("--requests", options->requests, "Write a line a request here")->type_name("FILE.csv");
  command->add_option("--timeline", options->timeline, "Draw what the GPUs do, from the middle on")
      ->type_name("FILE.svg");
  command->callback([options] {
    if (const absl::Status status = RunSimulate(*options); !status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
