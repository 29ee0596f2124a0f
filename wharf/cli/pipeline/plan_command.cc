// wharf pipeline plan: pipelines for models on a cluster, or for published cases.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/pipeline/tables.h"
#include "wharf/pipeline/checker.h"
#include "wharf/pipeline/planner/model_list.h"
#include "wharf/pipeline/planner/planner.h"
#include "wharf/pipeline/planner/reference.h"

namespace wharf::cli {
namespace {

constexpr const char* kPipelinePlanFooter = R"(
Examples: wharf pipeline plan --cluster hc1-large --models data/pipeline/g1.yaml --json plan.json
          wharf pipeline plan --cluster lab.yaml --models models.yaml --objective cost
          wharf pipeline plan --reference data/pipeline/reference_plans.csv --plans FOLDER
--cluster takes a file (docs/pipeline.md) or one of the thesis's: hc1-large … hc4-large, hc1-small … hc4-small.
Modes: ours; np: no model is cut; dart-r: one fast and one slow GPU each. Throughputs are what measured block times make.
--own-batches --undivided is the thesis's basic program (4.A): no batch size is unified, no GPU is divided. What it plans
is served in batches that are formed anew at each stage (wharf pipeline simulate --scheduler reactive).)";

struct PipelinePlanOptions {
  std::string cluster, models, reference, plans, json, mode = "ours", objective = "throughput";
  std::optional<int> partitions;
  bool whole_gpus = false, own_batches = false, undivided = false, slack = false, markdown = false;

  pipeline::Mode Mode() const {
    if (mode == "np") return pipeline::Mode::kNoPartitioning;
    return mode == "dart-r" ? pipeline::Mode::kDartR : pipeline::Mode::kOurs;
  }
  void SetRules(pipeline::CandidateRules& rules) const {
    if (partitions.has_value()) rules.max_partitions = *partitions;
    rules.share_gpus = !whole_gpus;
    rules.unify_batches = !own_batches;
    rules.divide_gpus = !undivided;
  }
};

std::string FolderOf(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// The message, with the file it is about.
absl::Status In(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, Message(status)));
}

absl::StatusOr<pipeline::Cluster> LoadCluster(const std::string& name) {
  const auto names = pipeline::BuiltInClusterNames();
  if (std::ranges::find(names, name) != names.end()) return pipeline::BuiltInCluster(name);
  const auto text = ReadFile(name);
  if (absl::IsNotFound(text.status())) {
    return NotFound("{} is neither a file nor a built-in cluster ({})", name, fmt::join(names, ", "));
  }
  WHARF_RETURN_IF_ERROR(text.status());
  auto cluster = pipeline::ParseCluster(*text);
  return cluster.ok() ? cluster : In(name, cluster.status());
}

absl::Status RunPipelinePlan(const PipelinePlanOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const pipeline::Cluster cluster, LoadCluster(options.cluster));
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.models));
  const auto list = pipeline::ParseModelList(text);
  if (!list.ok()) return In(options.models, list.status());
  const auto folder = std::filesystem::path(FolderOf(options.models)) / list->profiles;
  WHARF_ASSIGN_OR_RETURN(const auto profiles, pipeline::LoadModelProfiles(folder.string()));
  WHARF_ASSIGN_OR_RETURN(const auto demands, pipeline::MakeDemands(*list, profiles));
  pipeline::PlannerOptions planner;
  planner.rules.mode = options.Mode();
  options.SetRules(planner.rules);
  planner.spend_slack = options.slack;
  planner.objective = options.objective == "cost" ? pipeline::Objective::kCost : pipeline::Objective::kThroughput;
  WHARF_ASSIGN_OR_RETURN(const pipeline::Plan plan, pipeline::MakePlan(cluster, demands, planner));
  WHARF_RETURN_IF_ERROR(pipeline::CheckPlan(plan, profiles));
  std::fputs(PlanAsText(plan).c_str(), stdout);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, ToJson(plan));
}

// Every published case under its own rules; with --partitions, those that may cut models may cut them as often.
absl::Status RunReference(const PipelinePlanOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const auto profiles, pipeline::LoadModelProfiles(FolderOf(options.reference)));
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.reference));
  const auto cases = pipeline::ParseReferenceCases(text, profiles);
  if (!cases.ok()) return In(options.reference, cases.status());
  std::vector<ComparedPlan> compared;
  for (const pipeline::ReferenceCase& one : *cases) {
    pipeline::PlannerOptions planner;
    planner.rules = one.rules;
    options.SetRules(planner.rules);
    WHARF_ASSIGN_OR_RETURN(pipeline::Plan plan, pipeline::MakePlan(one.cluster, one.demands, planner));
    WHARF_RETURN_IF_ERROR(pipeline::CheckPlan(plan, profiles));
    if (!options.plans.empty()) {
      const std::string name = fmt::format("{}-{}-{}.json", compared.size() + 1, one.algorithm, one.cluster.name);
      WHARF_RETURN_IF_ERROR(WriteFile((std::filesystem::path(options.plans) / name).string(), ToJson(plan)));
    }
    compared.push_back({one.algorithm, one.published, std::move(plan)});
  }
  std::fputs(ComparisonAsText(compared, options.markdown).c_str(), stdout);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, ComparisonAsJson(compared));
}

}  // namespace

void AddPipelinePlanCommand(CLI::App& app) {
  CLI::App* command =
      PipelineCommand(app).add_subcommand("plan", "Plan which blocks of which models run on which pools of GPUs.");
  command->footer(kPipelinePlanFooter);
  auto options = std::make_shared<PipelinePlanOptions>();
  CLI::Option* reference =
      command
          ->add_option("--reference", options->reference,
                       "Instead: plan the cases of a table of published plans, beside their profiles, and compare")
          ->type_name("CSV");
  CLI::Option* cluster = command->add_option("--cluster", options->cluster, "GPUs, hosts and links")
                             ->type_name("FILE|NAME")
                             ->excludes(reference);
  CLI::Option* models = command->add_option("--models", options->models, "Models, SLOs and weights")
                            ->type_name("FILE")
                            ->excludes(reference);
  cluster->needs(models);
  models->needs(cluster);
  command->add_option("--mode", options->mode, "How models may be cut")
      ->check(CLI::IsMember({"ours", "np", "dart-r"}))
      ->capture_default_str()
      ->excludes(reference);
  command->add_option("--objective", options->objective, "Most throughput, or least cost of the weights as requests/s")
      ->check(CLI::IsMember({"throughput", "cost"}))
      ->capture_default_str()
      ->excludes(reference);
  command->add_option("--partitions", options->partitions, "Stages of a pipeline at most (2, or as published)")
      ->check(CLI::Range(1, 4));
  command->add_flag(
      "--whole-gpus", options->whole_gpus,
      "A stage has whole GPUs; otherwise stages of a model may share one, each having virtual GPUs of it");
  command->add_flag("--own-batches", options->own_batches,
                    "Each stage has a batch size of its own; otherwise all of a pipeline have the same");
  command->add_flag("--undivided", options->undivided, "No GPU is divided into virtual ones");
  command
      ->add_flag(
          "--slack", options->slack,
          "Give idle GPUs to the busiest pools, and divide GPUs no more than throughput needs: batches end sooner")
      ->excludes(reference);
  command->add_flag("--markdown", options->markdown, "With --reference: a Markdown table")->needs(reference);
  command
      ->add_option("--plans", options->plans,
                   "With --reference: write every plan here, by number, algorithm and cluster")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->needs(reference);
  command->add_option("--json", options->json, "Write the plan (or the comparison) here")->type_name("FILE");
  command->callback([options] {
    const bool planning = !options->cluster.empty() && !options->models.empty();
    if (!planning && options->reference.empty()) throw CLI::RequiredError("--cluster and --models, or --reference,");
    const absl::Status status = planning ? RunPipelinePlan(*options) : RunReference(*options);
    if (!status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
