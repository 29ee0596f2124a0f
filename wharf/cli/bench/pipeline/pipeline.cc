// wharf bench pipeline: the thesis's comparison of plans and schedulers on pools of fast and slow GPUs, simulated.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/bench/pipeline/real.h"
#include "wharf/cli/bench/pipeline/report.h"
#include "wharf/cli/bench/pipeline/times.h"
#include "wharf/cli/bench/pipeline/unification.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/common/shared_data.h"
#include "wharf/pipeline/planner/reference.h"

namespace wharf::cli {
namespace {

constexpr const char* kBenchPipelineFooter = R"(
Nothing runs: the measured block times of 18 models on four classes of GPUs (data/pipeline) drive the planner, and the
scheduler serves its plans in virtual time. Throughputs and utilisation are modelled by that.

Algorithms  np (whole models, no partitioning), dart-r (pairs of GPUs, replicated), reactive (our plan, a queue before
            each pool), ours (our plan, reservations). Load 1 is what our plan of the same case serves; a load factor is
            the largest at which 99 % of a model's requests are answered on time, the mean over the models of a group.
Groups      1 to 3 are the published ones whose plans are in data/pipeline/reference_plans.csv; of the others only 4,
            EfficientNet, EncNet and RTMDet, is named in the thesis (as G1), the last two are ours.
Variants    What the thesis leaves open, by +VARIANT. dart-r+uncut-sharing: each model keeps the fast GPUs that np gives it, as
            in the published plans. Any +packed: a plan's GPUs on hosts in order, not so that traffic is spread. ours,
            reactive: +whole-gpus, +own-batches, +undivided, +slack, as of wharf pipeline plan; ours serves own batches in the
            smallest of their pipeline, which stay together. reactive:
            +in-order, +round-robin: which GPU of a pool has the next batch, not the one free first; +idle-only: GPUs have
            one batch at a time, moving and computing do not overlap; +at-once: batches go off to GPUs however many wait
            there; +eager: no waiting for full batches. For example --algorithms reactive+in-order+packed,ours+packed
--alone: instead of groups, each of the 18 models alone on each cluster, as the thesis's real clusters served them.
--sensitivity: instead, each of the 18 models alone on variants of HC1-small: SLO scales, GPU ratios, margins.
--unification: instead, plans only: what one batch size for all stages of a pipeline costs, and virtual GPUs give back.
--times: instead, what the data says of whole models and their blocks by class of GPU, at batches of 4.
--real MODEL.onnx: instead, measures the model, plans it for a host of a fast GPU and two of two slow ones, starts workers
            that play them on this machine, etcd and the scheduler, and sends the same requests to them and to the
            simulator. Workers take the plan's times, of which little is computing: they do not compete for cores.
            --faults: then etcd is restarted, and a host killed, at half load.)";

// By distinct parts of their names.
const std::vector<std::vector<std::string>> kGroups = {
    {"apcnet", "atss", "gcnet"},      {"colorization", "googlenet", "repvgg"},
    {"fcn", "gfl", "wide_resnet"},    {"efficientnet", "encnet", "rtmdet"},
    {"centernet", "convnext", "dnl"}, {"fsaf", "nonlocal", "efficientdet"}};
const std::vector<double> kWeights = {0.3, 0.33, 0.37};  // the published plans'
constexpr double kSloScale = 5, kMargin = 0.4;           // of one request on an L4, and of the SLO (thesis 4.7.1)
constexpr int kTimesBatch = 4;                           // thesis, Figure 4.2
constexpr int kCurveSteps = 5;                           // of 0.01, from one load of a curve to the next

struct BenchPipelineOptions {
  bool quick = false, sensitivity = false, alone = false, times = false, curves = false, markdown = false,
       unification = false;
  int seeds = 2, max_partitions = 2;
  double seconds = 30, compute_cv = 0;
  std::string data, json, html;
  RealPipelineOptions real;
  std::vector<size_t> groups;  // numbers from 1; none: all
  std::vector<std::string> clusters = {"hc1-large", "hc2-large", "hc3-large", "hc4-large"};
  std::vector<std::string> algorithms = {"np", "dart-r", "reactive", "ours"};
};

// What the cases are made of.
class CaseMaker {
 public:
  static absl::StatusOr<CaseMaker> Load(const BenchPipelineOptions& options) {
    CaseMaker maker(options);
    std::string folder = options.data;
    if (folder.empty()) {
      WHARF_ASSIGN_OR_RETURN(folder, FindSharedData("pipeline", "--data"));
    }
    WHARF_ASSIGN_OR_RETURN(maker.profiles_, pipeline::LoadModelProfiles(folder));
    WHARF_ASSIGN_OR_RETURN(const std::string table, ReadFile(folder + "/reference_plans.csv"));
    WHARF_ASSIGN_OR_RETURN(maker.published_, pipeline::ParseReferenceCases(table, maker.profiles_));
    return maker;
  }

  absl::StatusOr<std::vector<PipelineCase>> Groups() const {
    std::vector<PipelineCase> cases;
    for (const std::string& name : options_.clusters) {
      WHARF_ASSIGN_OR_RETURN(const pipeline::Cluster cluster, pipeline::BuiltInCluster(name));
      for (size_t i = 0; i < kGroups.size(); ++i) {
        if (!options_.groups.empty() && std::ranges::find(options_.groups, i + 1) == options_.groups.end()) continue;
        WHARF_ASSIGN_OR_RETURN(std::vector<pipeline::Demand> demands, Group(cluster, kGroups[i]));
        cases.push_back({"", cluster, std::move(demands), options_.max_partitions});
        if (options_.quick) break;
      }
    }
    return cases;
  }

  // Figure 4.8.
  absl::StatusOr<std::vector<PipelineCase>> Alone() const {
    std::vector<PipelineCase> cases;
    for (const std::string& name : options_.clusters) {
      WHARF_ASSIGN_OR_RETURN(const pipeline::Cluster cluster, pipeline::BuiltInCluster(name));
      for (const pipeline::ModelProfile& profile : profiles_) {
        cases.push_back({"", cluster, {DemandOf(profile, 1, kSloScale, kMargin)}, options_.max_partitions});
        if (options_.quick) break;
      }
    }
    return cases;
  }

  const std::vector<pipeline::ModelProfile>& Profiles() const { return profiles_; }

  // Figure 4.12, a to c: each model alone.
  absl::StatusOr<std::vector<PipelineCase>> Sensitivity() const {
    WHARF_ASSIGN_OR_RETURN(const pipeline::Cluster base, pipeline::BuiltInCluster("hc1-small"));
    std::vector<PipelineCase> cases;
    const auto add = [&](const std::string& varied, const pipeline::Cluster& cluster, double scale, double margin) {
      for (const pipeline::ModelProfile& profile : profiles_) {
        cases.push_back({varied, cluster, {DemandOf(profile, 1, scale, margin)}, options_.max_partitions});
        if (options_.quick) break;
      }
    };
    for (const double scale : {2.0, 4.0, 5.0, 6.0, 8.0, 10.0})
      add(fmt::format("SLO scale {:g}", scale), base, scale, kMargin);
    for (const int fast : {2, 4, 8, 12})
      add(fmt::format("GPUs {}:{}", fast, 16 - fast), WithRatio(base, fast), kSloScale, kMargin);
    for (const double margin : {0.0, 0.2, 0.4, 0.6})
      add(fmt::format("margin {:g} %", 100 * margin), base, kSloScale, margin);
    return cases;
  }

 private:
  explicit CaseMaker(const BenchPipelineOptions& options) : options_(options) {}

  // As many GPUs, `fast` of them of the first class, in hosts of one.
  static pipeline::Cluster WithRatio(pipeline::Cluster cluster, int fast) {
    const int all = cluster.Gpus(0) + cluster.Gpus(1);
    const double bits_per_s = cluster.hosts.front().link_bits_per_s;
    cluster.hosts = {{0, fast, 1, bits_per_s}, {1, all - fast, 1, bits_per_s}};
    return cluster;
  }

  // One request on a whole L4: as published of half of the models. Of the others, the sum of their blocks' times, less
  // what whole models take less than that on average.
  double WholeUs(const pipeline::ModelProfile& profile) const {
    double published_us = 0, blocks_us = 0;
    for (const pipeline::ReferenceCase& one : published_) {
      for (const pipeline::Demand& demand : one.demands) {
        if (demand.profile == &profile) return demand.slo_us / kSloScale;
        published_us += demand.slo_us / kSloScale;
        blocks_us += BlocksUs(*demand.profile);
      }
    }
    return BlocksUs(profile) * (blocks_us > 0 ? published_us / blocks_us : 1);
  }

  static double BlocksUs(const pipeline::ModelProfile& profile) {
    const pipeline::VgpuProfile* whole = profile.Find("L4", 1);
    return whole == nullptr ? 0 : whole->LatencyUs(1, 0, profile.Blocks());
  }

  pipeline::Demand DemandOf(const pipeline::ModelProfile& profile, double weight, double scale, double margin) const {
    const double slo_us = scale * WholeUs(profile);
    return {&profile, slo_us, margin * slo_us, weight, std::nullopt};
  }

  // With the published SLOs and rates if the group is a published one.
  absl::StatusOr<std::vector<pipeline::Demand>> Group(const pipeline::Cluster& cluster,
                                                      const std::vector<std::string>& parts) const {
    std::vector<pipeline::Demand> demands;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const pipeline::ModelProfile& profile) {
        return profile.model.find(parts[i]) != std::string::npos;
      });
      if (found == profiles_.end()) return NotFound("the data has no model \"{}\"", parts[i]);
      demands.push_back(DemandOf(*found, kWeights[i], kSloScale, kMargin));
    }
    const auto is_this = [&](const pipeline::ReferenceCase& one) {
      return one.algorithm == "v4" && one.cluster.classes == cluster.classes && one.demands.size() == demands.size() &&
             std::equal(demands.begin(), demands.end(), one.demands.begin(),
                        [](const auto& a, const auto& b) { return a.profile == b.profile; });
    };
    const auto published = std::find_if(published_.begin(), published_.end(), is_this);
    return published == published_.end() ? demands : published->demands;
  }

  const BenchPipelineOptions& options_;
  std::vector<pipeline::ModelProfile> profiles_;
  std::vector<pipeline::ReferenceCase> published_;  // their demands point into profiles_
};

absl::Status Write(const BenchPipelineOptions& options, const std::vector<PipelineBenchRow>& rows) {
  const report::Table all = PipelineRowsAsTable(rows), means = PipelineMeansAsTable(rows);
  for (const report::Table* table : {&all, &means}) {
    if (table == &all && options.sensitivity) continue;
    std::printf("%s\n", (options.markdown ? table->Markdown() : table->Text()).c_str());
  }
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, PipelineRowsAsJson(rows)));
  if (options.html.empty()) return absl::OkStatus();
  report::HtmlPage page(
      "PipelineServer on pools of fast and slow GPUs: simulated from measured block times",
      report::RunRecord::OfThisProcess(fmt::format("{} plans, each simulated for {:g} s at every load", rows.size(),
                                                   options.quick ? 10 : options.seconds)));
  page.AddParagraph(
      "Throughputs, load factors and utilisation are modelled from measured block times; see docs/pipeline.md.");
  AddPipelineCharts(rows, page);
  page.AddHeading("Means over the groups of models");
  page.AddTable(means);
  page.AddHeading("All");
  page.AddTable(all);
  return WriteFile(options.html, page.Text());
}

absl::Status BenchReal(const BenchPipelineOptions& options) {
  RealPipelineOptions real = options.real;
  real.seconds = options.seconds;
  WHARF_ASSIGN_OR_RETURN(const RealPipelineResult result, RunRealPipeline(real));
  std::printf("%s\n\n", result.plan.c_str());
  for (const report::Table& table : {RealRowsAsTable(result), FaultRowsAsTable(result)}) {
    std::printf("%s\n", (options.markdown ? table.Markdown() : table.Text()).c_str());
  }
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, RealPipelineAsJson(result));
}

// Thesis 4.5.4.
absl::Status BenchUnification(const BenchPipelineOptions& options, const std::vector<PipelineCase>& cases) {
  std::vector<UnificationRow> rows;
  Progress progress(cases.size());
  for (const PipelineCase& one : cases) {
    progress.Step(fmt::format("{}, {}", one.cluster.name, one.demands.front().profile->model));
    WHARF_ASSIGN_OR_RETURN(rows.emplace_back(), PlanUnification(one));
  }
  for (const report::Table& table : {UnificationAsTable(rows), UnificationMeansAsTable(rows)}) {
    std::printf("%s\n", (options.markdown ? table.Markdown() : table.Text()).c_str());
  }
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, UnificationAsJson(rows));
}

absl::StatusOr<std::vector<PipelineCase>> CasesOf(const BenchPipelineOptions& options, const CaseMaker& maker) {
  if (options.sensitivity) return maker.Sensitivity();
  return options.alone ? maker.Alone() : maker.Groups();
}

absl::Status BenchPipeline(const BenchPipelineOptions& options) {
  for (const std::string& path : {options.json, options.html}) {
    if (!path.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(path));
  }
  if (!options.real.model.empty()) return BenchReal(options);
  std::vector<PipelineAlgorithm> algorithms;
  for (const std::string& name : options.algorithms) {
    WHARF_ASSIGN_OR_RETURN(algorithms.emplace_back(), ParsePipelineAlgorithm(name));
  }
  WHARF_ASSIGN_OR_RETURN(const CaseMaker maker, CaseMaker::Load(options));
  if (options.times) {
    for (const report::Table& table :
         {ModelTimesAsTable(maker.Profiles(), kTimesBatch), BlockRatiosAsTable(maker.Profiles(), kTimesBatch)}) {
      std::printf("%s\n", (options.markdown ? table.Markdown() : table.Text()).c_str());
    }
    return absl::OkStatus();
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<PipelineCase> cases, CasesOf(options, maker));
  if (options.unification) return BenchUnification(options, cases);
  pipeline::LoadSearch search;
  search.seconds = options.quick ? 10 : options.seconds;
  search.seeds = options.quick ? 1 : options.seeds;
  search.curve_steps = options.curves ? kCurveSteps : 0;
  search.simulation.variation.compute_cv = options.compute_cv;
  std::vector<PipelineBenchRow> rows;
  Progress progress(cases.size());
  for (const PipelineCase& one : cases) {
    progress.Step(fmt::format("{}{}, {}", one.cluster.name, one.varied.empty() ? "" : ", " + one.varied,
                              one.demands.front().profile->model));
    WHARF_ASSIGN_OR_RETURN(std::vector<PipelineBenchRow> more, RunPipelineCase(one, algorithms, search));
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return Write(options, rows);
}

}  // namespace

void AddBenchPipelineCommand(CLI::App& app) {
  CLI::App* command = BenchCommand(app).add_subcommand(
      "pipeline", "Plans and schedulers on pools of fast and slow GPUs: the most they serve within SLOs.");
  command->footer(kBenchPipelineFooter);
  auto options = std::make_shared<BenchPipelineOptions>();
  command->add_option("--clusters", options->clusters, "Which, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(pipeline::BuiltInClusterNames()))
      ->capture_default_str();
  command->add_option("--algorithms", options->algorithms, "Which, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--quick", options->quick, "One group of models, 10 s, one seed");
  CLI::Option* groups = command->add_option("--groups", options->groups, "Which, by number, separated by commas");
  groups->delimiter(',')->check(CLI::Range(size_t{1}, kGroups.size()))->default_str("all");
  CLI::Option* sensitivity =
      command->add_flag("--sensitivity", options->sensitivity, "Vary SLOs, GPU ratios and margins instead");
  command->add_flag("--alone", options->alone, "Each model alone instead of in groups")
      ->excludes(sensitivity)
      ->excludes(groups);
  command->add_flag("--times", options->times, "Serve nothing: print times by class of GPU");
  command
      ->add_flag("--unification", options->unification,
                 "Serve nothing: plan with one batch size for all stages and with their own, with GPUs divided and not")
      ->excludes(sensitivity);
  CLI::Option* real =
      command->add_option("--real", options->real.model, "Serve this model for real, beside its simulation")
          ->type_name("MODEL.onnx")
          ->check(CLI::ExistingFile);
  command->add_option("--loads", options->real.loads, "With --real: of what the plan serves, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 10.0))
      ->capture_default_str()
      ->needs(real);
  command->add_flag("--faults", options->real.faults, "With --real: have things fail, too")->needs(real);
  command->add_flag("--curves", options->curves, "Attainment at loads 0.05 to 1 as well, in --json and --html");
  command->add_option("--seconds", options->seconds, "Simulated for each load and seed")
      ->check(CLI::Range(0.1, 1e4))
      ->capture_default_str();
  command->add_option("--seeds", options->seeds, "Runs of each load")->check(CLI::Range(1, 100))->capture_default_str();
  command->add_option("--compute-cv", options->compute_cv, "Computing varies by this, standard deviation over mean")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command->add_option("--max-partitions", options->max_partitions, "Of our plans; the published ones have at most 2")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  command->add_option("--data", options->data, "Where block_latency.csv and block_output_bytes.csv are")
      ->type_name("DIR");
  command->add_option("--json", options->json, "Write the rows here")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and plots here")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print Markdown tables");
  command->callback([options] {
    if (const absl::Status status = BenchPipeline(*options); !status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
