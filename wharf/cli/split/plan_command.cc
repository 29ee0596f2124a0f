// wharf plan and wharf explain: split plans from profiles.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/progress_line.h"
#include "wharf/cli/split/attention_option.h"
#include "wharf/cli/split/gantt.h"
#include "wharf/cli/split/operator_table.h"
#include "wharf/cli/split/options.h"
#include "wharf/cli/split/plan_file.h"
#include "wharf/cli/split/plan_table.h"
#include "wharf/cli/split/profile_source.h"
#include "wharf/cli/split/shape_option.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/report/table.h"
#include "wharf/split/bounds/bound.h"
#include "wharf/split/simulation/simulate.h"

namespace wharf::cli {
namespace {

using report::Align;

struct PlanOptions : SplitOptions {
  split::PlanSource source;
  std::string planner_name = "intra-dp", objective = "latency", json;
  std::optional<double> bytes_per_ms;
  bool sweep = false, bound = true, every_cut = false;
  Nanoseconds deadline = std::chrono::seconds(1);
};

std::string Ms(double ms) { return std::isfinite(ms) ? fmt::format("{:.2f}", ms) : "never"; }

// One row a plan.
std::string PlansAsTable(const split::RowGraph& graph, const std::vector<split::StoredPlan>& plans) {
  report::Table table({{"MB/s", Align::kRight},
                       {"device only", Align::kRight},
                       {"server only", Align::kRight},
                       {"this plan ms", Align::kRight},
                       {"bound ms", Align::kRight},
                       {"device ms", Align::kRight},
                       {"server ms", Align::kRight},
                       {"link ms", Align::kRight},
                       {"up KB", Align::kRight},
                       {"down KB", Align::kRight},
                       {"J (modelled)", Align::kRight}});
  split::PlanEvaluator evaluator(graph);
  for (const split::StoredPlan& one : plans) {
    const split::Outcome outcome = evaluator.Evaluate(one.plan, one.link);
    const double device = evaluator.Evaluate(split::DeviceOnlyPlan(graph), one.link).latency_ms;
    const double server = evaluator.Evaluate(split::ServerOnlyPlan(graph), one.link).latency_ms;
    table.AddRow({fmt::format("{:g}", one.link.bytes_per_ms / 1e3), Ms(device), Ms(server), Ms(outcome.latency_ms),
                  one.lower_bound_ms > 0 ? Ms(one.lower_bound_ms) : "", Ms(outcome.busy_ms[split::kDevice]),
                  Ms(outcome.busy_ms[split::kServer]), Ms(outcome.link_ms),
                  fmt::format("{:.1f}", outcome.up_bytes / 1e3), fmt::format("{:.1f}", outcome.down_bytes / 1e3),
                  fmt::format("{:.3f}", outcome.Joules())});
  }
  return table.Text();
}

// What the bound takes for possible that is none.
std::string MixtureAsText(split::LowerBound& bound, const split::Link& link) {
  constexpr size_t kShown = 3;
  const std::vector<split::LowerBound::Partition> mixture = bound.Mixture(link);
  std::string text;
  for (size_t i = 0; i < std::min(kShown, mixture.size()); ++i) {
    const split::LowerBound::Partition& one = mixture[i];
    text += fmt::format("  {:.0f} % of: device {} ms, server {}, up {}, down {}\n", 100 * one.share, Ms(one.device_ms),
                        Ms(one.server_ms), Ms(one.up_ms), Ms(one.down_ms));
  }
  return text.empty() ? ""
                      : "the bound is that of a mixture of layer partitions, which no plan need come near:\n" + text;
}

absl::Status RunPlan(const PlanOptions& options) {
  if (!options.sweep && !options.bytes_per_ms) {
    throw CLI::ValidationError("plan",
                               options.every_cut ? "say --bandwidth 10MB/s" : "say --bandwidth 10MB/s, or --sweep");
  }
  WHARF_ASSIGN_OR_RETURN(split::Profile profile, LoadProfile(options.source));
  profile = options.Adapted(std::move(profile));
  const split::RowGraph graph(profile);
  if (options.every_cut) {
    split::Link link = options.Link();
    link.bytes_per_ms = *options.bytes_per_ms;
    std::fputs(CutsAsTable(profile, graph, link).Text().c_str(), stdout);
    return absl::OkStatus();
  }
  ProgressLine progress;
  split::PlannerOptions planner_options = options.planner;
  planner_options.go_on = [&](double share) {
    progress.Set("planning (" + options.planner_name + ")", share);
    return true;
  };
  WHARF_ASSIGN_OR_RETURN(const auto planner, split::MakePlanner(options.planner_name, graph, planner_options));
  split::StoredPlan stored;
  stored.model = profile.model;
  stored.planner = options.planner_name;
  stored.model_hash = profile.model_hash;
  stored.operators = split::PlannedOperatorsOf(profile);
  stored.source = options.source;
  stored.slice_cost = profile.slice_cost;
  stored.encoding = options.encoding;
  stored.link = options.Link();
  if (options.objective == "energy") stored.objective = split::Objective::Energy(Milliseconds(options.deadline));
  const std::vector<double> rates = options.sweep ? split::PlanningRates() : std::vector<double>{*options.bytes_per_ms};
  stored.link.bytes_per_ms = rates.front();
  std::vector<split::Plan> made;
  if (options.sweep) {
    made = planner->Sweep(stored.link, rates, stored.objective);
  } else {
    made.push_back(planner->MakePlan(stored.link, stored.objective));
  }
  progress.Set("computing lower bounds", -1);
  split::LowerBound bound(graph);
  std::vector<split::StoredPlan> plans;
  for (split::Plan& plan : made) {
    stored.link.bytes_per_ms = rates[plans.size()];
    if (options.bound) {
      stored.lower_bound_ms = options.sweep ? bound.Quick(stored.link) : bound.Latency(stored.link, 200);
    }
    stored.plan = std::move(plan);
    plans.push_back(stored);
  }
  progress.Clear();
  std::fputs(PlansAsTable(graph, plans).c_str(), stdout);
  if (options.bound && !options.sweep) std::fputs(MixtureAsText(bound, stored.link).c_str(), stdout);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, split::PlansAsJson(plans));
}

struct ExplainOptions {
  std::string plan, svg, operators_of;
  split::PlanSource source;
  std::optional<double> bytes_per_ms;
};

// The only plan, or the one for the bandwidth asked for.
absl::StatusOr<split::StoredPlan> Pick(const std::vector<split::StoredPlan>& plans,
                                       std::optional<double> bytes_per_ms) {
  if (!bytes_per_ms && plans.size() == 1) return plans.front();
  if (!bytes_per_ms) return InvalidArgument("{} plans are in there: say which with --bandwidth", plans.size());
  for (const split::StoredPlan& plan : plans) {
    if (std::abs(plan.link.bytes_per_ms - *bytes_per_ms) < 1e-6) return plan;
  }
  return NotFound("no plan in there is for {:g} MB/s", *bytes_per_ms / 1e3);
}

// As the file has them: nothing folded or left out but constants.
absl::Status ExplainOperators(const std::string& path, const std::string& shape) {
  graph::ImportOptions options;
  options.simplify = false;
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  const auto onnx = graph::WithInputShape(std::as_bytes(std::span(file)), shape);
  if (!onnx.ok()) return InvalidArgument("{}: {}", path, Message(onnx.status()));
  const auto graph = graph::ImportOnnx(*onnx, options);
  if (!graph.ok()) return MakeStatus(graph.status().code(), "{}: {}", path, Message(graph.status()));
  WHARF_ASSIGN_OR_RETURN(const std::string text, ModelOperatorsAsText(*graph));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status RunExplain(const ExplainOptions& options) {
  if (!options.operators_of.empty()) return ExplainOperators(options.operators_of, options.source.shape);
  if (options.plan.empty()) throw CLI::ValidationError("explain", "say which plan, or --operators MODEL.onnx");
  WHARF_ASSIGN_OR_RETURN(const std::vector<split::StoredPlan> plans, LoadPlans(options.plan));
  WHARF_ASSIGN_OR_RETURN(const split::StoredPlan stored, Pick(plans, options.bytes_per_ms));
  if (!options.source.Given()) WHARF_RETURN_IF_ERROR(CheckRegularFiles(stored.source));
  WHARF_ASSIGN_OR_RETURN(split::Profile profile, LoadProfile(options.source.Given() ? options.source : stored.source));
  profile.slice_cost = stored.slice_cost;
  profile = split::InNamedEncoding(profile, stored.encoding);
  const split::RowGraph model(profile);
  absl::Status fits = split::CheckFits(stored, split::PlannedOperatorsOf(profile), profile.model_hash);
  if (fits.ok()) fits = split::CheckPlan(model, stored.plan);
  if (!fits.ok()) {
    return InvalidArgument("{} is no plan for {}: {}", options.plan, profile.model, Message(fits));
  }
  const split::RowGraph graph = split::WithLayout(model, stored.plan.layout);
  std::vector<split::Event> events;
  const split::Outcome outcome = split::Evaluator(graph).Record(stored.plan, stored.link, events);
  const std::string title = fmt::format("{}, {} at {:g} MB/s: {} ms", stored.model, stored.planner,
                                        stored.link.bytes_per_ms / 1e3, Ms(outcome.latency_ms));
  std::printf("%s\n\n%s\n", title.c_str(), PlanAsTable(profile, graph, stored.plan).c_str());
  std::printf("device %s ms, server %s ms, link in use %s ms (%.0f %%), %d messages, %.3f J modelled on the device\n",
              Ms(outcome.busy_ms[split::kDevice]).c_str(), Ms(outcome.busy_ms[split::kServer]).c_str(),
              Ms(outcome.link_ms).c_str(), 100 * outcome.TransmissionShare(), outcome.messages, outcome.Joules());
  if (stored.lower_bound_ms > 0) std::printf("no plan takes less than %s ms\n", Ms(stored.lower_bound_ms).c_str());
  if (options.svg.empty()) return absl::OkStatus();
  return WriteFile(options.svg, TimelineAsSvg(profile, graph, title, outcome, events));
}

void Done(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}

void AddProfileSource(CLI::App* command, split::PlanSource& source) {
  command->add_option("--profile", source.csv, "A stored profile: operators and times (data/profiles/README.md)")
      ->type_name("CSV");
  command->add_option("--model", source.model, "Instead: a model, with what two machines measured of it")
      ->type_name("MODEL.onnx");
  command->add_option("--device-profile", source.device_profile, "What wharf profile --json wrote on the device")
      ->type_name("JSON");
  command->add_option("--server-profile", source.server_profile, "And on the server")->type_name("JSON");
  AddShape(command, source.shape);
  AddSplitAttention(command, source.split_attention);
}

void AddPlan(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plan", "Plan how device and server share an inference, from measured times.");
  command->footer(
      "\nExamples: wharf plan --profile data/profiles/agrnav.csv --bandwidth 10MB/s --json plan.json\n"
      "          wharf plan --model resnet18.onnx --device-profile device.json --server-profile server.json --sweep\n"
      "\"bound\": no plan whatsoever is faster (docs/split.md). Times are modelled from the profile.");
  auto options = std::make_shared<PlanOptions>();
  AddProfileSource(command, options->source);
  AddQuantity(command, "--bandwidth", options->bytes_per_ms, ParseByteRate, "Of each direction: 10MB/s, 93mbit")
      ->type_name("RATE");
  CLI::Option* sweep = command->add_flag("--sweep", options->sweep, "0 to 50 MB/s in steps of 1 MB/s instead");
  CLI::Option* every_cut = command->add_flag(
      "--every-cut", options->every_cut,
      "Plan nothing: print what every cut takes, the device computing up to an operator and the server the others");
  every_cut->excludes(sweep);
  std::vector<std::string> planners;
  for (const split::PlannerKind& kind : split::PlannerKinds()) planners.emplace_back(kind.name);
  command->add_option("--planner,--mode", options->planner_name, "Who plans")
      ->check(CLI::IsMember(planners))
      ->capture_default_str();
  command->add_option("--objective", options->objective, "Least latency, or least energy under --deadline")
      ->check(CLI::IsMember({"latency", "energy"}))
      ->capture_default_str();
  AddDuration(command, "--deadline", options->deadline, "For --objective energy");
  command->add_flag("!--no-bound", options->bound, "Leave out the lower bound");
  command->add_option("--json", options->json, "Write the plans here, for wharf explain and wharf split --plan")
      ->type_name("FILE")
      ->excludes(every_cut);
  command->add_option("--encoding", options->encoding, kEncodingHelp)
      ->check(CLI::IsMember(split::NamedEncodings()))
      ->capture_default_str();
  AddSplitOptions(command, *options);
  command->callback([options] { Done(RunPlan(*options)); });
}

void AddExplain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Show what a split plan does: who computes what, and when.");
  command->footer(
      "\nExamples: wharf explain plan.json --svg timeline.svg\n          wharf explain --operators resnet18.onnx");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("plan", options->plan, "What wharf plan --json wrote")->type_name("PLAN.json");
  AddProfileSource(command, options->source);  // if it is not where the plan says
  AddQuantity(command, "--bandwidth", options->bytes_per_ms, ParseByteRate, "Which one, if there are several plans")
      ->type_name("RATE");
  command
      ->add_option("--operators", options->operators_of,
                   "Instead: how many operators of a model are local, how many global")
      ->type_name("MODEL.onnx");
  command->add_option("--svg", options->svg, "Draw device, uplink, server and downlink over time")->type_name("FILE");
  command->callback([options] { Done(RunExplain(*options)); });
}

}  // namespace

void AddPlanCommands(CLI::App& app) {
  AddPlan(app);
  AddExplain(app);
}

}  // namespace wharf::cli
